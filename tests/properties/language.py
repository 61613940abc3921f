"""The wider language on the local engine against the oracle: a program and a history in, after every epoch the same
relations, weights and changes, or an AssertionError.

The engine is driven at its own border (`engine.interface`), where rows are Python values of the language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any, cast

import pytest

import tidelog
from tests.oracle.case import Case
from tests.oracle.evaluate import weigh
from tests.oracle.history import Transaction, Write, is_an_epoch, weigh_facts
from tests.oracle.program import Atom, Call, Negative, Positive, Program, Relation, Rule, Var, Wildcard
from tests.oracle.recount import RowState, recount
from tests.oracle.script import commands, printed
from tests.oracle.types import Function, Made, Row, Type, Value, Weights, bit
from tests.oracle.vocabulary import CONSTRUCTORS
from tests.oracle.write import write
from tests.properties.check import FUSE, INSTANCE_LIMIT, assert_same
from tidelog.engine.interface import Engine, Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels import layout as k
from tidelog.shell.run_commands import lines_of, run_script
from tidelog.shell.shell import Shell
from tidelog.values import Definitions, Map, Set, Vec, field_values

LIBRARY_NAMES = {"None": "ddlog_std::None", "Some": "ddlog_std::Some"}
PYTHON_TYPES = {"bool": bool, "string": str, "bit": int, "signed": int, "bigint": int, "double": float}


class EngineReplay:
    """One engine, open. Answers are checked for duplicates and for values of the wrong Python class."""

    def __init__(self, program: Program, strategy: str = "elastic", *, compiled: tidelog.Program | None = None) -> None:
        self.compiled = compiled = compiled or tidelog.compile(write(program))
        self.strategy = strategy
        self._relations = {relation.name: relation for relation in program.relations}
        self.typed = compiled.stages.typed
        self._definitions = compiled.stages.rules.functions.definitions
        self.engine = self.make_engine()

    def make_engine(self) -> Engine:
        return LocalEngine(self.compiled.stages.rules, strategy=self.strategy)

    def open(self) -> Weights:
        """The changes of opening."""
        return self._changes(self.engine.open())

    def commit(self, transaction: Transaction) -> Weights | None:
        """The changes of an epoch; None when there was none."""
        if transaction.fails:
            return None
        operations = []
        for call in transaction.writes:
            relation = self._relations[call.relation]
            operations.append(Operation(relation.name, call.sign, [self._row_in(relation, row) for row in call.rows]))
        outcome = self.engine.commit(operations)
        return None if outcome is None else self._changes(outcome)

    def relations(self) -> Weights:
        """All declared relations that hold something between epochs."""
        return {
            relation.name: self._weights(relation, self.engine.rows(relation.name))
            for relation in self._relations.values()
            if relation.kind != "stream"
        }

    def state(self) -> dict[str, dict[Row, RowState]]:
        """The ranked state of every relation of a program without weights."""
        return {name: self._state(relation) for name, relation in self._relations.items()}

    def row_in(self, name: str, row: Row) -> Row:
        """A row of the oracle as one of the engine."""
        return self._row_in(self._relations[name], row)

    def row_out(self, name: str, row: Row) -> Row:
        """A row of the engine as one of the oracle."""
        return self._row_out(self._relations[name], row)

    @property
    def local(self) -> LocalEngine:
        """The engine that holds the state in memory."""
        local = getattr(self.engine, "local", self.engine)
        assert isinstance(local, LocalEngine)
        return local

    def ranked(self) -> set[str]:
        """The relations whose rules the kernels join: only their numbers count rule instances."""
        return {name for stratum in self.local._runtime.strata if stratum.joins for name in stratum.relations}

    def _state(self, relation: Relation) -> dict[Row, RowState]:
        store = self.local._store(relation.name)
        lines = store.lines()
        found = self.local._values.words_to_rows(store.columns_of(lines), self.engine.program.relations[relation.name])
        is_input = store.rows[lines, store.columns + k.META] & k.INPUT_BIT
        numbers = zip(store.ranks_of(lines), store.counts_of(lines), store.totals_of(lines), is_input)
        return {
            self._row_out(relation, row): RowState(int(rank), int(n), int(all_), bool(is_fact))
            for row, (rank, n, all_, is_fact) in zip(found, numbers, strict=True)
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
    low = -(1 << (type_.width - 1)) if type_.kind == "signed" else 0
    assert not type_.is_integer or 0 <= cast(int, found) - low < 1 << type_.width, f"{value!r} does not fit {type_}"
    return found


class BesideOracle:
    """An engine and the oracle, which commit the same transactions; `past` is what the oracle had after each epoch."""

    def __init__(self, program: Program, replay: EngineReplay) -> None:
        self._program = program
        self.replay = replay
        self._facts: Weights = {}
        self.past: list[Weights] = [weigh(program, self._facts, (), INSTANCE_LIMIT)]

    def commit(self, transaction: Transaction, name: str, recounted: bool = False) -> None:
        """Both take it; then relations, weights and changes are the same. If asked, the state is recounted."""
        before, self._facts = self._facts, weigh_facts(self._program, self._facts, transaction)
        happens = is_an_epoch(self._program, before, self._facts)
        if happens:
            self.past.append(weigh(self._program, self._facts, self.past, INSTANCE_LIMIT))
        found = self.replay.commit(transaction)
        assert (found is not None) == happens, f"{name} makes {'an' if happens else 'no'} epoch"
        self.check(f"relations after {name}")
        if happens:
            assert_same(expected_changes(self._program, *self.past[-2:]), found, f"changes of {name}")
        if recounted:
            sets = {relation: frozenset(rows) for relation, rows in self._facts.items()}
            mistakes = recount(self._program, sets, self.replay.state(), self.replay.ranked())
            assert not mistakes, f"state after {name}:\n" + "\n".join(mistakes)

    def require_end(self, transaction: Transaction) -> None:
        """Raises TooLargeError where the result of a transaction is too large, or has no end."""
        weigh(self._program, weigh_facts(self._program, self._facts, transaction), self.past, INSTANCE_LIMIT)

    def check(self, what: str) -> None:
        """Every relation has the oracle's rows and weights."""
        expected = self.past[-1]
        assert_same(kept(self._program, expected), shown_weights(self._program, self.replay, expected), what)


def language_agrees_with_oracle(
    case: Case, recounted: bool = False, strategy: str = "elastic", replaying: type[EngineReplay] = EngineReplay
) -> None:
    """After every epoch, relations, weights and changes are the oracle's; if asked, the state is recounted."""
    program = case.program
    beside = BesideOracle(program, replaying(program, strategy))
    nothing: Weights = {relation.name: {} for relation in program.relations}
    assert_same(expected_changes(program, nothing, beside.past[0]), beside.replay.open(), "changes of opening")
    for number, transaction in enumerate(case.history):
        beside.commit(transaction, f"transaction {number}", recounted)


def language_survives_failures(case: Case) -> None:
    """An epoch that fails in a function of its last rule leaves no trace: the same transaction without it follows."""
    program = with_fuse(case.program)
    replay = EngineReplay(program)
    beside = BesideOracle(program, replay)
    replay.open()
    for number, transaction in enumerate(case.history):
        blow = Transaction((*transaction.writes, Write(+1, FUSE, ((0,),))))
        before = replay.relations()
        beside.require_end(transaction)
        with pytest.raises(tidelog.EvaluationError):
            replay.commit(blow)
        assert_same(before, replay.relations(), f"relations after transaction {number} failed")
        beside.commit(transaction, f"transaction {number} after it failed")


def shell_prints_the_same(case: Case) -> None:
    """The case as a program and a script: the shell prints the changes that the oracle finds, byte for byte."""
    program = case.program
    facts: Weights = {}
    past: list[Weights] = [weigh(program, facts, (), INSTANCE_LIMIT)]
    nothing: Weights = {relation.name: {} for relation in program.relations}
    expected = [printed(program, expected_changes(program, nothing, past[0]))]
    for transaction in case.history:
        before, facts = facts, weigh_facts(program, facts, transaction)
        if is_an_epoch(program, before, facts):
            past.append(weigh(program, facts, past, INSTANCE_LIMIT))
            expected.append(printed(program, expected_changes(program, past[-2], past[-1])))
    out = StringIO()
    with Shell(tidelog.compile(write(program)), out) as shell:
        shell.show_initial()
        assert run_script(shell, lines_of(BytesIO(commands(case).encode())), lambda: None) == 0
    assert out.getvalue() == "".join(expected)


def with_fuse(program: Program) -> Program:
    """The program and a function that divides by zero for a row that otherwise nobody writes.

    The rule that calls it reads all that the program derives, so that it comes last.
    """
    divide = Function(
        "blown({0})",
        (bit(8),),
        bit(8),
        lambda x: 1 // x,
        "function blown(x: u8): u8 { var total = 0; for (part in [x]) { total = total + 1 / part }; total }",
    )
    x = Var("x", bit(8))
    tables = [r for r in program.relations if r.kind == "relation" and r.role != "input"]
    seen = [Rule(Atom("Seen", ()), (Positive(Atom(r.name, (Wildcard(),) * len(r.columns))),)) for r in tables]
    blown = Rule(Atom("Blown", (Call(divide, (x,)),)), (Negative(Atom("Seen", ())), Positive(Atom(FUSE, (x,)))))
    also = Rule(Atom("Blown", (Call(divide, (x,)),)), (Positive(Atom("Seen", ())), Positive(Atom(FUSE, (x,)))))
    more = (
        Relation(FUSE, (bit(8),), "input"),
        Relation("Seen", (), "internal"),
        Relation("Blown", (bit(8),), "output"),
    )
    return replace(program, relations=(*program.relations, *more), rules=(*program.rules, *seen, blown, also))


def kept(program: Program, weights: Weights) -> Weights:
    """What is there between epochs: everything but streams."""
    return {relation.name: weights[relation.name] for relation in program.relations if relation.kind != "stream"}


def shown_weights(program: Program, replay: EngineReplay, expected: Weights) -> Weights:
    """The relations of an engine, with the weights that nobody can see taken as expected.

    The weight of a row in an internal set shows only through multisets and groups, so an engine need not have it.
    """
    internal = {r.name for r in program.relations if r.role == "internal" and r.kind == "relation"}
    return {
        name: {row: expected[name].get(row, weight) if name in internal else weight for row, weight in rows.items()}
        for name, rows in replay.relations().items()
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
