"""Operators on columns of words: integers of up to 64 bits, wrapped to their width as `functions.operators` does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.columns.column import NeedsPythonError
from tidelog.types import BitType, SignedType, Type, integer_range

_NATIVE = (8, 16, 32, 64)


def wrapped(words: Words, type_: Type) -> Words:
    """Returns words brought into the range of an integer type."""
    match type_:
        case BitType(width) if width < 64:
            return words & ((1 << width) - 1)
        case SignedType(width) if width < 64:
            return (words << (64 - width)) >> (64 - width)
        case _:
            return words


def ordered(words: Words, type_: Type) -> npt.NDArray[Any]:
    """Returns words as numbers that NumPy compares and divides like the values."""
    return words.view(np.uint64) if type_ == BitType(64) else words


def arithmetic(op: str, left: Words, right: Words, type_: Type) -> Words:
    """Returns `left op right`; raises NeedsPythonError for a division by zero."""
    if op in ("/", "%"):
        return _divided(op, left, right, type_)
    if op in ("<<", ">>"):
        assert isinstance(type_, BitType | SignedType)
        amount = right & (next(bits for bits in _NATIVE if type_.width <= bits) - 1)
        if op == "<<":
            return wrapped(left << amount, type_)
        if type_ == BitType(64):
            return (left.view(np.uint64) >> amount.astype(np.uint64)).view(np.int64)
        return left >> amount
    return wrapped(_SIMPLE[op](left, right), type_)


CHECKED_OPERATORS = {
    **{f"checked_{name}": op for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    **{f"overflow_{name}": op for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"))},
}
"""The functions of the module `checked` that words compute, and their operators."""

_SAFE = float(1 << 62)


def checked_arithmetic(op: str, left: Words, right: Words, type_: Type) -> Words:
    """Returns `left op right`; raises NeedsPythonError if a result may not fit into the type."""
    assert isinstance(type_, BitType | SignedType)
    sizes = [np.abs(ordered(each, type_).astype(np.float64)) for each in (left, right)]
    largest = sizes[0] * sizes[1] if op == "*" else sizes[0] + sizes[1]
    if len(largest) and float(largest.max()) >= _SAFE:
        raise NeedsPythonError
    found = _SIMPLE[op](left, right)
    low, high = integer_range(type_)
    if len(found) and (int(found.min()) < low or int(found.max()) > high):
        raise NeedsPythonError
    return found


_SIMPLE: dict[str, Callable[[Words, Words], Words]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
_COMPARISONS: dict[str, Callable[[Any, Any], npt.NDArray[np.bool_]]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compared(op: str, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Returns whether `left op right` holds, of a comparison."""
    return _COMPARISONS[op](left, right)


def _divided(op: str, left: Words, right: Words, type_: Type) -> Words:
    if not right.all():
        raise NeedsPythonError
    if isinstance(type_, BitType):
        top, bottom = ordered(left, type_), ordered(right, type_)
        found: Words = (top // bottom if op == "/" else top % bottom).view(np.int64)
        return found
    # NumPy rounds down, the language toward zero. The smallest number divided by -1 would overflow.
    is_minus = right == -1
    bottom = np.where(is_minus, 1, right)
    down = left // bottom
    rest = left - down * bottom
    down += (rest != 0) & ((left < 0) != (bottom < 0))
    if op == "/":
        return wrapped(np.where(is_minus, -left, down), type_)
    return np.where(is_minus, 0, left - down * bottom)
