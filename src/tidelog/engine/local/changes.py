"""What an epoch changed in one relation of the local engine: words, decoded when somebody looks.

The rows that came are still where the epoch put them, so they are not even copied before somebody looks, or before the
next epoch begins: after a Bootstrap they are the whole relation. As long as the changes are held, `reclaim` keeps the
values of their words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from threading import Lock
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Row
from tidelog.engine.local.store import Lines
from tidelog.engine.local.values import Values, Words
from tidelog.rules.ir import Relation


class Arrived:
    """Some rows of a store, given by their lines; `words` copies them, which must have been done once they change."""

    __slots__ = ("__weakref__", "_lines", "_lock", "_rows", "_words")

    def __init__(self, rows: Words, lines: Lines | slice) -> None:
        self._rows = rows
        self._lines = lines
        self._words: Words | None = None
        self._lock = Lock()

    @staticmethod
    def of(words: Words) -> Arrived:
        """Rows that are copies already."""
        made = Arrived(words, slice(0))
        made._words = words
        return made

    def words(self) -> Words:
        with self._lock:
            if self._words is None:
                words = self._rows[self._lines]
                self._words = words.copy() if isinstance(self._lines, slice) else words
                self._rows, self._lines = self._words, slice(0)
            return self._words

    def __len__(self) -> int:
        if self._words is not None:
            return len(self._words)
        return self._lines.stop if isinstance(self._lines, slice) else len(self._lines)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LocalChanges:
    """The rows of one relation that came and went, as words; they become Arrow when somebody looks.

    In a set there are no weights: rows come with +1 and leave with -1.
    """

    relation: Relation
    values: Values
    arrived: Arrived
    left: Words
    came_weights: Words | None = None
    left_weights: Words | None = None

    @property
    def came(self) -> Words:
        return self.arrived.words()

    def inserted(self) -> pa.Table:
        return self.values.words_to_table(self.came, self.relation)

    def deleted(self) -> pa.Table:
        return self.values.words_to_table(self.left, self.relation)

    def weights(self) -> list[tuple[Row, int]]:
        left = repeat(-1) if self.left_weights is None else self.left_weights.tolist()
        came = repeat(1) if self.came_weights is None else self.came_weights.tolist()
        gone = zip(self.values.words_to_rows(self.left, self.relation), left)
        return [*gone, *zip(self.values.words_to_rows(self.came, self.relation), came)]

    def inserted_count(self) -> int:
        return len(self.arrived)

    def deleted_count(self) -> int:
        return len(self.left)

    def inserted_frame(self) -> Any:
        raise no_session()

    def deleted_frame(self) -> Any:
        raise no_session()


def no_session() -> UsageError:
    """What asks for a Spark DataFrame gets this."""
    return UsageError(
        "the local engine has no Spark session",
        code="E803",
        help='use to_arrow() or to_pandas(), or open the database with engine="spark"',
    )
