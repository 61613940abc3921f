"""Any Arrow-shaped data → a table of a plain relation's schema, or the rows of a relation that is not plain.

Takes Arrow tables, record batches and readers, pandas and polars DataFrames, and any object with the Arrow C stream,
the dataframe interchange protocol, or `to_arrow()`; none of those libraries needs to be installed. Columns are found by
name, in any order. Integers may have any width as long as every value is in the column's range; strings any of Arrow's
string layouts; wide integers may be decimal text, integers or decimals without a fraction; floats any number. Columns
of other types are read value by value, in the forms of `fit`.

Invariant: a resulting table has exactly `arrow_schema(relation)`, no null, every value within the declared width
(`bit<12>` is a uint16 there, so Arrow's own check is not enough), and floats in canonical form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.diagnostics.suggest import suggest
from tidelog.io.bad_rows import OF_ONE_ROW, BadRecord, OnBad
from tidelog.io.fit import fitter
from tidelog.io.scaled import is_scaled_column, scaled_column, scaled_column_remedy
from tidelog.io.values import Row, UnfitError, Value, fit, fit_text, misfit, wanted
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import (
    arrow_schema,
    arrow_type,
    inside_option,
    is_option,
    is_plain,
    is_plain_relation,
    plain_type,
    python_column,
    with_plain_columns,
)
from tidelog.rules.schema.stored import is_wide
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    ScaledType,
    SignedType,
    StringType,
    TimestampType,
    Type,
    integer_range,
    written_type,
)
from tidelog.values import Definitions
from tidelog.values.text import integer_text

Place = Callable[[int], str]
"""Names the place of a row (counted from 0 within the data): `row 3`, `edge.parquet: row 17`."""


def row_place(index: int) -> str:
    """Names the place of a row among the rows of one call, counted from 1."""
    return f"row {index + 1}"


def place_in_file(path: Path, start: int) -> Place:
    """Names the places of the rows of a table that follows the first `start` rows of a file."""
    return lambda index: f"{path}: row {start + index + 1}"


def is_frame_of(library: str, rows: object) -> bool:
    """True for a DataFrame that a library, such as `pandas` or `pyspark.sql`, defines; it need not be installed."""
    kinds = type(rows).__mro__
    return any(kind.__name__ == "DataFrame" and f"{kind.__module__}.".startswith(f"{library}.") for kind in kinds)


def as_arrow(rows: Any, relation: Relation) -> pa.Table | None:
    """Converts a table of any kind to an Arrow table; None for data that has to be read as Python rows."""
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if getattr(rows, "is_read_by_position", False):
        return None  # a relation of ours: its columns may have other names
    if is_frame_of("pandas", rows):
        # The index is no column; through the C stream a filtered frame would bring it along.
        return _from_foreign(lambda: _from_pandas(rows, relation), rows)
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        if isinstance(rows, Iterable) and _is_series(rows):
            return None
        return _from_foreign(lambda: pa.table(rows), rows)
    if hasattr(rows, "to_arrow") and hasattr(rows, "columns"):
        # An older frame of polars, or one like it.
        return _from_foreign(rows.to_arrow, rows)
    if hasattr(rows, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return _from_foreign(lambda: from_dataframe(rows), rows)
    return None


def fit_table(table: pa.Table, relation: Relation, place: Place = row_place) -> pa.Table:
    """Converts a table to the relation's schema. Raises DataError (E503 to E506) for the first misfit."""
    relation = with_plain_columns(relation)
    _check_names(table.column_names, relation)
    if not relation.columns:
        return table
    columns = [_fit_column(table.column(column.name), column, relation, place) for column in relation.columns]
    return pa.Table.from_arrays(columns, schema=arrow_schema(relation))


def fit_parts(
    table: pa.Table,
    relation: Relation,
    definitions: Definitions,
    place: Place,
    on_bad: OnBad | None,
    start: int = 0,
) -> Iterator[pa.Table | list[Row]]:
    """Yields the rows that fit, and calls `on_bad` for the others; without it, and for bad columns, raises DataError.

    The table is fitted as a whole. If it does not fit, it is halved until the bad rows stand alone: a bad row among n
    costs O(log n) attempts.
    """

    def here(index: int) -> str:
        return place(start + index)

    try:
        if is_plain_relation(relation):
            yield fit_table(table, relation, here)
        else:
            yield fit_table_rows(table, relation, definitions, here)
    except DataError as error:
        if on_bad is None or error.code not in OF_ONE_ROW:
            raise
        if table.num_rows == 1:
            on_bad(BadRecord(place(start), json.dumps(table.to_pylist()[0], ensure_ascii=False, default=str), error))
            return
        half = table.num_rows // 2
        yield from fit_parts(table.slice(0, half), relation, definitions, place, on_bad, start)
        yield from fit_parts(table.slice(half), relation, definitions, place, on_bad, start + half)


def table_rows(rows: Any, relation: Relation, definitions: Definitions, place: Place = row_place) -> list[Row] | None:
    """Converts a table of any kind to canonical rows; None for data that has to be read as Python rows.

    Raises DataError (E503 to E506) for the first misfit.
    """
    relation = with_plain_columns(relation)
    objects = _object_columns(rows, relation) if is_frame_of("pandas", rows) else {}
    # Arrow could not tell the type of objects such as a list of pairs.
    table = as_arrow(rows.drop(columns=list(objects)) if objects else rows, relation)
    if table is None:
        return None
    return fit_table_rows(table, relation, definitions, place, objects)


def fit_table_rows(
    table: pa.Table,
    relation: Relation,
    definitions: Definitions,
    place: Place = row_place,
    objects: Mapping[str, list[Any]] | None = None,
) -> list[Row]:
    """Converts the rows of a table, and of further columns of Python objects, to canonical values."""
    objects = objects or {}
    relation = with_plain_columns(relation)
    _check_names([*table.column_names, *objects], relation)
    columns: list[list[Value]] = []
    count = table.num_rows if table.num_columns else len(next(iter(objects.values()), ()))
    for column in relation.columns:
        if column.name in objects:
            columns.append(fit_values(objects[column.name], column, relation, definitions, place, wire=True))
        elif is_plain(column.type):
            fitted = _fit_column(table.column(column.name), column, relation, place)
            columns.append(python_column(fitted, column.type))
        else:
            is_given = column.name in table.column_names
            values = table.column(column.name).to_pylist() if is_given else [None] * count
            columns.append(fit_values(values, column, relation, definitions, place, wire=True))
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _object_columns(frame: Any, relation: Relation) -> dict[str, list[Any]]:
    """Returns the columns of a pandas frame that hold Python objects for values that are not plain."""
    nested = {column.name: column.type for column in relation.columns if not is_plain(column.type)}
    found = {
        str(name): frame[name].tolist()
        for name in frame.columns
        if name in nested and getattr(frame[name], "dtype", None) == np.dtype(object)
    }
    for name, values in found.items():
        if is_option(nested[name]):
            # To pandas NaN is a missing value, also where the others are floats.
            found[name] = [None if isinstance(value, float) and value != value else value for value in values]
    return found


def fit_values(
    values: Sequence[Any],
    column: Column,
    relation: Relation,
    definitions: Definitions,
    place: Place = row_place,
    *,
    wire: bool = False,
) -> list[Value]:
    """Converts the values of a column; `wire` as in `fitter`. Raises DataError for the first misfit."""
    fit_ = fitter(column.type, definitions, wire=wire)
    fitted: list[Value] = []
    try:
        for value in values:
            fitted.append(fit_(value))
    except UnfitError as error:
        raise misfit(place(len(fitted)), relation, column, error) from None
    return fitted


def out_of_range(array: pa.ChunkedArray | pa.Array, type_: Type) -> bool:
    """True when an array of the column's Arrow type has a value outside the declared width."""
    if not isinstance(type_, BitType | SignedType) or type_.width in (8, 16, 32, 64) or not len(array):
        return False
    import pyarrow.compute as pc  # not before: to load it takes longer than many a small program runs

    low, high = integer_range(type_)
    extremes = pc.min_max(array).as_py()
    return bool(extremes["min"] < low or extremes["max"] > high)


def _check_names(names: list[str], relation: Relation) -> None:
    declared = [column.name for column in relation.columns]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"rows for `{relation.name}` have two columns named `{twice}`", code=Code.WRONG_COLUMNS)
    unknown = [name for name in names if name not in declared]
    missing = [name for name in declared if name not in names]
    needed = [each.name for each in relation.columns if each.name in missing and not is_option(each.type)]
    if unknown:
        raise DataError(
            f"rows for `{relation.name}` have a column `{unknown[0]}`, which the relation does not have",
            code=Code.WRONG_COLUMNS,
            help=columns_help(relation, unknown[0], missing),
        )
    if needed:
        raise DataError(
            f"rows for `{relation.name}` lack the column `{needed[0]}`",
            code=Code.WRONG_COLUMNS,
            help=columns_help(relation),
        )


def columns_help(relation: Relation, name: str = "", missing: Sequence[str] = ()) -> str:
    """Writes the relation's columns as a help, with the missing one that `name` may have meant."""
    declared = ", ".join(f"{column.name}: {written_type(column.type)}" for column in relation.columns)
    meant = suggest(name, missing)
    hint = f"did you mean `{meant}`? " if meant else ""
    return f"{hint}the columns are `{relation.name}({declared})`"


def _fit_column(column: pa.ChunkedArray, declared: Column, relation: Relation, place: Place) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    target = arrow_type(declared.type)
    if not len(column):
        # Where there are no values their type is arbitrary: pandas makes such a column float or object.
        return pa.chunked_array([], target)
    if pa.types.is_dictionary(column.type):
        column = _decoded(column)
    if column.null_count:
        index = pc.index(pc.is_null(column), True).as_py()
        raise misfit(place(index), relation, declared, None)
    if not _is_same_kind(column.type, declared.type):
        raise DataError(
            f"column `{declared.name}` of the rows for `{relation.name}` holds `{column.type}` values"
            f" where {wanted(declared.type)} is wanted",
            code=Code.WRONG_COLUMN_TYPE,
            help=_column_remedy(column.type, declared.type),
        )
    if pa.types.is_string(target) and not isinstance(declared.type, StringType):
        return _fit_wide(column, declared, relation, place)
    if isinstance(declared.type, ScaledType):
        scaled = scaled_column(column, declared.type)
        if scaled is None:
            raise _first_misfit(column, declared, relation, place)
        return scaled
    if isinstance(declared.type, FloatType):
        # An integer is rounded, -0.0 becomes 0.0, and every NaN the one that equals itself.
        numbers = pc.add(column.cast(target, safe=False), pa.scalar(0, target))
        return pc.if_else(pc.is_nan(numbers), pa.scalar(math.nan, target), numbers)
    try:
        fitted = column if column.type == target else column.cast(target)
    except pa.ArrowInvalid as error:
        raise _first_misfit(column, declared, relation, place) from error
    if out_of_range(fitted, declared.type):
        raise _first_misfit(column, declared, relation, place)
    return fitted


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the values of a column of dictionaries, such as a category of pandas or polars."""
    kind = column.type.value_type
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        kind = pa.large_string()
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def _is_same_kind(found: pa.DataType, type_: Type) -> bool:
    is_text = pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    match type_:
        case BoolType():
            return bool(pa.types.is_boolean(found))
        case StringType():
            return bool(is_text)
        case BitType() | SignedType() | BigIntType():
            is_whole_decimal = pa.types.is_decimal(found) and found.scale == 0
            return bool(pa.types.is_integer(found) or is_whole_decimal or (is_wide(type_) and is_text))
        case FloatType():
            return bool(pa.types.is_floating(found) or pa.types.is_integer(found))
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return is_scaled_column(found, type_)
        case _:
            raise AssertionError(f"{type_} is not a plain type")


def _fit_wide(column: pa.ChunkedArray, declared: Column, relation: Relation, place: Place) -> pa.ChunkedArray:
    texts = []
    for index, value in enumerate(column.cast(pa.string()).to_pylist()):
        number = fit_text(value, declared.type)
        if number is None:
            raise misfit(place(index), relation, declared, value)
        texts.append(integer_text(number))
    return pa.chunked_array([pa.array(texts, pa.string())])


def _first_misfit(column: pa.ChunkedArray, declared: Column, relation: Relation, place: Place) -> DataError:
    for index, value in enumerate(scalar.as_py() for scalar in column):
        if fit(value, declared.type) is None:
            return misfit(place(index), relation, declared, value)
    return DataError(
        f"column `{declared.name}` of the rows for `{relation.name}` cannot be converted", code=Code.WRONG_COLUMN_TYPE
    )


def _column_remedy(found: pa.DataType, type_: Type) -> str | None:
    if pa.types.is_floating(found) and isinstance(type_, BitType | SignedType):
        return "convert the column first, for example `.astype('int64')`; a missing value makes pandas use floats"
    if pa.types.is_binary(found) and isinstance(type_, StringType):
        return "decode the column to text first"
    if isinstance(type_, ScaledType):
        return scaled_column_remedy(found, type_)
    return None


def _from_pandas(frame: Any, relation: Relation) -> pa.Table:
    import pyarrow.compute as pc

    table = pa.Table.from_pandas(frame, preserve_index=False)
    for column in relation.columns:
        if column.name in frame.index.names and column.name not in table.column_names:
            raise DataError(
                f"rows for `{relation.name}` have the column `{column.name}` as their index, which is not read",
                code=Code.WRONG_COLUMNS,
                help="`frame.reset_index()` makes the index a column",
            )
    floats = {column.name for column in relation.columns if isinstance(column.type, FloatType)}
    integers = {column.name for column in relation.columns if _is_option_of_integers(column.type)}
    for place, name in enumerate(table.column_names):
        if name in floats and pa.types.is_floating(table.column(place).type) and table.column(place).null_count:
            # To Arrow the NaN of pandas is null, but NaN is a number to us.
            table = table.set_column(place, name, pc.fill_null(table.column(place), float("nan")))
        elif name in integers and pa.types.is_floating(table.column(place).type):
            table = table.set_column(place, name, _whole_numbers(table.column(place)))
    return table


def _is_option_of_integers(type_: Type) -> bool:
    inner = inside_option(type_)
    return inner is not None and isinstance(plain_type(inner), BitType | SignedType | BigIntType)


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns floats as the integers that they were before pandas put a missing value between them, if all are."""
    import pyarrow.compute as pc

    is_exact = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), float(1 << 53)))
    return column.cast(pa.int64()) if pc.all(is_exact, min_count=0).as_py() else column


def _is_series(rows: object) -> bool:
    """True for a single column (of pandas, polars or Arrow) with the C stream: its items are bare values, not rows."""
    return any(kind.__name__ in ("Series", "Array", "ChunkedArray") for kind in type(rows).__mro__)


def _from_foreign(convert: Callable[[], pa.Table], rows: object) -> pa.Table:
    """Runs a conversion by another library; turns its errors into a DataError with the cause."""
    try:
        return convert()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"the {type(rows).__name__} cannot be read as an Arrow table: {error}",
            code=Code.NOT_ROWS,
            help="a column of mixed Python objects has no Arrow type; give it one type, or pass the rows as tuples",
        ) from error
