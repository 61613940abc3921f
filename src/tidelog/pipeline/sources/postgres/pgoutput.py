"""Messages of Postgres' output plugin `pgoutput` (protocol 1) → transactions with their changes.

A transaction is a Begin, its changes and a Commit; it is delivered when it is committed, in the order of the commits.
A Relation message comes before the first change of a table, and again after the table has changed. A value is a text,
null, or `UNCHANGED`: a long value that an update left as it was is not sent.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum


class Unsent(Enum):
    """A value that is not in a message."""

    UNCHANGED = "unchanged"


UNCHANGED = Unsent.UNCHANGED
Cells = tuple[str | Unsent | None, ...]


@dataclass(frozen=True, slots=True)
class SentColumn:
    """A column as a Relation message describes it."""

    name: str
    type_oid: int
    modifier: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class SentTable:
    """A table as a Relation message describes it. `identity` is `d`, `n`, `f` or `i`, as in `pg_class`."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[SentColumn, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """An insert (`I`), update (`U`), delete (`D`) or truncate (`T`) of a table.

    `old` has the key columns of the old row, the others null; with `is_old_whole` it is the whole row.
    """

    kind: str
    table: SentTable
    new: Cells | None = None
    old: Cells | None = None
    is_old_whole: bool = False


@dataclass(slots=True)
class SourceTransaction:
    """A committed transaction of the server; `end` is the place in the log after its commit."""

    xid: int
    end: int = 0
    changes: list[Change] = field(default_factory=list)


class UnreadableMessageError(ValueError):
    """A message that is none of this protocol."""


def read_messages(
    messages: Iterable[bytes | memoryview], tables: set[int] | None = None
) -> Iterator[SourceTransaction]:
    """Yields the transactions of a stream of messages, with the changes of these tables (None: of all)."""
    known: dict[int, SentTable] = {}
    running: SourceTransaction | None = None
    for data in messages:
        message = _Message(bytes(data))
        kind = message.letter()
        match kind:
            case "B":
                message.skip(16)
                running = SourceTransaction(message.number(4))
            case "C":
                message.skip(9)
                if running is None:
                    raise UnreadableMessageError("a commit without a begin")
                running.end = message.number(8)
                yield running
                running = None
            case "R":
                table = message.table()
                known[table.oid] = table
            case "I" | "U" | "D" | "T":
                if running is None:
                    raise UnreadableMessageError("a change outside of a transaction")
                running.changes += [
                    each for each in message.changes(kind, known, tables) if tables is None or each.table.oid in tables
                ]
            case "O" | "Y" | "M":
                pass
            case _:
                raise UnreadableMessageError(f"a message of the unknown kind {kind!r}")


class _Message:
    """A reader of one message."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def skip(self, count: int) -> None:
        self._at += count

    def number(self, size: int) -> int:
        self._at += size
        found = self._data[self._at - size : self._at]
        if len(found) != size:
            raise UnreadableMessageError("a message ends too early")
        return int.from_bytes(found, "big")

    def signed(self) -> int:
        found: int = struct.unpack(">i", self._take(4))[0]
        return found

    def letter(self) -> str:
        return chr(self.number(1))

    def text(self) -> str:
        end = self._data.index(b"\0", self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def table(self) -> SentTable:
        oid, schema, name, identity = self.number(4), self.text(), self.text(), self.letter()
        columns = []
        for _ in range(self.number(2)):
            is_key = bool(self.number(1) & 1)
            columns.append(SentColumn(self.text(), self.number(4), self.signed(), is_key))
        return SentTable(oid, schema or "pg_catalog", name, identity, tuple(columns))

    def changes(self, kind: str, known: dict[int, SentTable], wanted: set[int] | None) -> Iterator[Change]:
        if kind == "T":
            count = self.number(4)
            self.skip(1)
            for _ in range(count):
                yield Change("T", _table(self.number(4), known))
            return
        oid = self.number(4)
        if wanted is not None and oid not in wanted:
            return
        table = _table(oid, known)
        new: Cells | None = None
        old: Cells | None = None
        is_whole = False
        while self._at < len(self._data):
            which = self.letter()
            if which == "N":
                new = self.cells()
            elif which in "KO":
                old, is_whole = self.cells(), which == "O"
            else:
                raise UnreadableMessageError(f"a row of the unknown kind {which!r}")
        yield Change(kind, table, new, old, is_whole)

    def cells(self) -> Cells:
        cells: list[str | Unsent | None] = []
        for _ in range(self.number(2)):
            kind = self.letter()
            if kind == "n":
                cells.append(None)
            elif kind == "u":
                cells.append(UNCHANGED)
            elif kind == "t":
                cells.append(self._take(self.number(4)).decode())
            else:
                raise UnreadableMessageError(f"a value of the unknown kind {kind!r}")
        return tuple(cells)

    def _take(self, size: int) -> bytes:
        self._at += size
        found = self._data[self._at - size : self._at]
        if len(found) != size:
            raise UnreadableMessageError("a message ends too early")
        return found


def _table(oid: int, known: dict[int, SentTable]) -> SentTable:
    if oid not in known:
        raise UnreadableMessageError(f"a change of the table {oid}, which no message has described")
    return known[oid]
