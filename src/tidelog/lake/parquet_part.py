"""A Parquet file of a table → its rows with signs: a part that any process can read.

The columns of a table need not be those of its files: a file may have other names for them, and a column may be
constant in a file, because the table is partitioned by it. Some rows of a file may be deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.lake.row_changes import RowChanges

CHANGE_TYPE = "_change_type"
SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
_ROWS_AT_ONCE = 1 << 16
_SAME_STORE = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True, slots=True)
class Constant:
    """A column with one value in a whole file, as text; null if that is None."""

    text: str | None
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """`columns` has, by the name of the table, the name in the file or a constant; a name that the file lacks is null.

    `types` are those of the table. `sign` is that of all rows; None if the file has the kind of each change in
    `_change_type`. `kept` tells for each row of the file whether it counts. `gone` is the advice for a file that no
    longer exists, `size` its bytes.
    """

    address: str
    columns: Mapping[str, str | Constant]
    sign: int | None
    place: str
    kept: pa.BooleanArray | None = None
    gone: str = ""
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    size: int | None = None

    def __call__(self) -> Iterator[RowChanges]:
        filesystem, path = opened(self.address)
        try:
            with pq.ParquetFile(path, filesystem=filesystem) as file:
                there = set(file.schema_arrow.names)
                read = [name for name in self.columns.values() if isinstance(name, str) and name in there]
                if self.sign is None:
                    read.append(CHANGE_TYPE)
                start = 0
                for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=read):
                    yield from self._changes(batch, start)
                    start += batch.num_rows
        except FileNotFoundError as error:
            raise DataError(
                f"{self.place}: its file {self.address} no longer exists", code=Code.POSITION_GONE, help=self.gone
            ) from error
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{self.place}: {self.address} cannot be read: {error}", code=Code.SOURCE_FAILED) from error

    def _changes(self, batch: pa.RecordBatch, start: int) -> Iterator[RowChanges]:
        import pyarrow.compute as pc

        arrays = []
        for name, source in self.columns.items():
            if isinstance(source, Constant):
                arrays.append(_constant(source, batch.num_rows))
            elif source in batch.schema.names:
                arrays.append(_as_in_table(batch.column(source), self.types.get(name)))
            else:
                arrays.append(pa.nulls(batch.num_rows, self.types.get(name, pa.null())))
        if arrays:
            rows = pa.Table.from_arrays(arrays, names=list(self.columns))
        else:
            rows = pa.table({"": pa.nulls(batch.num_rows)}).select([])
        signs = None
        if self.sign is None:
            signs = _signs(batch.column(CHANGE_TYPE), self.place)
        elif self.sign < 0:
            signs = pa.repeat(pa.scalar(-1, pa.int8()), batch.num_rows)
        if self.kept is not None:
            kept = pc.fill_null(self.kept.slice(start, batch.num_rows), True)
            rows = rows.filter(kept)
            signs = None if signs is None else signs.filter(kept)
        if rows.num_rows:
            yield RowChanges(rows, signs, self.place)


def opened(address: str) -> tuple[pafs.FileSystem, str]:
    """Returns the file system of a path or address, and the path on it."""
    if "://" not in address:
        return pafs.LocalFileSystem(), address
    if address.startswith("file:"):
        return pafs.LocalFileSystem(), "/" + address[len("file:") :].lstrip("/")
    scheme, rest = address.split("://", 1)
    found, path = pafs.FileSystem.from_uri(f"{_SAME_STORE.get(scheme, scheme)}://{rest}")
    return found, path


def _as_in_table(column: pa.Array, type_: pa.DataType | None) -> pa.Array:
    """Returns a column with the type of the table: writers of files choose views, dictionaries and narrower numbers."""
    if type_ is None or column.type == type_:
        return column
    try:
        return column.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column


def _signs(kinds: pa.Array, place: str) -> pa.Array:
    import pyarrow.compute as pc

    words = kinds.cast(pa.string())
    if pa.types.is_dictionary(kinds.type):
        words = kinds.dictionary_decode()
    found = pc.index_in(words, pa.array(list(SIGNS)))
    if found.null_count:
        unknown = words.filter(pc.is_null(found))[0].as_py()
        raise DataError(f"{place}: `{unknown}` is no kind of change", code=Code.UNSUPPORTED_SOURCE)
    return pa.array(list(SIGNS.values()), pa.int8()).take(found)


def _constant(constant: Constant, count: int) -> pa.Array:
    if constant.text is None:
        return pa.nulls(count, constant.type)
    value = pa.array([constant.text])
    if pa.types.is_timestamp(constant.type) and constant.type.tz and not constant.text.endswith("Z"):
        value = value.cast(pa.timestamp("us")).cast(constant.type)
    return pa.repeat(value.cast(constant.type)[0], count)
