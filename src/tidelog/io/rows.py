"""Python rows of a user → input of an engine: an Arrow table, or a list of rows of canonical values.

A row is a tuple or a list with one value per column, or a dict by column name, or a record with the columns as fields
(`records`), or the relation's own struct (`program.types.Edge("a", "b")`). A named tuple is read by name when one of
its fields has the name of a column, else by position. By name, columns of an `Option` may be missing: they are null.
For a relation of one column a bare value will do. Where that column is not plain, a list or a dict could be either:
there a tuple of one item and a dict or a record with nothing but the column's name are rows, and everything else is the
value. An array of NumPy or Arrow is the list of its items. Data that is already a table goes through `tables`.

All rows are checked before any is used: a call either takes all of its rows or raises a DataError that names relation,
row, column, value and type. Rows are counted from 1.

The cost of the common case (tuples of plain Python values) is one pass per column at C speed; only a column with other
values is checked value by value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.fit import fitter
from tidelog.io.formats import split_name
from tidelog.io.records import named_tuple_fields, record_fields
from tidelog.io.tables import as_arrow, columns_help, fit_table, fit_values, out_of_range, row_place, table_rows
from tidelog.io.values import Row, UnfitError, Value, fit, misfit, quoted
from tidelog.pause_gc import collector_paused
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import (
    arrow_schema,
    arrow_type,
    empty_rows,
    is_option,
    is_plain,
    is_plain_relation,
    with_plain_columns,
)
from tidelog.types import BitType, BoolType, DateType, FloatType, SignedType, StringType, Type
from tidelog.values import Definitions, Struct, field_values
from tidelog.values.text import integer_text

Batch: TypeAlias = pa.Table | list[Row]
"""Rows in the form that is cheapest for an engine: a table of a plain relation, else a list of rows."""

WORTH_A_TABLE = 1000
"""From this number of rows on, Arrow is faster than Python for a plain relation, even if it has to be loaded first."""

_PYTHON_TYPES: Mapping[type[Type], type] = {
    BoolType: bool,
    BitType: int,
    SignedType: int,
    StringType: str,
    DateType: date,
}
"""The Python types that Arrow takes without a check; for other columns each value has to be checked."""

_AT_ONCE = 1 << 15
"""Rows that Python or Arrow convert in one step: other threads wait for the end of it."""

_ROWS_HELP = "rows are a list of tuples, dicts or records, an Arrow table, or a pandas or polars DataFrame"


def to_batch(rows: Any, relation: Relation, definitions: Definitions) -> Batch:
    """Converts rows for an engine that takes tables and lists. Raises DataError (E501 to E506)."""
    few = type(rows) is list and len(rows) < WORTH_A_TABLE
    return to_table(rows, relation) if is_plain_relation(relation) and not few else to_rows(rows, relation, definitions)


def to_table(rows: Any, relation: Relation) -> pa.Table:
    """Converts rows of a plain relation to a table with `arrow_schema(relation)`. Raises DataError (E501 to E506)."""
    relation = with_plain_columns(relation)
    table = as_arrow(rows, relation)
    if table is not None:
        return fit_table(table, relation)
    listed = _list(rows, relation)
    if len(listed) <= _AT_ONCE or not relation.columns:
        return _table_of_rows(listed, relation)
    with collector_paused():
        starts = range(0, len(listed), _AT_ONCE)
        return pa.concat_tables([_table_of_rows(listed[at : at + _AT_ONCE], relation, at) for at in starts])


def to_rows(rows: Any, relation: Relation, definitions: Definitions) -> list[Row]:
    """Converts rows of any relation to tuples of canonical values. Raises DataError (E501 to E506)."""
    found = None if type(rows) is list else table_rows(rows, relation, definitions)
    if found is not None:
        return found
    listed = _list(rows, relation)
    columns = _columns(listed, relation)
    if not relation.columns:
        return [()] * len(listed)
    fitted = [fit_values(values, column, relation, definitions) for values, column in zip(columns, relation.columns)]
    return list(zip(*fitted, strict=True))


def to_row(
    row: Any, relation: Relation, definitions: Definitions, *, place: str = "the row", wire: bool = False
) -> Row:
    """Converts one row to a tuple of canonical values, with the checks of `to_rows`; `wire` as in `fitter`."""
    cells = _cells(row, relation, place)
    values: list[Value] = []
    for cell, column in zip(cells, relation.columns):
        try:
            values.append(fitter(column.type, definitions, wire=wire)(cell))
        except UnfitError as error:
            raise misfit(place, relation, column, error) from None
    return tuple(values)


def _list(rows: Any, relation: Relation) -> list[Any]:
    if isinstance(rows, pa.Array | pa.ChunkedArray):
        rows = rows.to_pylist()
    elif isinstance(rows, np.ndarray):
        rows = rows.tolist()
    if isinstance(rows, str | bytes | Mapping | Struct) or not isinstance(rows, Iterable):
        raise DataError(
            f"rows for `{relation.name}` are given as {_a(rows)}: {quoted(rows)}",
            code=Code.NOT_ROWS,
            help=_single_row_help(rows, relation),
        )
    return rows if isinstance(rows, list) else list(rows)


def _table_of_rows(rows: list[Any], relation: Relation, first: int = 0) -> pa.Table:
    """Converts some rows; `first` is the number of the first one."""
    if not rows:
        return arrow_schema(relation).empty_table()
    columns = _columns(rows, relation, first)
    if not relation.columns:
        return empty_rows(len(rows))
    arrays = [_arrow_column(values, column, relation, first) for values, column in zip(columns, relation.columns)]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(relation))


def _columns(rows: list[Any], relation: Relation, first: int = 0) -> list[Sequence[Any]]:
    """Returns the values of the rows, column by column."""
    if not rows:
        return [()] * len(relation.columns)
    by_shape = _columns_of_tuples(rows, relation)
    if by_shape is not None:
        return by_shape
    return list(zip(*(_cells(row, relation, row_place(index)) for index, row in enumerate(rows, first)), strict=True))


def _columns_of_tuples(rows: list[Any], relation: Relation) -> list[Sequence[Any]] | None:
    """Returns the columns if all rows are tuples or lists of the right length; otherwise None."""
    shapes = {tuple} if _takes_bare_values(relation) else {tuple, list}
    if not set(map(type, rows)) <= shapes or set(map(len, rows)) != {len(relation.columns)}:
        return None
    return list(zip(*rows))


def _takes_bare_values(relation: Relation) -> bool:
    """True where a list, a dict or a struct may be the value of the only column."""
    return len(relation.columns) == 1 and not is_plain(relation.columns[0].type)


def _cells(row: Any, relation: Relation, place: str) -> Sequence[Any]:
    """Returns the values of one row in column order."""
    if isinstance(row, Struct) and not relation.explicit and row.__variant__.name == relation.name:
        return field_values(row)
    if _takes_bare_values(relation):
        if type(row) is tuple and len(row) == 1:
            return row
        named = None if isinstance(row, Struct) else _named(row, relation)
        is_row = named is not None and list(named) == [relation.columns[0].name]
        return [named[relation.columns[0].name]] if named is not None and is_row else [row]
    named = _named(row, relation)
    if named is not None:
        return _cells_by_name(named, relation, place, "key" if isinstance(row, Mapping) else "field")
    if isinstance(row, str | bytes | bytearray) or not isinstance(row, Sequence):
        if len(relation.columns) == 1:
            return (row,)
        help = f'one row is written `[("a", "b")]`, a list with one tuple; {columns_help(relation)}'
        raise _bad_row(f"is {_a(row)}, not a row: {quoted(row)}", Code.NOT_ROWS, relation, place, help)
    if isinstance(row, Struct):
        raise _bad_row(f"is a `{row.__variant__.name}`, not a row: {quoted(row)}", Code.NOT_ROWS, relation, place)
    if len(row) != len(relation.columns):
        found, wanted = _number(len(row), "value"), _number(len(relation.columns), "column")
        message = f"has {found} where the relation has {wanted}: {quoted(tuple(row))}"
        raise _bad_row(message, Code.WRONG_VALUE_COUNT, relation, place)
    return row


def _named(row: Any, relation: Relation) -> Mapping[Any, Any] | None:
    """Returns the values of a row by name; None for a row that is read by position, and for a bare value."""
    if isinstance(row, Mapping):
        return row
    if isinstance(row, tuple):
        fields = None if isinstance(row, Struct) else named_tuple_fields(row)
        is_by_name = fields is not None and any(column.name in fields for column in relation.columns)
        return fields if is_by_name else None
    if isinstance(row, str | bytes | bytearray | Sequence):
        names = getattr(row, "keys", None)  # `sqlite3.Row` is a sequence that has names
        fields = dict(zip(names(), row)) if callable(names) else {}
        return fields if any(column.name in fields for column in relation.columns) else None
    return record_fields(row)


def _cells_by_name(row: Mapping[Any, Any], relation: Relation, place: str, noun: str) -> Sequence[Any]:
    names = [column.name for column in relation.columns]
    missing = [column for column in relation.columns if column.name not in row]
    needed = [column.name for column in missing if not is_option(column.type)]
    if len(row) != len(names) - len(missing):
        unknown = next(key for key in row if key not in names)
        message = f"has a {noun} {quoted(unknown)}, which is no column"
        meant = [column.name for column in missing]
        help = columns_help(relation, str(unknown), meant)
        if unknown == "Index" and noun == "field":
            help = f"`itertuples(index=False)` leaves out the index of a DataFrame; {help}"
        raise _bad_row(message, Code.WRONG_COLUMNS, relation, place, help)
    if needed:
        raise _bad_row(f"lacks the column `{needed[0]}`", Code.WRONG_COLUMNS, relation, place)
    return [row.get(name) for name in names]


def _bad_row(message: str, code: Code, relation: Relation, place: str, help: str | None = None) -> DataError:
    return DataError(f"{place} for `{relation.name}` {message}", code=code, help=help or columns_help(relation))


def _arrow_column(values: Sequence[Any], column: Column, relation: Relation, first: int = 0) -> pa.Array:
    target = arrow_type(column.type)
    is_wide = pa.types.is_string(target) and not isinstance(column.type, StringType)
    if isinstance(column.type, FloatType) and set(map(type, values)) == {float}:
        with np.errstate(over="ignore"):
            # To add zero makes -0.0 canonical; what is too large for 32 bits is infinite.
            return pa.array((np.array(values) + 0.0).astype(target.to_pandas_dtype()))
    if not is_wide and set(map(type, values)) == {_PYTHON_TYPES.get(type(column.type))}:
        try:
            array = pa.array(values, target)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # the loop below finds out which value it is
        else:
            if not out_of_range(array, column.type):
                return array
    fitted: list[Value] = []
    for index, given in enumerate(values, first):
        value = fit(given, column.type)
        if value is None:
            raise misfit(row_place(index), relation, column, given)
        fitted.append(integer_text(value) if is_wide else value)
    return pa.array(fitted, target)


def _single_row_help(rows: Any, relation: Relation) -> str:
    if isinstance(rows, str | os.PathLike) and split_name(Path(rows)) is not None:
        return f'`tx.load("{relation.name}", {str(rows)!r})` reads a file'
    if isinstance(rows, Mapping):
        return f"one row is written as a list with one dict: `[{quoted(rows)}]`"
    if isinstance(rows, Struct):
        return "one row is written as a list with one item"
    return _ROWS_HELP


def _a(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
