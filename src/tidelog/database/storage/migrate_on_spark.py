"""A state of another program → one of this program with the same facts, on Spark; see `migrate`.

The files of a relation that has plain columns are kept. Values of other types may be encoded differently under the new
program, so those rows are read and written again. One manifest publishes all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.database.program.program import Program
from tidelog.database.storage.migrate import check_place, is_same
from tidelog.engine.interface import Operation
from tidelog.io.rows import to_rows
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.arrow import is_plain_relation

if TYPE_CHECKING:
    from tidelog.engine.spark.engine import SparkEngine


def migrate(engine: SparkEngine, before: RuleSet, program: Program) -> None:
    """Migrates the facts of the old program into the engine, made for the new program, as an epoch of their own.

    Raises UsageError where facts have no place in the new program, EvaluationError where a rule fails on them,
    DataError where a value no longer fits; then the database is unchanged.
    """
    old = engine.reader_of(before.rules)
    rules = program.stages.rules
    check_place(old, rules, engine.address)
    kept, operations = {}, []
    for name, relation in rules.relations.items():
        if not is_same(old.program.relations.get(name), relation):
            continue
        if is_plain_relation(relation):
            found = old.facts_stored(name)
            if found is not None:
                kept[engine.written(name)] = found
            continue
        by_weight: dict[int, list[object]] = {}
        for row, weight in old.facts(name):
            by_weight.setdefault(weight, []).append(row)
        for weight, rows in by_weight.items():
            fitted = to_rows(rows, relation, rules.functions.definitions)
            operations.append(Operation(name, weight, engine.stage(name, fitted)))
    engine.migrate(kept, operations)
