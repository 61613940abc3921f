"""Rows of a table with signs: inserted and deleted ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Inserted and deleted rows. `rows` has at least the columns of the relation; others are ignored.

    `signs` has +1 for an inserted row and -1 for a deleted one; None if all are inserted. The order does not count: the
    sum of all signs of a row does. `place` names the rows in messages, such as `data/edge, version 7`.
    """

    rows: pa.Table
    signs: pa.Array | None
    place: str


class Part(Protocol):
    """A piece of the changes between two positions, such as a file. It can be pickled, and read in another process."""

    @property
    def size(self) -> int | None:
        """The bytes of its file, if the table tells."""

    def __call__(self) -> Iterator[RowChanges]:
        """Reads the rows, some at a time."""
