"""Operators on columns of floating-point numbers, with the results of `functions.operators` and `values.floats`.

All numbers are 64-bit floats without -0.0; those of type `float` are rounded to 32 bits after each operation. NaN
equals itself and is the largest of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.text_column import TextColumn, column_of_texts
from tidelog.types import FloatType
from tidelog.values.floats import double_of, float_text, single_of

Floats = npt.NDArray[np.float64]

_OPERATORS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}


def canonical(numbers: Floats, type_: FloatType) -> Floats:
    """Returns numbers of a computation as values of the type."""
    if type_.width == 32:
        numbers = numbers.astype(np.float32).astype(np.float64)
    return numbers + 0.0  # makes -0.0 positive


def float_arithmetic(op: str, left: Floats, right: Floats, type_: FloatType) -> Floats:
    """Returns `left op right`."""
    return canonical(_OPERATORS[op](left, right), type_)


def compare_floats(op: str, left: Floats, right: Floats) -> npt.NDArray[np.bool_]:
    """Returns whether `left op right` holds, of a comparison."""
    if op in (">", ">="):
        return compare_floats("<" if op == ">" else "<=", right, left)
    if op == "!=":
        return ~compare_floats("==", left, right)
    both, last = np.isnan(left) & np.isnan(right), np.isnan(right)
    if op == "==":
        equal: npt.NDArray[np.bool_] = (left == right) | both
        return equal
    found: npt.NDArray[np.bool_] = (left < right) | (last & ~np.isnan(left)) if op == "<" else (left <= right) | last
    return found


def floats_of(numbers: npt.NDArray[Any], type_: FloatType) -> Floats:
    """Returns the numbers of the type that are nearest to integers: words, unsigned words or Python integers."""
    if numbers.dtype != np.object_:
        return numbers.astype(np.float64 if type_.width == 64 else np.float32).astype(np.float64)
    nearest = double_of if type_.width == 64 else single_of
    return np.array([nearest(number) for number in numbers.tolist()], dtype=np.float64)


def float_ranks(numbers: Floats) -> npt.NDArray[np.int64]:
    """Returns words that are ordered like the numbers."""
    fixed = numbers + 0.0
    fixed[np.isnan(fixed)] = np.nan
    bits = fixed.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def float_texts(numbers: Floats, type_: FloatType) -> TextColumn:
    """Returns the text of numbers, made once for each."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    return column_of_texts([float_text(number, type_.width) for number in distinct.tolist()]).take(codes.reshape(-1))
