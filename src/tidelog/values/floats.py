"""Floating-point numbers in canonical form: no -0.0, one NaN that equals itself and is the largest of all.

Python's floats have two zeros that are equal but print differently, and a NaN that is equal to nothing, so neither
could be a key or stand in a sorted set. `double` and `single` bring the result of any computation back into the form
that every value of the language has; `single` also rounds to 32 bits. `NAN == NAN` holds, so NaN is told by
`math.isnan`, or by `is NAN`. Everything else here computes with such numbers
and gives one back. Nothing raises: a number divided by zero is infinite, or NaN.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any, Final

_SINGLE = struct.Struct("<f")
_EXACT = 1 << 53  # up to here every integer is a double


class _NotANumber(float):
    """The one NaN. As a subclass of `float` it is asked first, so `1.0 < NAN` holds as well as `NAN > 1.0`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other is self

    def __ne__(self, other: object) -> bool:
        return other is not self

    def __lt__(self, other: Any) -> bool:
        return False

    def __le__(self, other: Any) -> bool:
        return other is self

    def __gt__(self, other: Any) -> bool:
        return other is not self

    def __ge__(self, other: Any) -> bool:
        return True

    def __hash__(self) -> int:
        return 0x7FF8_0000_0000_0000

    def __repr__(self) -> str:
        return "NaN"

    def __reduce__(self) -> str:
        return "NAN"

    def __copy__(self) -> _NotANumber:
        return self

    def __deepcopy__(self, memo: object) -> _NotANumber:
        return self


NAN: Final = _NotANumber("nan")


def double(number: float) -> float:
    """Returns the canonical form of a 64-bit number."""
    number += 0.0
    return number if number == number else NAN


def single(number: float) -> float:
    """Returns the canonical form of the 32-bit number nearest to `number`."""
    try:
        rounded: float = _SINGLE.unpack(_SINGLE.pack(number))[0]
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    return double(rounded)


def double_of(number: int) -> float:
    """Returns the 64-bit number nearest to an integer; infinite where none is near."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def single_of(number: int) -> float:
    """Returns the 32-bit number nearest to an integer, rounded once."""
    if -_EXACT <= number <= _EXACT:
        return single(float(number))
    size = abs(number)
    cut = size.bit_length() - 40
    if cut > 1000:
        return math.inf if number > 0 else -math.inf
    # What is cut off only matters by being there: it breaks a tie between two neighbours.
    kept = size >> cut | (size & ((1 << cut) - 1) != 0)
    return single(math.copysign(math.ldexp(kept, cut), number))


def quotient(left: float, right: float) -> float:
    """left / right in 64 bits, not yet canonical."""
    if right:
        return left / right
    return NAN if left == 0 or math.isnan(left) else math.copysign(math.inf, left)


def remainder(left: float, right: float) -> float:
    """Returns the remainder of truncating division, in 64 bits, not yet canonical."""
    if right == 0 or math.isinf(left) or math.isnan(left) or math.isnan(right):
        return NAN
    return math.fmod(left, right)


def float_text(number: float, width: int) -> str:
    """Returns the shortest decimal text that reads as the same number of this width, never with an exponent: `5`,
    `-0.32`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    if width == 64:
        text = format(Decimal(repr(float(number))), "f")
        return text.removesuffix(".0")
    import numpy as np  # only 32-bit numbers need it, and it is slow to import

    return np.format_float_positional(np.float32(number), unique=True, trim="-")
