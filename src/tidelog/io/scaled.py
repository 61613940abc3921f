"""Dates, timestamps, durations and decimals at the border: what is taken for one, as a value and as a column.

A `datetime` without a zone is in UTC; one with a zone is converted. Nothing is rounded: a time with parts of a
microsecond, and a decimal with more digits than its type, do not fit. A floating-point number is no decimal.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.iso_texts import value_of_text, value_text
from tidelog.scaled_values import decimal_of_text, exact_decimal, from_units, unit_range
from tidelog.types import DURATION, DateType, DecimalType, DurationType, ScaledType, TimestampType


def load_json(text: str) -> Any:
    """`json.loads`, where numbers with a point keep their digits."""
    return json.loads(text, parse_float=WrittenNumber)


class WrittenNumber(float):
    """A number with a point in a document of JSON, which may be an exact decimal."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        made = super().__new__(cls, text)
        made.text = text
        return made


def fit_scaled(value: Any, type_: ScaledType) -> Any | None:
    """Converts a Python or NumPy value to the value of a scaled type; None when it does not fit."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _fit_numpy(value, type_)
    match type_:
        case DateType():
            if isinstance(value, datetime) or not isinstance(value, date):
                return None
            return value if type(value) is date else date(value.year, value.month, value.day)
        case TimestampType():
            return _moment(value) if isinstance(value, datetime) else None
        case DurationType():
            if not isinstance(value, timedelta) or bool(getattr(value, "nanoseconds", 0)) or value != value:
                return None
            return _within(timedelta(value.days, value.seconds, value.microseconds))
        case DecimalType():
            if isinstance(value, bool | np.bool_):
                return None
            if isinstance(value, int | np.integer):
                value = Decimal(int(value))
            elif isinstance(value, WrittenNumber):
                value = decimal_of_text(value.text)
            return exact_decimal(value, type_) if isinstance(value, Decimal) else None


def _moment(value: datetime) -> datetime | None:
    """Returns a moment in UTC; one of pandas may have nanoseconds, or be no moment at all."""
    if bool(getattr(value, "nanosecond", 0)) or value != value:
        return None
    try:
        if value.tzinfo is not None:
            value = value.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, tzinfo=UTC
    )


def _within(value: timedelta) -> timedelta | None:
    low, high = unit_range(DURATION)
    return value if low <= value // timedelta(microseconds=1) <= high else None


def _fit_numpy(value: Any, type_: ScaledType) -> Any | None:
    if np.isnat(value):
        return None
    is_length = isinstance(value, np.timedelta64)
    if isinstance(type_, DecimalType) or is_length != isinstance(type_, DurationType):
        return None
    unit = "D" if isinstance(type_, DateType) else "us"
    kind = "timedelta64" if is_length else "datetime64"
    given = np.datetime_data(value.dtype)[0]
    if isinstance(type_, DateType) and given not in ("Y", "M", "W", "D"):
        return None
    number = int(value.astype(f"{kind}[{unit}]").astype(np.int64))
    low, high = unit_range(type_)
    if not low <= number <= high or value.astype(f"{kind}[{unit}]") != value:
        return None
    return from_units(number, type_)


def scaled_remedy(value: object, type_: ScaledType) -> str | None:
    """Returns a help for a value that does not fit."""
    if isinstance(value, str):
        found = value_of_text(value, type_)
        if found is not None:
            return f"text is not taken for a {type_}; write `{found!r}`"
        if isinstance(type_, DecimalType) and _is_number(value):
            return f"a {type_} has at most {type_.scale} digits behind the point and {type_.precision} in all"
        return f"a {type_} is written {_EXAMPLES[type(type_)]}"
    match value, type_:
        case float(), DecimalType():
            return 'a floating-point number is not exact; write `Decimal("1.50")`'
        case Decimal(), DecimalType(precision, scale):
            return f"it has {precision} digits, {scale} of them behind the point; `round(x, {scale})` rounds"
        case int(), DurationType() if not isinstance(value, bool):
            return f"say what the number counts, for example `timedelta(seconds={value})`"
        case np.datetime64(), TimestampType():
            return "a timestamp has microseconds; cut the rest with `.astype('datetime64[us]')`"
        case datetime(), DateType():
            return "a moment is not taken for a day; write `x.date()`"
        case date(), TimestampType():
            return "a day is not taken for a moment; write `datetime(x.year, x.month, x.day)`"
        case _:
            return None


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except ArithmeticError:
        return False


_EXAMPLES: dict[type[ScaledType], str] = {
    DateType: "`2024-01-31`",
    TimestampType: "`2024-01-31T13:45:00Z`",
    DurationType: "`P1DT2H30M`",
    DecimalType: "`-12.50`",
}


# Columns


def is_scaled_column(found: pa.DataType, type_: ScaledType) -> bool:
    """True if an Arrow column of this type may hold values of the scaled type; the values are checked later."""
    kinds = pa.types
    match type_:
        case DateType():
            return bool(kinds.is_date(found))
        case TimestampType():
            return bool(kinds.is_timestamp(found))
        case DurationType():
            return bool(kinds.is_duration(found))
        case DecimalType():
            return bool(kinds.is_decimal(found) or kinds.is_integer(found))


def scaled_column(column: pa.ChunkedArray, type_: ScaledType) -> pa.ChunkedArray | None:
    """Converts a column without nulls to the Arrow type of a scaled type, exactly; None if a value does not fit."""
    import pyarrow.compute as pc

    target = _arrow(type_)
    try:
        if isinstance(type_, TimestampType):
            # A column without a zone is in UTC; one with a zone counts from the same moment in every zone.
            column = (
                column.cast(pa.timestamp("us")) if column.type.tz is None else column.cast(pa.timestamp("us", "UTC"))
            )
            numbers = column.cast(pa.int64())
        elif isinstance(type_, DateType):
            if column.type != pa.date32():
                column = column.cast(pa.date32())
            numbers = column.cast(pa.int32())
        elif isinstance(type_, DurationType):
            column = column.cast(target)
            numbers = column.cast(pa.int64())
        else:
            if pa.types.is_integer(column.type):
                column = column.cast(pa.string()).cast(pa.decimal128(38, 0))
            if pa.types.is_decimal128(column.type) or column.type.precision <= 38:
                return column.cast(target)
            return column.cast(pa.decimal256(76, type_.scale)).cast(target)
    except pa.ArrowInvalid:
        return None
    if len(column):
        low, high = unit_range(type_)
        extremes = pc.min_max(numbers).as_py()
        if extremes["min"] < low or extremes["max"] > high:
            return None
    return column.cast(target)


def _arrow(type_: ScaledType) -> pa.DataType:
    match type_:
        case DateType():
            return pa.date32()
        case TimestampType():
            return pa.timestamp("us", "UTC")
        case DurationType():
            return pa.duration("us")
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)


def scaled_column_remedy(found: pa.DataType, type_: ScaledType) -> str | None:
    """Returns a help for a column of the wrong kind."""
    if pa.types.is_timestamp(found) and isinstance(type_, DateType):
        return "convert the column first, for example `.dt.date`"
    if pa.types.is_floating(found) and isinstance(type_, DecimalType):
        how = f'`[Decimal(f"{{x:.{type_.scale}f}}") for x in column]`'
        return f"floating-point numbers are not exact; convert the column to decimals first, in Python {how}"
    if pa.types.is_integer(found) and isinstance(type_, DurationType):
        return 'say what the numbers count, in pandas `pd.to_timedelta(column, unit="s")`'
    if "period" in str(found) and isinstance(type_, DateType | TimestampType):
        return "a period is no moment; in pandas `.dt.to_timestamp()` gives its start"
    if pa.types.is_string(found) or pa.types.is_large_string(found):
        return f"parse the column first; in CSV and JSON a {type_} is text such as {_EXAMPLES[type(type_)]}"
    return None


def column_of_cells(texts: pa.ChunkedArray, type_: ScaledType) -> pa.ChunkedArray | None:
    """Converts cells of a text file to a column of a scaled type; None if one does not fit. Equal cells are read
    once."""
    encoded = texts.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    known = [value_of_text(text.strip(" \t"), type_) for text in encoded.dictionary.to_pylist()]
    if any(value is None for value in known):
        return None
    return pa.chunked_array([pa.array(known, _arrow(type_)).take(encoded.indices)])


def scaled_cells(array: pa.Array, type_: ScaledType) -> pa.Array:
    """Converts a column to the cells of a text file."""
    if isinstance(type_, DateType | DecimalType) and not (isinstance(type_, DecimalType) and type_.scale > 6):
        return array.cast(pa.string())  # no exponent is needed
    encoded = array.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return pa.array(list(map(value_text, values)), pa.string()).take(encoded.indices)
