"""Exact sums of floating-point numbers: their order never shows, and one that is taken away leaves nothing behind.

A finite number of 64 bits is a whole number of 2**-1074, so a sum is a Python integer, and it is rounded only when
somebody asks for it: once, to the nearest number of its width. Numbers that are not finite are counted: a NaN, or
infinities of both signs, make the sum NaN; infinities of one sign make it that infinity. A sum that is too large for
its width is infinite.

Sums are an Abelian group here, as section 2.3.4 of the leapfrog paper asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tidelog.values.floats import NAN

_SCALE = 1074
_UNIT = 1 << _SCALE
_LARGEST_SINGLE_EXPONENT = 128
_SMALLEST_SINGLE = -149
_SINGLE_BITS = 24
_FEW = 64


class ExactSum:
    """The sum of what was added less what was taken away, in any order."""

    __slots__ = ("_nans", "_negative", "_positive", "_total")

    def __init__(self, numbers: Iterable[float] = ()) -> None:
        self._total = 0
        self._nans = self._positive = self._negative = 0
        self._add_all(list(numbers))

    def add(self, number: float, sign: int = 1) -> None:
        """Adds a number, or takes it away where the sign is -1."""
        if math.isfinite(number):
            numerator, denominator = number.as_integer_ratio()
            self._total += sign * (numerator << (_SCALE + 1 - denominator.bit_length()))
        elif math.isnan(number):
            self._nans += sign
        elif number > 0:
            self._positive += sign
        else:
            self._negative += sign

    def rounded(self, width: int) -> float:
        """Returns the number of 32 or 64 bits that is nearest to the sum, in canonical form."""
        if self._nans or (self._positive and self._negative):
            return NAN
        if self._positive or self._negative:
            return math.inf if self._positive else -math.inf
        total = self._total if width == 64 else _rounded_to_single(self._total)
        try:
            return total / _UNIT  # of two integers: rounded once
        except OverflowError:
            return math.inf if total > 0 else -math.inf

    def _add_all(self, numbers: list[float]) -> None:
        """Adds many numbers in a few passes: those of one exponent are added as integers."""
        if len(numbers) <= _FEW:
            for number in numbers:
                self.add(number)
            return
        import numpy as np  # only many numbers need it, and it is slow to import

        words = np.array(numbers, dtype=np.float64)
        finite = np.isfinite(words)
        for number in words[~finite].tolist():
            self.add(number)
        fractions, exponents = np.frexp(words[finite])
        mantissas = np.ldexp(fractions, 53).astype(np.int64)
        # Halves of 27 and 26 bits, so that sums of them stay within a word.
        high, low = mantissas >> 27, mantissas & ((1 << 27) - 1)
        for exponent in np.unique(exponents).tolist():
            chosen = exponents == exponent
            mantissa = (int(high[chosen].sum()) << 27) + int(low[chosen].sum())
            shift = exponent - 53 + _SCALE
            self._total += mantissa << shift if shift >= 0 else mantissa >> -shift


def _rounded_to_single(total: int) -> int:
    """Returns the whole number of 2**-1074 that is a number of 32 bits and nearest to the total; ties go to even
    ones."""
    size = abs(total)
    cut = max(size.bit_length() - _SINGLE_BITS, _SCALE + _SMALLEST_SINGLE)
    kept, rest = divmod(size, 1 << cut)
    half = 1 << (cut - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    size = kept << cut
    if size >> (_SCALE + _LARGEST_SINGLE_EXPONENT):
        # Beyond the numbers of 32 bits, and of 64 bits as well.
        size = 1 << (_SCALE + 2 * 1024)
    return size if total >= 0 else -size
