"""Products, powers and left shifts of `bigint`, which make numbers grow fast: bounded before they are computed.

One multiplication is never interrupted, so its time must be short: beside a number of a million bits that is squared
again and again, no deadline would help.
"""

from __future__ import annotations

from tidelog.diagnostics.errors import OverflowedError

MOST_BITS = 1 << 21


def product(left: int, right: int) -> int:
    """Returns left · right. Raises OverflowedError if that has more than `MOST_BITS` bits."""
    if left.bit_length() + right.bit_length() > MOST_BITS + 1:
        raise _too_large("*")
    return left * right


def shifted_left(number: int, bits: int) -> int:
    """Returns number · 2^bits. Raises OverflowedError if that has more than `MOST_BITS` bits."""
    if bits > MOST_BITS or number.bit_length() + bits > MOST_BITS:
        if number == 0:
            return 0
        raise _too_large("<<")
    return number << bits


def power(base: int, exponent: int) -> int:
    """Returns base to the power of a natural number. Raises OverflowedError if that may have more than `MOST_BITS`."""
    if abs(base) > 1 and base.bit_length() * exponent > MOST_BITS + exponent:
        raise _too_large("pow32")
    return int(base**exponent)


def _too_large(operation: str) -> OverflowedError:
    return OverflowedError(f"the result of `{operation}` is a `bigint` of more than {MOST_BITS:,} bits")
