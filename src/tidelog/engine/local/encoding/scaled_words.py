"""Dates, timestamps, durations and decimals ↔ words (`scaled_values`), as columns.

Arrow has the same integers, so that columns are converted without a look at their values: a date32 counts days, a
timestamp and a duration microseconds, and the 128 bits of a decimal are the number without its point. Decimals of more
than 18 digits are interned as wide integers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.local.encoding.number_pools import IntegerPool, Numbers, integers
from tidelog.engine.local.encoding.pool import Value, Words
from tidelog.rules.schema.arrow_numbers import arrow_numbers
from tidelog.scaled_values import EPOCH, EPOCH_DAY, EXACT, to_units
from tidelog.types import DateType, DecimalType, DurationType, ScaledType, TimestampType, Type


def scaled_words(values: Sequence[Any], type_: ScaledType) -> Words:
    """Returns the words of values."""
    return np.fromiter((to_units(value, type_) for value in values), np.int64, len(values))


def scaled_values(words: npt.NDArray[Any], type_: ScaledType) -> list[Value]:
    """Returns the values of words."""
    numbers = words.tolist()
    match type_:
        case DateType():
            day = date.fromordinal
            return [day(number + EPOCH_DAY) for number in numbers]
        case TimestampType():
            return [EPOCH + timedelta(0, 0, number) for number in numbers]
        case DurationType():
            return [timedelta(0, 0, number) for number in numbers]
        case DecimalType(_, scale):
            scaleb = EXACT.scaleb
            return [scaleb(Decimal(number), -scale) for number in numbers]


def array_words(array: pa.Array | pa.ChunkedArray, type_: Type) -> Any:
    """Returns the words of stored values whose type is a word, as an array of integers."""
    if isinstance(type_, DecimalType) and pa.types.is_decimal(array.type):
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        parts = [_halves(chunk)[:, 0] for chunk in chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    elif pa.types.is_temporal(array.type):
        array = array.cast(pa.int64())
    return array.to_numpy() if isinstance(array, pa.ChunkedArray) else array.to_numpy(zero_copy_only=False)


def scaled_array(words: Words, type_: Type) -> pa.Array:
    """Returns words as a stored column."""
    match type_:
        case DateType():
            return arrow_numbers(words.astype(np.int32), pa.date32())
        case TimestampType():
            return arrow_numbers(words, pa.timestamp("us", "UTC"))
        case DurationType():
            return arrow_numbers(words, pa.duration("us"))
        case DecimalType(precision, scale):
            return _decimals(words, words >> 63, precision, scale)
        case _:
            raise AssertionError(f"{type_} has no unit")


def _halves(chunk: pa.Array) -> npt.NDArray[np.int64]:
    """Returns the lower and the upper word of each number of a column of decimals."""
    data = chunk.buffers()[1]
    if data is None:
        return np.empty((0, 2), np.int64)
    return np.frombuffer(data, np.int64)[2 * chunk.offset : 2 * (chunk.offset + len(chunk))].reshape(-1, 2)


def _decimals(lower: Words, upper: Words, precision: int, scale: int) -> pa.Array:
    halves = np.empty((len(lower), 2), np.int64)
    halves[:, 0], halves[:, 1] = lower, upper
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(lower), [None, pa.py_buffer(halves)])


class DecimalPool(IntegerPool):
    """The interned decimals of a type that is wider than a word, as integers."""

    def __init__(self, type_: DecimalType) -> None:
        super().__init__()
        self._type = type_

    def intern_arrow(self, column: pa.ChunkedArray) -> Words:
        """Returns the ids of a column of decimals."""
        parts = [_halves(chunk) for chunk in column.chunks]
        halves = np.concatenate(parts) if parts else np.empty((0, 2), np.int64)
        lower, upper = halves[:, 0], halves[:, 1]
        if bool((upper == lower >> 63).all()):
            return self.intern_numbers(np.ascontiguousarray(lower))
        distinct, places = np.unique(halves, axis=0, return_inverse=True)
        numbers = [(high << 64) | (low & 0xFFFF_FFFF_FFFF_FFFF) for low, high in distinct.tolist()]
        return self.intern_numbers(integers(numbers))[places.reshape(-1)]

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        scale, scaleb = self._type.scale, EXACT.scaleb
        return [scaleb(Decimal(number), -scale) for number in self.numbers(ids).tolist()]

    def _bytes(self, value: Value) -> bytes:
        return super()._bytes(value if isinstance(value, int) else to_units(value, self._type))

    def _array(self, values: Sequence[Value]) -> Numbers:
        return integers([to_units(value, self._type) for value in values])
