"""Tables that come in parts → batches that fit a relation, one part in memory at a time.

| rows | parts |
| --- | --- |
| `pyarrow.RecordBatchReader` | its batches |
| `pyarrow.dataset.Dataset`, `Scanner` | the batches of a scan of the relation's columns |
| `polars.LazyFrame` | what its streaming engine gives |
| `deltalake.DeltaTable` | the relation's columns of its files, at the version that it has |
| `pyiceberg.table.Table`, `DataScan` | the batches of a scan |

Batches of Arrow may be tiny, so small ones are joined: each part costs a fixed time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.rows import Batch
from tidelog.io.tables import fit_parts, row_place
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import with_plain_columns
from tidelog.values import Definitions

_ROWS_AT_ONCE = 1 << 16


def streamed(rows: Any, relation: Relation, definitions: Definitions) -> Iterator[Batch] | None:
    """Returns the batches of a table that comes in parts; None for other rows.

    Taking a batch raises DataError (E503 to E506) for the first row that does not fit.
    """
    parts = _parts(rows, relation)
    return None if parts is None else _fitted(parts, rows, with_plain_columns(relation), definitions)


def _parts(rows: Any, relation: Relation) -> Iterator[pa.RecordBatch | pa.Table] | None:
    if type(rows) is list:
        return None  # nearly all calls
    if isinstance(rows, pa.RecordBatchReader):
        return (part for part in rows)
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(rows).__mro__}
    if kinds & {"pyarrow.Dataset", "pyarrow.Scanner"}:
        return (part for part in rows.to_batches())
    if "deltalake.DeltaTable" in kinds or kinds & {"pyiceberg.Table", "pyiceberg.DataScan"}:
        from tidelog.io.lake_tables import lake_parts

        return lake_parts(rows, relation)
    if "polars.LazyFrame" in kinds:
        if hasattr(rows, "collect_batches"):
            return (pa.table(part) for part in rows.collect_batches(chunk_size=_ROWS_AT_ONCE))
        return iter([pa.table(rows.collect())])
    return None


def _fitted(
    parts: Iterable[pa.RecordBatch | pa.Table], rows: object, relation: Relation, definitions: Definitions
) -> Iterator[Batch]:
    start = 0
    try:
        for table in _joined(parts):
            begin = start
            yield from fit_parts(table, relation, definitions, lambda index: row_place(begin + index), None)  # noqa: B023
            start += table.num_rows
    except pa.ArrowException as error:
        raise DataError(
            f"the {type(rows).__name__} cannot be read as Arrow batches: {error}", code=Code.NOT_ROWS
        ) from error


def _joined(parts: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[pa.Table]:
    """Yields the parts, small ones joined to at least `_ROWS_AT_ONCE` rows."""
    waiting: list[pa.Table] = []
    count = 0
    for part in parts:
        waiting.append(part if isinstance(part, pa.Table) else pa.Table.from_batches([part]))
        count += part.num_rows
        if count >= _ROWS_AT_ONCE:
            yield pa.concat_tables(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting)
