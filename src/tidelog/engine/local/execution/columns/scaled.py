"""Operators, casts and text on columns of dates, timestamps, durations and decimals.

Such a column is one of integers (`scaled_values`): words, or wide integers for decimals of more than 18 digits. Where a
result is no value of its type, the batch is given up and Python finds the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.number_pools import Numbers, integers
from tidelog.engine.local.encoding.scaled_words import scaled_values
from tidelog.engine.local.encoding.text_column import TextColumn, column_of_texts
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.columns.branches import Code
from tidelog.engine.local.execution.columns.column import Column, IntegerColumn, NeedsPythonError, as_integers
from tidelog.engine.local.execution.columns.compile_patterns import NotColumnsError
from tidelog.engine.local.execution.columns.floats import floats_of
from tidelog.engine.local.execution.columns.frame import Frame
from tidelog.engine.local.execution.columns.integers import integer_arithmetic, integers_of_words
from tidelog.iso_texts import value_text
from tidelog.scaled_values import MICROSECONDS_OF_DAY, from_units, to_units, unit_range
from tidelog.types import (
    BIGINT,
    BigIntType,
    BitType,
    DateType,
    DecimalType,
    FloatType,
    ScaledType,
    SignedType,
    Type,
    integer_range,
    is_word,
)


def scaled_constant(value: Any, type_: ScaledType) -> Code:
    """Returns a literal as a column."""
    number = to_units(value, type_)
    if is_word(type_):
        return lambda frame: np.full(frame.count, number, np.int64)
    one = integers([number])
    return lambda frame: IntegerColumn(np.repeat(one, frame.count))


def scaled_binary(op: str, left: Code, right: Code, type_: ScaledType, sides: Type, right_type: Type) -> Code:
    """Returns `left op right`."""
    compute: Callable[[Numbers, Numbers], Numbers]
    if isinstance(type_, DecimalType):
        assert isinstance(sides, DecimalType)
        assert isinstance(right_type, DecimalType)
        own, first, second = type_, sides, right_type

        def compute(mine: Numbers, yours: Numbers) -> Numbers:
            return _decimal(op, mine, yours, first, second, own)
    elif isinstance(type_, DateType):
        is_first = isinstance(sides, DateType)

        def compute(mine: Numbers, yours: Numbers) -> Numbers:
            days, by = (mine, yours) if is_first else (yours, mine)
            found: Numbers = days + (by if op == "+" else -by) // MICROSECONDS_OF_DAY
            return found
    elif isinstance(sides, DateType):

        def compute(mine: Numbers, yours: Numbers) -> Numbers:
            return (mine - yours) * MICROSECONDS_OF_DAY
    else:

        def compute(mine: Numbers, yours: Numbers) -> Numbers:
            return integer_arithmetic(op, mine, yours, BIGINT)

    def run(frame: Frame) -> Column:
        mine, yours = numbers_of(left(frame), sides, frame), numbers_of(right(frame), right_type, frame)
        return fitted(compute(mine, yours), type_)

    return run


def scaled_negative(operand: Code, type_: ScaledType) -> Code:
    """Returns `-operand`."""
    if is_word(type_):
        return lambda frame: -operand(frame)
    return lambda frame: IntegerColumn(-as_integers(operand(frame), type_, frame.values))


def scaled_cast(operand: Code, source: Type, target: Type) -> Code:
    """Returns `operand as target`, where one of the two is a decimal."""
    match source, target:
        case DecimalType(), DecimalType():
            return lambda frame: fitted(_rescaled(numbers_of(operand(frame), source, frame), source, target), target)
        case ((BitType() | SignedType() | BigIntType()), DecimalType(_, scale)):
            return lambda frame: fitted(_times(numbers_of(operand(frame), source, frame), 10**scale), target)
        case DecimalType(_, scale), FloatType():
            # Both the number and the power of ten must be exact for the quotient to be the nearest.
            return lambda frame: floats_of(_exact_floats(numbers_of(operand(frame), source, frame), scale), target)
        case DecimalType(_, scale), (BitType() | SignedType() | BigIntType()):
            return lambda frame: _whole(numbers_of(operand(frame), source, frame), scale, target)
        case _:
            raise NotColumnsError(f"a {source} as a {target}")


def units(operand: Code, source: Type, target: Type) -> Code:
    """Returns the integers of scaled values, or the values of integers."""
    if isinstance(target, ScaledType):
        own = target
        return lambda frame: fitted(numbers_of(operand(frame), source, frame), own)
    if is_word(target):
        return operand
    return lambda frame: IntegerColumn(numbers_of(operand(frame), source, frame))


def numbers_of(column: Column, type_: Type, frame: Frame) -> Numbers:
    """Returns the integers of a column of a scaled type, or of integers."""
    if not is_word(type_):
        return as_integers(column, type_, frame.values)
    return column if isinstance(type_, ScaledType) else integers_of_words(column, type_)


def fitted(numbers: Numbers, type_: ScaledType) -> Column:
    """Returns integers as a column of a scaled type; raises NeedsPythonError if one is no value of it."""
    low, high = unit_range(type_)
    if len(numbers) and not (low <= int(numbers.min()) and int(numbers.max()) <= high):
        raise NeedsPythonError
    return numbers.astype(np.int64) if is_word(type_) else IntegerColumn(numbers)


def _decimal(
    op: str, left: Numbers, right: Numbers, first: DecimalType, second: DecimalType, type_: DecimalType
) -> Numbers:
    if op == "*":
        product = integer_arithmetic("*", left, right, BIGINT)
        return _to_scale(product, first.scale + second.scale, type_.scale)
    if op == "/":
        if not right.all():
            raise NeedsPythonError
        power = type_.scale + second.scale - first.scale
        return _half_up(_times(left, 10**power), right) if power >= 0 else _half_up(left, _times(right, 10**-power))
    scale = max(first.scale, second.scale)
    mine, yours = _to_scale(left, first.scale, scale), _to_scale(right, second.scale, scale)
    return _to_scale(integer_arithmetic(op, mine, yours, BIGINT), scale, type_.scale)


def _to_scale(numbers: Numbers, scale: int, wanted: int) -> Numbers:
    if wanted >= scale:
        return _times(numbers, 10 ** (wanted - scale))
    return _half_up(numbers, _full(numbers, 10 ** (scale - wanted)))


def _rescaled(numbers: Numbers, source: DecimalType, target: DecimalType) -> Numbers:
    return _to_scale(numbers, source.scale, target.scale)


def _times(numbers: Numbers, factor: int) -> Numbers:
    return numbers if factor == 1 else integer_arithmetic("*", numbers, _full(numbers, factor), BIGINT)


def _full(numbers: Numbers, value: int) -> Numbers:
    return np.repeat(integers([value]), len(numbers))


def _half_up(top: Numbers, bottom: Numbers) -> Numbers:
    """Returns quotients, rounded to the nearest integer, halves away from zero."""
    is_minus = np.asarray((top < 0) != (bottom < 0), dtype=np.bool_)
    top, bottom = abs(top), abs(bottom)
    doubled = integer_arithmetic("+", _times(top, 2), bottom, BIGINT)
    found = integer_arithmetic("/", doubled, _times(bottom, 2), BIGINT)
    return np.where(is_minus, -found, found)


_EXACT = 1 << 53


def _exact_floats(numbers: Numbers, scale: int) -> Numbers:
    if scale > 22 or (len(numbers) and max(abs(int(numbers.min())), abs(int(numbers.max()))) > _EXACT):
        raise NeedsPythonError
    return numbers.astype(np.float64) / float(10**scale)


def _whole(numbers: Numbers, scale: int, target: Type) -> Column:
    found = integer_arithmetic("/", numbers, _full(numbers, 10**scale), BIGINT) if scale else numbers
    if isinstance(target, BigIntType):
        return IntegerColumn(found)
    assert isinstance(target, BitType | SignedType)
    low, high = integer_range(target)
    if len(found) and not (low <= int(found.min()) and int(found.max()) <= high):
        raise NeedsPythonError
    if not is_word(target):
        return IntegerColumn(found)
    return found.astype(np.uint64).view(np.int64) if isinstance(target, BitType) else found.astype(np.int64)


# Text


def scaled_texts(column: Column, type_: ScaledType, values: Values) -> TextColumn:
    """Returns the texts of values; equal ones are written once."""
    if isinstance(type_, DateType):
        return _fixed_texts(np.datetime_as_string(column.astype("datetime64[D]")))
    if not is_word(type_):
        numbers = as_integers(column, type_, values).tolist()
        return column_of_texts([value_text(from_units(number, type_)) for number in numbers])
    distinct, codes = np.unique(column, return_inverse=True)
    return column_of_texts(list(map(value_text, scaled_values(distinct, type_)))).take(codes.reshape(-1))


def _fixed_texts(texts: Any) -> TextColumn:
    """Returns texts of ten bytes."""
    data = np.ascontiguousarray(texts.astype("S10"))
    width = data.dtype.itemsize
    addresses = data.ctypes.data + width * np.arange(len(data), dtype=np.int64)
    return TextColumn(addresses, np.full(len(data), width, np.int64), (data,))
