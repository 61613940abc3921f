"""The facts of an old relation → rows of the new one, by a plan: columns moved, added, left out and widened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.database.storage.migration.plan import CarriedRelation
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Operation, Row
from tidelog.io.rows import to_rows
from tidelog.io.values import Value, quoted
from tidelog.rules.ir import Kind, RuleProgram


def carry(facts: Iterable[tuple[Row, int]], carried: CarriedRelation, program: RuleProgram) -> Iterator[Operation]:
    """Yields the operations that insert the facts into the new relation, by their weights.

    Equal rows of a set become one. Raises DataError where a value does not fit its column, UsageError where two facts
    have one primary key.
    """
    weights: dict[Row, int] = {}
    found = list(facts)
    rows = to_rows([_moved(row, carried) for row, _ in found], carried.new, program.functions.definitions)
    is_set = carried.new.kind is Kind.SET
    for row, (_, weight) in zip(rows, found, strict=True):
        weights[row] = 1 if is_set else weights.get(row, 0) + weight
    _check_keys(weights, carried, program)
    by_weight: dict[int, list[Row]] = {}
    for row, weight in weights.items():
        by_weight.setdefault(weight, []).append(row)
    for weight, some in by_weight.items():
        if weight:
            yield Operation(carried.new.name, weight, some)


def _moved(row: Row, carried: CarriedRelation) -> Row:
    return tuple([each.default if each.place is None else row[each.place] for each in carried.columns])


def _check_keys(rows: Iterable[Row], carried: CarriedRelation, program: RuleProgram) -> None:
    relation = carried.new
    if relation.key is None:
        return
    seen: dict[Value, Row] = {}
    for row in rows:
        key = relation.key.call(program.row_value(relation, row))
        if key in seen:
            raise UsageError(
                f"two facts of `{relation.name}` would have the primary key {quoted(key)}: {quoted(seen[key])} and"
                f" {quoted(row)}",
                code=Code.MIGRATION_NOT_SAID,
                help="open the database with `tidelog.open(path)`, and delete one of them first",
            )
        seen[key] = row
