"""Numbers as written → values of their kind, in 32 or 64 bits."""

from __future__ import annotations

import struct

_HALF = 32


def constant(text: str, kind: str, bits: int) -> int | float:
    """Returns the value of a number that `is_constant` says fits."""
    if kind == "float":
        return rounded(float(text) if not text.lstrip("-").startswith(("0x", "0b")) else float(_whole(text)), bits)
    value = _whole(text) if "." not in text else int(float(text))
    return wrapped(value, kind, bits)


def fits(text: str, kind: str, bits: int) -> bool:
    """Returns whether a number can be one of the kind."""
    if kind == "float":
        return True
    if "." in text:
        return False
    value = _whole(text)
    if kind == "unsigned":
        return 0 <= value < 1 << bits
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def wrapped(value: int, kind: str, bits: int) -> int:
    """Returns an integer brought into the range of its kind."""
    value &= (1 << bits) - 1
    if kind != "unsigned" and value >> (bits - 1):
        value -= 1 << bits
    return value


def rounded(value: float, bits: int) -> float:
    """Returns a floating-point number in the precision of the build."""
    if bits != _HALF:
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _whole(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("-")
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    return sign * int(digits)
