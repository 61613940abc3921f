"""The wider language on the local engine against the oracle: a program and a history in, after every epoch the same
relations, weights and changes, or an AssertionError.

The engine is driven at its own border (`engine.interface`), where rows are Python values of the language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import tidelog
from tests.oracle.case import Case
from tests.oracle.evaluate import weigh
from tests.oracle.history import is_an_epoch, weigh_facts
from tests.oracle.program import Program, Relation
from tests.oracle.types import Made, Row, Type, Value, Weights
from tests.oracle.vocabulary import CONSTRUCTORS
from tests.oracle.write import write
from tests.properties.check import INSTANCE_LIMIT, assert_same
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.values import Definitions, Map, Set, Vec, field_values

LIBRARY_NAMES = {"None": "ddlog_std::None", "Some": "ddlog_std::Some"}
PYTHON_TYPES = {"bool": bool, "string": str, "bit": int, "signed": int, "bigint": int, "double": float}


class EngineReplay:
    """One engine, open. Answers are checked for duplicates and for values of the wrong Python class."""

    def __init__(self, program: Program) -> None:
        compiled = tidelog.compile(write(program))
        self._relations = {relation.name: relation for relation in program.relations}
        self._definitions = compiled.stages.rules.functions.definitions
        self.engine = LocalEngine(compiled.stages.rules)

    def open(self) -> Weights:
        """The changes of opening."""
        return self._changes(self.engine.open())

    def commit(self, writes: Sequence[tuple[str, int, Row]]) -> Weights | None:
        """The changes of an epoch; None when there was none."""
        outcome = self.engine.commit(
            [Operation(name, sign, [self._row_in(self._relations[name], row)]) for name, sign, row in writes]
        )
        return None if outcome is None else self._changes(outcome)

    def relations(self) -> Weights:
        """All declared relations that hold something between epochs."""
        return {
            relation.name: self._weights(relation, self.engine.rows(relation.name))
            for relation in self._relations.values()
            if relation.kind != "stream"
        }

    def _changes(self, outcome: Any) -> Weights:
        return {
            name: weights
            for name, rows in outcome.changes.items()
            if (weights := self._weights(self._relations[name], rows.weights()))
        }

    def _weights(self, relation: Relation, found: Sequence[tuple[Row, int]]) -> dict[Row, int]:
        rows = [(self._row_out(relation, row), weight) for row, weight in found]
        assert len({row for row, _ in rows}) == len(rows), f"a row of {relation.name} stands more than once in {rows}"
        return dict(rows)

    def _row_in(self, relation: Relation, row: Row) -> Row:
        return tuple(to_engine(value, type_, self._definitions) for value, type_ in zip(row, relation.columns))

    def _row_out(self, relation: Relation, row: Row) -> Row:
        assert len(row) == len(relation.columns), f"{row} has {len(row)} columns, not {len(relation.columns)}"
        return tuple(from_engine(value, type_, self._definitions) for value, type_ in zip(row, relation.columns))


def to_engine(value: Any, type_: Type, definitions: Definitions) -> Any:
    """A value of the oracle as one of the engine."""

    def inner(items: Any, types: Any) -> tuple[Any, ...]:
        return tuple(to_engine(item, each, definitions) for item, each in zip(items, types))

    match type_.kind:
        case "tuple":
            return inner(value, type_.items)
        case "vec":
            return Vec(inner(value, type_.items * len(value)))
        case "set":
            return Set(inner(value, type_.items * len(value)))
        case "map":
            return Map(inner(pair, type_.items) for pair in value)
    if type_ in CONSTRUCTORS:
        fields = inner(value.fields, CONSTRUCTORS[type_][value.name])
        return definitions.class_of(LIBRARY_NAMES.get(value.name, value.name))(*fields)
    return value


def from_engine(value: Any, type_: Type, definitions: Definitions) -> Value:
    """A value of the engine as one of the oracle. Raises AssertionError where it is not of the type."""

    def inner(items: Any, types: Any) -> tuple[Any, ...]:
        return tuple(from_engine(item, each, definitions) for item, each in zip(items, types, strict=True))

    match type_.kind:
        case "tuple":
            assert type(value) is tuple, f"{value!r} is not a tuple"
            return inner(value, type_.items)
        case "vec" | "set":
            assert isinstance(value, {"vec": Vec, "set": Set}[type_.kind]), f"{value!r} is not a {type_.text}"
            return inner(value, type_.items * len(value))
        case "map":
            assert type(value) is Map, f"{value!r} is not a map"
            return tuple(inner(pair, type_.items) for pair in value)
    if type_ in CONSTRUCTORS:
        for index, (name, fields) in enumerate(CONSTRUCTORS[type_].items()):
            if type(value) is definitions.class_of(LIBRARY_NAMES.get(name, name)):
                return Made(index, name, inner(field_values(value), fields))
        raise AssertionError(f"{value!r} is not a {type_.text or type_.kind}")
    found: Value = value
    assert type(found) is PYTHON_TYPES[type_.kind], f"{value!r} is not a {type_.kind}"
    assert not type_.is_integer or 0 <= cast(int, found) < 1 << type_.width, f"{value!r} does not fit {type_}"
    return found


def language_agrees_with_oracle(case: Case) -> None:
    """After every epoch, relations, weights and changes are the oracle's."""
    program = case.program
    facts: Weights = {}
    past: list[Weights] = [weigh(program, facts, (), INSTANCE_LIMIT)]
    replay = EngineReplay(program)
    nothing: Weights = {relation.name: {} for relation in program.relations}
    assert_same(expected_changes(program, nothing, past[0]), replay.open(), "changes of opening")
    for number, transaction in enumerate(case.history):
        before, facts = facts, weigh_facts(program, facts, transaction)
        happens = is_an_epoch(program, before, facts)
        if happens:
            past.append(weigh(program, facts, past, INSTANCE_LIMIT))
        found = replay.commit([(write.relation, write.sign, row) for write in transaction.writes for row in write.rows])
        assert (found is not None) == happens, f"transaction {number} makes {'an' if happens else 'no'} epoch"
        kept = {r.name: past[-1][r.name] for r in program.relations if r.kind != "stream"}
        assert_same(kept, shown_weights(program, replay.relations(), kept), f"relations after transaction {number}")
        if happens:
            changes = expected_changes(program, past[-2], past[-1])
            assert_same(changes, found, f"changes of transaction {number}")


def shown_weights(program: Program, found: Weights, expected: Weights) -> Weights:
    """What was found, with the weights that only the engine knows about taken as expected.

    The weight of a row in an internal set can be seen only through multisets and groups, so an engine need not have it.
    """
    internal = {r.name for r in program.relations if r.role == "internal" and r.kind == "relation"}
    return {
        name: {row: expected[name].get(row, weight) if name in internal else weight for row, weight in rows.items()}
        for name, rows in found.items()
    }


def expected_changes(program: Program, before: Weights, after: Weights) -> dict[str, dict[Row, int]]:
    """What changes have to be: differences of weights; for a stream, what it holds now."""
    changes = {}
    for relation in program.named("output"):
        old = before[relation.name] if relation.kind != "stream" else {}
        new = after[relation.name]
        rows = {row: new.get(row, 0) - old.get(row, 0) for row in {*old, *new}}
        if found := {row: weight for row, weight in rows.items() if weight}:
            changes[relation.name] = found
    return changes
