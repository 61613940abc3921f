"""Operators, casts and literals on columns, by the types of their operands."""

from __future__ import annotations

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.number_pools import Numbers, integers
from tidelog.engine.local.execution.columns import string_functions as strings
from tidelog.engine.local.execution.columns.branches import Code
from tidelog.engine.local.execution.columns.column import Column, IntegerColumn, as_floats, as_integers, as_text
from tidelog.engine.local.execution.columns.compile_patterns import NotColumnsError
from tidelog.engine.local.execution.columns.equality import equal_columns
from tidelog.engine.local.execution.columns.floats import canonical, compare_floats, float_arithmetic, floats_of
from tidelog.engine.local.execution.columns.frame import Frame
from tidelog.engine.local.execution.columns.integers import (
    in_range,
    integer_arithmetic,
    integers_of_words,
    inverted,
    is_wide_integer,
    negative,
    words_of_integers,
)
from tidelog.engine.local.execution.columns.order import common_ranks, has_order
from tidelog.engine.local.execution.columns.scaled import (
    scaled_binary,
    scaled_cast,
    scaled_constant,
    scaled_negative,
)
from tidelog.engine.local.execution.columns.words import arithmetic, compared, ordered, wrapped
from tidelog.types import BitType, BoolType, DecimalType, FloatType, ScaledType, SignedType, StringType, Type, is_word
from tidelog.values.definitions import Definitions
from tidelog.values.floats import double, single

_ORDER = ("<", "<=", ">", ">=")


def constant(value: typed.Value, type_: Type) -> Code:
    """Returns a literal as a column."""
    if isinstance(type_, ScaledType):
        return scaled_constant(value, type_)
    if isinstance(value, str):
        encoded = value.encode("utf-8", "surrogatepass")
        data, length = np.frombuffer(encoded or b"\0", np.uint8), len(encoded)
        return lambda frame: strings.constant_bytes(data, length, frame.count)
    if isinstance(value, bool):
        return lambda frame: np.full(frame.count, value, np.bool_)
    if isinstance(type_, FloatType):
        assert isinstance(value, int | float)
        number = float(double(float(value)) if type_.width == 64 else single(float(value)))
        return lambda frame: np.full(frame.count, number, np.float64)
    if is_word(type_) and isinstance(value, int):
        word = value - (1 << 64) if value >= 1 << 63 else value
        return lambda frame: np.full(frame.count, word, np.int64)
    if is_wide_integer(type_) and isinstance(value, int):
        one = integers([value])
        return lambda frame: IntegerColumn(np.repeat(one, frame.count))
    raise NotColumnsError(f"a literal of type {type_}")


def unary(op: str, operand: Code, type_: Type) -> Code:
    """Returns `-`, `~` or `not`."""
    if op == "not":
        return lambda frame: ~operand(frame)
    if isinstance(type_, ScaledType):
        return scaled_negative(operand, type_)
    if isinstance(type_, FloatType):
        return lambda frame: canonical(-as_floats(operand(frame), type_, frame.values), type_)
    if is_wide_integer(type_):
        change = negative if op == "-" else inverted
        return lambda frame: IntegerColumn(change(as_integers(operand(frame), type_, frame.values), type_))
    _require_word(type_)
    if op == "-":
        return lambda frame: wrapped(-operand(frame), type_)
    return lambda frame: wrapped(~operand(frame), type_)


def cast(operand: Code, source: Type, target: Type) -> Code:
    """Returns `operand as target`."""
    if isinstance(target, DecimalType) or isinstance(source, DecimalType):
        return scaled_cast(operand, source, target)
    if isinstance(target, FloatType):
        return _cast_to_float(operand, source, target)
    if is_wide_integer(target):
        return lambda frame: IntegerColumn(in_range(_whole(operand(frame), source, frame), target))
    _require_word(target)
    if is_wide_integer(source):
        return lambda frame: words_of_integers(as_integers(operand(frame), source, frame.values), target)
    _require_word(source)
    return lambda frame: wrapped(operand(frame), target)


def _cast_to_float(operand: Code, source: Type, target: FloatType) -> Code:
    if isinstance(source, FloatType):
        if source.width <= target.width:
            return operand
        return lambda frame: canonical(as_floats(operand(frame), source, frame.values), target)
    if source == BitType(64):
        return lambda frame: floats_of(operand(frame).view(np.uint64), target)
    return lambda frame: floats_of(_whole(operand(frame), source, frame), target)


def _whole(column: Column, type_: Type, frame: Frame) -> Numbers:
    """Returns the values of a column of integers of any type."""
    if is_wide_integer(type_):
        return as_integers(column, type_, frame.values)
    _require_word(type_)
    return integers_of_words(column, type_)


def binary(
    op: str, left: Code, right: Code, type_: Type, sides: Type, right_type: Type, definitions: Definitions
) -> Code:
    """Returns `left op right` for all operators but `and`, `or`, `=>` and the `++` of text."""
    if op in ("==", "!="):
        return lambda frame: equal_columns(left(frame), right(frame), sides, frame.values) ^ (op == "!=")
    if op in _ORDER:
        return _order(op, left, right, sides, definitions)
    if isinstance(type_, ScaledType):
        return scaled_binary(op, left, right, type_, sides, right_type)
    if isinstance(type_, FloatType):

        def compute(frame: Frame) -> Column:
            values = frame.values
            return float_arithmetic(
                op, as_floats(left(frame), type_, values), as_floats(right(frame), type_, values), type_
            )

        return compute
    if is_wide_integer(type_):
        return _wide(op, left, right, type_, sides, right_type)
    _require_word(type_)
    _require_word(sides)
    if op == "++":
        assert isinstance(right_type, BitType)
        width = right_type.width
        return lambda frame: (left(frame) << width) | right(frame)
    return lambda frame: arithmetic(op, left(frame), right(frame), type_)


def _wide(op: str, left: Code, right: Code, type_: Type, sides: Type, right_type: Type) -> Code:
    def run(frame: Frame) -> Column:
        mine, yours = left(frame), right(frame)
        if op in ("<<", ">>"):
            return IntegerColumn(integer_arithmetic(op, as_integers(mine, type_, frame.values), yours, type_))
        first, second = _whole(mine, sides, frame), _whole(yours, right_type, frame)
        if op == "++":
            assert isinstance(right_type, BitType)
            amounts = np.full(frame.count, right_type.width, dtype=np.int64)
            shifted = integers([a << b for a, b in zip(first.tolist(), amounts.tolist())])
            return IntegerColumn(integer_arithmetic("|", shifted, second, type_))
        return IntegerColumn(integer_arithmetic(op, first, second, type_))

    return run


def _order(op: str, left: Code, right: Code, type_: Type, definitions: Definitions) -> Code:
    if isinstance(type_, StringType):

        def compare(frame: Frame) -> Column:
            sides = as_text(left(frame), frame.values), as_text(right(frame), frame.values)
            return compared(op, strings.compare(*sides, equal=False), np.zeros(frame.count, dtype=np.int64))

        return compare
    if isinstance(type_, FloatType):

        def compare_numbers(frame: Frame) -> Column:
            values = frame.values
            return compare_floats(op, as_floats(left(frame), type_, values), as_floats(right(frame), type_, values))

        return compare_numbers
    if isinstance(type_, BoolType) or is_word(type_):
        return lambda frame: compared(op, ordered(left(frame), type_), ordered(right(frame), type_))
    if not has_order(type_, definitions):
        raise NotColumnsError(f"the order of a {type_}")
    return lambda frame: compared(op, *common_ranks(left(frame), right(frame), type_, frame.values))


def _require_word(type_: Type) -> None:
    if not (isinstance(type_, BitType | SignedType) and type_.width <= 64):
        raise NotColumnsError(f"an operation on {type_}")
