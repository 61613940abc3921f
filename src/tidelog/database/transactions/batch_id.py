"""Batch ids: `db.transaction(batch=("feed", 17))` commits a batch once, however often it is delivered.

The number of the last batch of each feed is a mark (`tidelog.engine.marks`), so it is committed in the same step as the
rows of the batch. A batch with that number, or a lower one, was committed before: its transaction commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from tidelog.database.locked_engine import LockedEngine
from tidelog.database.transactions.writes import KeyedWrites, Writes
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Operation
from tidelog.engine.marks import Marks
from tidelog.io.values import Row, Value
from tidelog.rules.ir import Relation

_PREFIX = "batch of "
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class BatchId:
    """A batch of a feed: the numbers of a feed grow, perhaps with gaps."""

    feed: str
    number: int

    @staticmethod
    def of(given: object) -> BatchId:
        """Reads the argument of a transaction. Raises UsageError for anything but a name and a number."""
        match given:
            case (str(), bool()):
                pass
            case (str() as feed, Integral() as number) if feed and 0 <= int(number) <= _LARGEST:
                return BatchId(str(feed), int(number))
        raise UsageError(
            f"`batch` is {given!r}; it must be the name of a feed and a whole number, 0 or above",
            code=Code.BAD_BATCH,
            help='for example `db.transaction(batch=("feed", 17))`',
        )

    @property
    def marks(self) -> Marks:
        """The mark that the commit of this batch sets."""
        return {f"{_PREFIX}{self.feed}": self.number}

    def is_committed(self, marks: Marks) -> bool:
        """True if the batch, or a later one of its feed, was committed."""
        last = marks.get(f"{_PREFIX}{self.feed}")
        return last is not None and self.number <= last


def last_batches(marks: Marks) -> dict[str, int]:
    """Returns the number of the last committed batch of each feed."""
    return {name.removeprefix(_PREFIX): marks[name] for name in sorted(marks) if name.startswith(_PREFIX)}


class SkippedWrites(KeyedWrites):
    """The writes of a batch that was committed before: they are neither read nor checked, and have no effect."""

    def __init__(self, locked: LockedEngine, relation: Relation) -> None:
        Writes.__init__(self, locked, relation)

    def insert(self, rows: Any) -> None:
        pass

    def delete(self, rows: Any) -> None:
        pass

    def insert_batches(self, batches: Iterable[Any]) -> None:
        pass

    def delete_key(self, key: Value) -> None:
        pass

    def upsert(self, rows: Any) -> None:
        pass

    def modify(self, key: Value, change: Any) -> None:
        pass

    def clear(self) -> None:
        pass

    def row(self, key: Value) -> Row | None:
        return None

    def operations(self) -> list[Operation]:
        return []

    def committed(self) -> None:
        pass
