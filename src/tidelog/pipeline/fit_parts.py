"""A table with typed columns → the parts of it that fit a plain relation.

The table is fitted as a whole. If it does not fit, it is halved until the bad rows stand alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pyarrow as pa

from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import OF_ONE_ROW
from tidelog.io.tables import Place, fit_table
from tidelog.pipeline.records import BadRecord
from tidelog.rules.ir import Relation


def fit_parts(
    table: pa.Table, relation: Relation, place: Place, on_bad: Callable[[BadRecord], None], start: int = 0
) -> Iterator[pa.Table]:
    """Yields the rows that fit, and calls `on_bad` for the others; raises DataError for bad columns. A bad row among n
    costs O(log n) attempts.
    """
    try:
        yield fit_table(table, relation, lambda index: place(start + index))
    except DataError as error:
        if error.code not in OF_ONE_ROW:
            raise
        if table.num_rows == 1:
            text = json.dumps(table.to_pylist()[0], ensure_ascii=False, default=str)
            on_bad(BadRecord(place(start), text, error))
            return
        half = table.num_rows // 2
        yield from fit_parts(table.slice(0, half), relation, place, on_bad, start)
        yield from fit_parts(table.slice(half), relation, place, on_bad, start + half)
