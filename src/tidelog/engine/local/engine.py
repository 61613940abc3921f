"""The local engine: a program's relations in this process, kept up to date epoch by epoch.

`commit` nets the operations into facts to insert and to delete, brings stratum after stratum to the new epoch in
overlays (`maintain.epoch`), reads off what came and went, and keeps the overlays; any failure drops them instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import ChangeRows, EpochReport, Operation, Outcome, Row
from tidelog.engine.local.groups import GroupStratum
from tidelog.engine.local.interrupt import Interrupts
from tidelog.engine.local.kernels import entry
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.store import Desk, Store
from tidelog.engine.local.stratum import LocalStratum
from tidelog.engine.local.values import Values, Words
from tidelog.maintain.epoch import StratumState, maintain
from tidelog.rules.ir import Relation, Role, RuleProgram
from tidelog.rules.schema import arrow_schema

STATE_FIELDS = (
    pa.field("_rank", pa.int64(), nullable=False),
    pa.field("_count", pa.int64(), nullable=False),
    pa.field("_total", pa.int64(), nullable=False),
    pa.field("_input", pa.bool_(), nullable=False),
)


def state_schema(relation: Relation) -> pa.Schema:
    """The schema of a relation's state: its columns, its three numbers, and whether the row is an input fact."""
    return pa.schema([*arrow_schema(relation), *STATE_FIELDS])


@dataclass(frozen=True, slots=True)
class LocalChanges:
    """The rows of one relation that came and went, as words; they become Arrow when somebody looks."""

    relation: Relation
    values: Values
    came: Words
    left: Words

    def inserted(self) -> pa.Table:
        return self.values.words_to_table(self.came, self.relation)

    def deleted(self) -> pa.Table:
        return self.values.words_to_table(self.left, self.relation)

    def weights(self) -> list[tuple[Row, int]]:
        rows = ((self.values.words_to_rows(words, self.relation), sign) for words, sign in self._signed())
        return [(row, sign) for found, sign in rows for row in found]

    def _signed(self) -> tuple[tuple[Words, int], tuple[Words, int]]:
        return (self.left, -1), (self.came, +1)

    def inserted_count(self) -> int:
        return len(self.came)

    def deleted_count(self) -> int:
        return len(self.left)

    def inserted_frame(self) -> Any:
        raise _no_session()

    def deleted_frame(self) -> Any:
        raise _no_session()


class LocalEngine:
    """The state of one database in memory. `track_state` keeps, per epoch, the rows whose numbers changed."""

    name = "local"

    def __init__(self, program: RuleProgram, *, track_state: bool = False) -> None:
        self.program = program
        self.epoch = -1
        self.on_stratum: Callable[[StratumState, str], None] | None = None
        self._relations = list(program.relations.values())
        self._numbers = {relation.name: i for i, relation in enumerate(self._relations)}
        self._values = Values()
        self._interrupts = Interrupts()
        self._desk = Desk([len(relation.columns) for relation in self._relations])
        self._strata = [
            (GroupStratum if any(rule.group for rule in stratum.rules) else LocalStratum)(
                stratum, program, self._numbers, self._desk, self._values, self._interrupts.check
            )
            for stratum in program.strata
        ]
        self._track_state = track_state
        self._state_changes: dict[str, pa.Table] = {}

    # Engine

    def open(self) -> Outcome:
        """Derives what the program's own facts imply: every stratum with rules is bootstrapped from nothing."""
        started = perf_counter()
        return self._epoch(started, anew=True)

    def stage(self, relation: str, rows: Any) -> pa.Table | list[Row]:
        """The rows as they are."""
        if not isinstance(rows, pa.Table | list):
            raise UsageError(
                f"the local engine takes Arrow tables, not {type(rows).__name__}",
                code="E703",
                help='open the database with engine="spark" to pass Spark DataFrames',
            )
        return rows

    def commit(self, operations: Sequence[Operation]) -> Outcome | None:
        started = perf_counter()
        facts = self._net(operations)
        if not facts:
            return None
        for stratum in self._strata:
            stratum.facts = {
                number: facts[number] for name in stratum.relations if (number := self._numbers[name]) in facts
            }
        return self._epoch(started, anew=False)

    def table(self, relation: str) -> pa.Table:
        store = self._store(relation)
        return self._values.words_to_table(store.columns_of(store.lines()), self.program.relations[relation])

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        store = self._store(relation)
        found = self._values.words_to_rows(store.columns_of(store.lines()), self.program.relations[relation])
        return [(row, 1) for row in found]

    def look_up(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        store, declared = self._store(relation), self.program.relations[relation]
        words = [self._values.find(value, declared.columns[i].type) for i, value in zip(columns, key, strict=True)]
        if any(word is None for word in words):
            return []
        lines = store.bucket(columns, np.array(words, dtype=np.int64))
        return self._values.words_to_rows(store.columns_of(lines), declared)

    def frame(self, relation: str) -> Any:
        raise _no_session()

    def count(self, relation: str) -> int:
        return len(self._store(relation))

    def contains(self, relation: str, row: Row) -> bool:
        columns = self.program.relations[relation].columns
        words = [self._values.find(value, column.type) for value, column in zip(row, columns, strict=True)]
        if any(word is None for word in words):
            return False
        return self._store(relation).find(np.array([*words, 0], dtype=np.int64)) >= 0

    def close(self) -> None:
        """Gives the memory back."""
        self._desk = Desk([])
        self._strata = []

    # State

    def export_state(self, relation: str) -> pa.Table:
        """All rows with their numbers; see `state_schema`."""
        store = self._store(relation)
        return self._state_table(relation, store, store.lines())

    def state_changes(self, relation: str) -> pa.Table:
        """The rows whose numbers the last epoch changed, with the new numbers; `_total` 0 for a row that left."""
        known = self._state_changes.get(relation)
        return state_schema(self.program.relations[relation]).empty_table() if known is None else known

    def load(self, states: Mapping[str, pa.Table], epoch: int = 0) -> None:
        """Takes over the state of every relation named (the others are empty) without deriving anything."""
        for name, table in states.items():
            relation = self.program.relations[name]
            store = self._store(name)
            store.make_row_room(table.num_rows)
            store.line[k.USED] = store.line[k.LIVE] = table.num_rows
            rows = store.rows[: table.num_rows]
            rows[:, : store.columns] = self._values.table_to_words(table, relation)
            numbers = [table.column(field.name).to_numpy() for field in STATE_FIELDS]
            rows[:, store.columns + k.TOTAL] = numbers[2]
            rows[:, store.columns + k.COUNT] = numbers[1]
            rows[:, store.columns + k.META] = (numbers[0] << k.RANK_SHIFT) | numbers[3].astype(np.int64)
            store.line[k.TOP] = int(numbers[0].max()) if table.num_rows else 0
            entry.reindex(self._desk.S, store.relation)
        for stratum in self._strata:
            totals = [each.rows[: len(each), each.columns + k.TOTAL].sum() for each in stratum.stores()]
            stratum.instances = int(sum(totals))
            stratum.begin()
        self.epoch = epoch

    def bytes(self, relation: str) -> int:
        """The memory that a relation takes."""
        return self._store(relation).bytes()

    # An epoch

    def _epoch(self, started: float, *, anew: bool) -> Outcome:
        """Brings all strata to the next epoch and commits."""
        with self._interrupts.held():
            return self._held_epoch(started, anew)

    def _held_epoch(self, started: float, anew: bool) -> Outcome:
        for stratum in self._strata:
            stratum.begin()
        self._state_changes = {}
        try:
            reports = maintain(self._strata, anew=anew, on_stratum=self.on_stratum)
            changes = self._changes()
            if self._track_state:
                self._collect_state_changes()
        except BaseException:
            for stratum in self._strata:
                stratum.drop()
                stratum.facts = {}
            raise
        for stratum in self._strata:
            stratum.keep()
        self.epoch += 1
        report = EpochReport(
            self.epoch,
            reports,
            perf_counter() - started,
            sum(change.inserted_count() for change in changes.values()),
            sum(change.deleted_count() for change in changes.values()),
            {relation.name: self.count(relation.name) for relation in self._relations if relation.role != Role.HIDDEN},
        )
        return Outcome(changes, report)

    def _net(self, operations: Sequence[Operation]) -> dict[int, tuple[Words, Words]]:
        """The facts to insert and to delete per relation, where there are any."""
        grouped: dict[str, list[Operation]] = {}
        for operation in operations:
            grouped.setdefault(operation.relation, []).append(operation)
        facts = {}
        for name, group in grouped.items():
            relation = self.program.relations[name]
            words = [self._words(each.rows, relation) for each in group]
            rows = np.ascontiguousarray(np.concatenate(words))
            signs = np.repeat(np.array([each.sign for each in group], dtype=np.int64), [len(each) for each in words])
            inserted, deleted = self._desk.net(self._numbers[name], rows, signs)
            if len(inserted) or len(deleted):
                facts[self._numbers[name]] = (inserted, deleted)
        return facts

    def _words(self, rows: pa.Table | list[Row], relation: Relation) -> Words:
        if isinstance(rows, pa.Table):
            return self._values.table_to_words(rows, relation)
        return self._values.rows_to_words(rows, relation)

    def _changes(self) -> dict[str, ChangeRows]:
        changes: dict[str, ChangeRows] = {}
        for relation in self._relations:
            store = self._store(relation.name)
            came, left = store.lines_that_came(), store.lines_that_left()
            if relation.role is Role.OUTPUT and (len(came) or len(left)):
                changes[relation.name] = LocalChanges(
                    relation, self._values, store.columns_of(came), store.columns_of(left)
                )
        return changes

    def _collect_state_changes(self) -> None:
        for stratum in self._strata:
            for store in stratum.stores():
                # After a Bootstrap there is no log: every row has new numbers.
                lines = store.lines() if store.relation in stratum.replaced else store.touched_lines()
                if len(lines):
                    name = self._relations[store.relation].name
                    self._state_changes[name] = self._state_table(name, store, lines)

    def _state_table(self, name: str, store: Store, lines: Words) -> pa.Table:
        relation = self.program.relations[name]
        rows = store.rows[lines]
        table = self._values.words_to_table(rows[:, : store.columns], relation)
        meta = rows[:, store.columns + k.META]
        numbers = [
            pa.array((meta >> k.RANK_SHIFT) & k.RANK_MASK),
            pa.array(rows[:, store.columns + k.COUNT]),
            pa.array(rows[:, store.columns + k.TOTAL]),
            pa.array(meta & k.INPUT_BIT != 0),
        ]
        return pa.Table.from_arrays([*table.columns, *numbers], schema=state_schema(relation))

    def _store(self, relation: str) -> Store:
        return self._desk.stores[self._numbers[relation]]


def _no_session() -> UsageError:
    return UsageError(
        "the local engine has no Spark session",
        code="E803",
        help='use to_arrow() or to_pandas(), or open the database with engine="spark"',
    )
