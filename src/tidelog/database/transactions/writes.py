"""The writes of an open transaction to one input relation: its own view of the relation, and the net difference.

    PlainWrites       a set without a primary key, or a stream: the calls in order; the engine nets them
    KeyedWrites       a set with a primary key: for each key that was written, its row now, if any
    WeightedWrites    a multiset: for each row that was written, the change of its weight

The last two are relative to the committed facts (`Given`: the facts of transactions, without derived rows), so a call
costs time in its own rows only, never in the relation. A method that raises leaves the writes as they were.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from tidelog.database.locked_engine import Given, LockedEngine
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TransactionError
from tidelog.engine.interface import Operation
from tidelog.io.rows import Batch, to_batch, to_rows, to_table
from tidelog.io.streamed import streamed
from tidelog.io.values import Row, Value, quoted
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_plain_relation

CLEARED_AT_ONCE = 1_000_000
"""More rows than this never pass through the driver of Spark to be deleted."""


class Writes(ABC):
    """The writes of one transaction to one relation."""

    def __init__(self, locked: LockedEngine, relation: Relation) -> None:
        self._locked = locked
        self._relation = relation

    def insert(self, rows: Any) -> None:
        self._add(+1, self._parts(rows))

    def delete(self, rows: Any) -> None:
        self._add(-1, self._parts(rows))

    def insert_batches(self, batches: Iterable[Batch]) -> None:
        """Inserts all batches, or none if reading one of them raises."""
        self._add(+1, batches)

    @abstractmethod
    def clear(self) -> None: ...

    @abstractmethod
    def operations(self) -> list[Operation]:
        """Returns the operations that lead from the last commit to this view."""

    @abstractmethod
    def committed(self) -> None:
        """Makes this view the base of later transactions."""

    @abstractmethod
    def _add(self, sign: int, parts: Iterable[Any]) -> None:
        """Inserts (+1) or deletes (-1) the rows of all parts."""

    def _parts(self, rows: Any) -> Iterable[Any]:
        """Returns the rows in the parts in which they come: most come in one."""
        parts = streamed(rows, self._relation, self._locked.definitions)
        return (rows,) if parts is None else parts

    def _python_rows(self, rows: Any) -> list[Row]:
        frame = self._locked.spark_frame(rows)
        return to_rows(rows if frame is None else frame.toArrow(), self._relation, self._locked.definitions)

    def _staged(self, by_sign: Mapping[int, list[Row]]) -> list[Operation]:
        name = self._relation.name
        with self._locked.engine() as engine:
            return [Operation(name, sign, engine.stage(name, rows)) for sign, rows in by_sign.items() if sign and rows]


def writes_to(locked: LockedEngine, relation: Relation) -> Writes:
    """Returns the empty writes of a new transaction."""
    if relation.key is not None:
        return KeyedWrites(locked, relation)
    if relation.kind is Kind.MULTISET:
        return WeightedWrites(locked, relation)
    return PlainWrites(locked, relation)


class PlainWrites(Writes):
    """Inserts and deletes in call order. `clear` drops them and deletes all committed rows."""

    def __init__(self, locked: LockedEngine, relation: Relation) -> None:
        super().__init__(locked, relation)
        self._operations: list[Operation] = []

    def clear(self) -> None:
        name = self._relation.name
        with self._locked.engine() as engine:
            committed: Any
            if engine.name == "local":
                committed = [row for row, _ in engine.rows(name)]
            elif is_plain_relation(self._relation) and engine.count(name) > CLEARED_AT_ONCE:
                committed = engine.frame(name)
            else:
                committed = engine.table(name)
            staged = engine.stage(name, committed)
        self._operations = [Operation(name, -1, staged)]

    def operations(self) -> list[Operation]:
        return self._operations

    def committed(self) -> None:
        pass  # the engine has the facts

    def _add(self, sign: int, parts: Iterable[Any]) -> None:
        added: list[Operation] = []
        for rows in parts:
            # Outside the lock: the rows may be a generator that reads this very database.
            batch = self._batch(rows)
            if isinstance(batch, list) and added and isinstance(added[-1].rows, list):
                added[-1].rows.extend(batch)
                continue
            with self._locked.engine() as engine:
                both = engine.stage_more(self._relation.name, added[-1].rows, batch) if added else None
                if both is not None:
                    added[-1] = Operation(self._relation.name, sign, both)
                    continue
                staged = engine.stage(self._relation.name, batch)
            added.append(Operation(self._relation.name, sign, staged))
        last = self._operations[-1] if self._operations else None
        if added and last is not None and last.sign == sign:
            first = added[0]
            if isinstance(first.rows, list) and isinstance(last.rows, list):
                last.rows.extend(first.rows)  # thousands of calls with a row each are one operation
                del added[0]
        self._operations += added

    def _batch(self, rows: Any) -> Any:
        frame = self._locked.spark_frame(rows)
        if frame is not None:
            return frame
        if self._locked.engine_name != "local" and is_plain_relation(self._relation):
            return to_table(rows, self._relation)
        return to_batch(rows, self._relation, self._locked.definitions)


class KeyedWrites(Writes):
    """At most one row for each key. `_now` has the keys that were written, with None for one that has no row now."""

    def __init__(self, locked: LockedEngine, relation: Relation) -> None:
        super().__init__(locked, relation)
        self._given: Given = locked.given(relation)
        self._cleared = False
        self._now: dict[Value, Row | None] = {}

    def delete_key(self, key: Value) -> None:
        """Removes the row of a key, which must be there."""
        if self.row(key) is None:
            raise self._not_found(key, "delete from")
        self._now[key] = None

    def upsert(self, rows: Any) -> None:
        """Replaces the rows that have these keys, if any; of rows with one key the last wins."""
        self._now |= dict(chain.from_iterable(map(self._keyed, self._parts(rows))))

    def modify(self, key: Value, change: Callable[[Row], Row]) -> None:
        """Replaces the row of a key, which must be there; a new key of the row must be free."""
        row = self.row(key)
        if row is None:
            raise self._not_found(key, "modify a row of")
        changed = change(row)
        new_key = self._key(changed)
        if new_key != key and self.row(new_key) is not None:
            raise TransactionError(
                f"cannot modify {quoted(row)} of `{self._relation.name}`: its new key {quoted(new_key)} is there",
                code=Code.DUPLICATE_KEY,
            )
        self._now |= {key: None, new_key: changed}

    def clear(self) -> None:
        self._cleared = True
        self._now = {}

    def row(self, key: Value) -> Row | None:
        """Returns the row that has the key in this view."""
        if key in self._now:
            return self._now[key]
        return None if self._cleared else self._given.get(key)

    def operations(self) -> list[Operation]:
        before = self._given
        touched = before.keys() | self._now.keys() if self._cleared else self._now.keys()
        changed = [(before.get(key), self._now.get(key)) for key in touched]
        deleted = [old for old, new in changed if old is not None and old != new]
        inserted = [new for old, new in changed if new is not None and old != new]
        return self._staged({-1: deleted, +1: inserted})

    def committed(self) -> None:
        if self._cleared:
            self._given.clear()
        for key, row in self._now.items():
            if row is None:
                self._given.pop(key, None)
            else:
                self._given[key] = row

    def _add(self, sign: int, parts: Iterable[Any]) -> None:
        """Adds rows, whose keys must be new even if the row equals the present one; or removes rows that are there."""
        now: dict[Value, Row | None] = {}
        for key, row in chain.from_iterable(map(self._keyed, parts)):
            present = now[key] if key in now else self.row(key)
            if sign > 0 and present is not None:
                raise TransactionError(
                    f"cannot insert {quoted(row)} into `{self._relation.name}`: the key {quoted(key)} is there,"
                    f" with {'an equal row' if present == row else quoted(present)}",
                    code=Code.DUPLICATE_KEY,
                    help="use `upsert` to replace the row of a key",
                )
            if sign < 0 and present is None:
                raise self._not_found(key, "delete from")
            if sign < 0 and present != row:
                raise TransactionError(
                    f"cannot delete {quoted(row)} from `{self._relation.name}`: the key {quoted(key)} has another row,"
                    f" {quoted(present)}",
                    code=Code.DIFFERENT_ROW,
                    help="use `delete_key` to delete the row of a key, whatever it is",
                )
            now[key] = row if sign > 0 else None
        self._now |= now

    def _keyed(self, rows: Any) -> list[tuple[Value, Row]]:
        return [(self._key(row), row) for row in self._python_rows(rows)]

    def _key(self, row: Row) -> Value:
        return self._locked.key(self._relation, row)

    def _not_found(self, key: Value, verb: str) -> TransactionError:
        return TransactionError(
            f"cannot {verb} `{self._relation.name}`: the key {quoted(key)} is not there", code=Code.KEY_NOT_FOUND
        )


class WeightedWrites(Writes):
    """Every insert of a row adds 1 to its weight, every delete subtracts 1, also below zero."""

    def __init__(self, locked: LockedEngine, relation: Relation) -> None:
        super().__init__(locked, relation)
        self._given: Given = locked.given(relation)
        self._difference: dict[Row, int] = {}

    def clear(self) -> None:
        self._difference = {row: -weight for row, weight in self._given.items()}

    def operations(self) -> list[Operation]:
        by_change: dict[int, list[Row]] = {}
        for row, change in self._difference.items():
            by_change.setdefault(change, []).append(row)
        return self._staged(by_change)

    def committed(self) -> None:
        for row, change in self._difference.items():
            weight = self._given.get(row, 0) + change
            if weight:
                self._given[row] = weight
            else:
                self._given.pop(row, None)

    def _add(self, sign: int, parts: Iterable[Any]) -> None:
        change = Counter(chain.from_iterable(map(self._python_rows, parts)))
        for row, count in change.items():
            self._difference[row] = self._difference.get(row, 0) + sign * count
