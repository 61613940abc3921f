"""Changes of a table of operations → its inserted rows as records."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.pipeline.records import Record
from tidelog.pipeline.sources.source import RowChanges


def inserted_records(changes: Iterator[RowChanges]) -> Iterator[Record]:
    """Yields the inserted rows as records. Deletes shorten a table of operations, and take nothing back."""
    for each in changes:
        signs = [1] * each.rows.num_rows if each.signs is None else each.signs.to_pylist()
        for place, (row, sign) in enumerate(zip(each.rows.to_pylist(), signs, strict=True), 1):
            if sign > 0:
                yield Record(f"{each.place}, row {place}", row)
