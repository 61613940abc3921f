"""Two types → whether every value of the one is a value of the other, so that a column may change its type."""

from __future__ import annotations

from tidelog.types import (
    BigIntType,
    BitType,
    DecimalType,
    FloatType,
    NamedType,
    SignedType,
    TupleType,
    Type,
    integer_range,
)

_OPTION = "ddlog_std::Option"
_CONTAINERS = frozenset({_OPTION, "ddlog_std::Vec", "ddlog_std::Set", "ddlog_std::Map", "ddlog_std::Ref"})
_EXACT_BITS = {32: 24, 64: 53}
"""So many bits of an integer a floating-point number holds exactly."""


def widens(old: Type, new: Type) -> bool:
    """True if the new type is another one and has a value for every value of the old one, never one for two."""
    return old != new and _takes(new, old)


def _takes(new: Type, old: Type) -> bool:
    match old, new:
        case _ if old == new:
            return True
        case BitType(width), BitType(wider):
            return wider >= width
        case (BitType(width), SignedType(wider)) | (SignedType(width), SignedType(wider)):
            return wider >= width + isinstance(old, BitType)
        case BitType() | SignedType(), BigIntType():
            return True
        case BitType(width), FloatType(size):
            return width <= _EXACT_BITS[size]
        case SignedType(width), FloatType(size):
            return width - 1 <= _EXACT_BITS[size]
        case FloatType(width), FloatType(wider):
            return wider >= width
        case DecimalType(digits, scale), DecimalType(more, finer):
            return finer >= scale and more - finer >= digits - scale
        case BitType() | SignedType(), DecimalType(digits, scale):
            low, high = integer_range(old)
            return max(-low, high) < int(10 ** (digits - scale))
        case TupleType(items), TupleType(others):
            return len(items) == len(others) and all(map(_takes, others, items))
        case NamedType(name, arguments), NamedType(other, others) if name == other and name in _CONTAINERS:
            return all(map(_takes, others, arguments))
        case _, NamedType(name, (argument,)) if name == _OPTION:
            return not _is_option(old) and not _is_option(argument) and _takes(argument, old)
        case _:
            return False


def _is_option(type_: Type) -> bool:
    return isinstance(type_, NamedType) and type_.name == _OPTION
