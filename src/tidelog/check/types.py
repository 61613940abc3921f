"""The types of values: what a column or an expression may hold.

A type is a frozen value, so types compare with `==` and serve as dictionary keys. Every type says how its values
look in Python (`bool`, `int`, `str`) and whether the engines may hold them in one machine word.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoolType:
    """`true` and `false`; a Python `bool`."""

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class BitType:
    """`bit<width>`: unsigned, wraps modulo 2**width; a Python `int`."""

    width: int

    def __str__(self) -> str:
        return f"u{self.width}" if self.width in (8, 16, 32, 64, 128) else f"bit<{self.width}>"


@dataclass(frozen=True, slots=True)
class SignedType:
    """`signed<width>`: two's complement, wraps; a Python `int`."""

    width: int

    def __str__(self) -> str:
        return f"s{self.width}" if self.width in (8, 16, 32, 64, 128) else f"signed<{self.width}>"


@dataclass(frozen=True, slots=True)
class StringType:
    """UTF-8 text, ordered by bytes; a Python `str`."""

    def __str__(self) -> str:
        return "string"


Type = BoolType | BitType | SignedType | StringType
IntegerType = BitType | SignedType

BOOL = BoolType()
STRING = StringType()
U8, U16, U32, U64, U128 = BitType(8), BitType(16), BitType(32), BitType(64), BitType(128)
S8, S16, S32, S64, S128 = SignedType(8), SignedType(16), SignedType(32), SignedType(64), SignedType(128)

WORD_BITS = 64


def is_word(type_: Type) -> bool:
    """True when a value of the type is itself a machine word; values of all other types are interned to an id."""
    match type_:
        case BoolType():
            return True
        case BitType(width) | SignedType(width):
            return width <= WORD_BITS
        case StringType():
            return False


def integer_range(type_: IntegerType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type, both inclusive."""
    match type_:
        case BitType(width):
            return 0, (1 << width) - 1
        case SignedType(width):
            return -(1 << (width - 1)), (1 << (width - 1)) - 1


def wrap(value: int, type_: IntegerType) -> int:
    """`value` brought into the range of the type, modulo 2**width."""
    value &= (1 << type_.width) - 1
    if isinstance(type_, SignedType) and value >> (type_.width - 1):
        value -= 1 << type_.width
    return value
