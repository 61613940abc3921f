"""A value → its bytes for hashing, by its type.

Numbers are little-endian in the width that holds them, text is UTF-8 and a byte 255, a sequence is its length and its
items, a value of a union is the index of its constructor and its fields, and an interned value is the hash of the value
inside. Equal values have equal bytes, on every machine; the bytes are those of the reference implementation, except
where that hashes addresses or hash tables, so that hashes can be compared with its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from xxhash import xxh64_intdigest

from tidelog import types
from tidelog.library._runtime.extern import ExternContext
from tidelog.scaled_values import to_units
from tidelog.values.externs import ExternKind
from tidelog.values.structs import Struct, field_values

SEED, SECOND_SEED = 0x23B691A751D0E108, 0x20B09801DCE5FF84


def hash_bytes(context: ExternContext, type_: types.Type, value: Any) -> bytes:
    """Returns the bytes to hash for a value; raises ValueError for a function, which cannot be hashed."""
    match type_:
        case types.BoolType():
            return b"\1" if value else b"\0"
        case types.BitType(width) | types.SignedType(width):
            native = types.native_width(width)
            return _digits(value) if native is None else _fixed(value, native)
        case types.BigIntType():
            sign = _length(2 if value > 0 else 0 if value < 0 else 1)
            return sign + _digits(abs(value)) if value else sign
        case types.FloatType(width):
            return struct.pack("<Q", _float_word(value, width))
        case types.StringType():
            return _text(value)
        case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
            return _fixed(to_units(value, type_), 64 if types.is_word(type_) else 128)
        case types.TupleType(items):
            return b"".join(hash_bytes(context, item, each) for item, each in zip(items, value))
        case types.NamedType():
            return _named(context, type_, value)
        case _:
            raise ValueError(f"a value of type {type_} cannot be hashed")


def _named(context: ExternContext, type_: types.NamedType, value: Any) -> bytes:
    match type_.name:
        case "internment::Intern":
            return _length(xxh64_intdigest(hash_bytes(context, type_.arguments[0], value), SEED))
        case "ddlog_std::Group":
            key, item = type_.arguments
            return hash_bytes(context, key, value.key) + _items(context, types.TupleType((item, types.S64)), value)
        case "ddlog_std::Any":
            return hash_bytes(context, value.type, value.value)
        case "uuid::Uuid" | "net::ipv6::Ipv6Addr":
            return _length(16) + bytes(value.to_bytes(16, "big"))
        case "net::ipv4::Ipv4Addr":
            return bytes(value.to_bytes(4, "big"))
    extern = context.definitions.extern(type_)
    if extern is None:
        return _struct(context, type_, value)
    inner = extern.inner(*type_.arguments)
    if extern.kind is ExternKind.SEQUENCE:
        return _length(len(value)) + _items(context, inner, value)
    return hash_bytes(context, inner, extern.take(value) if extern.take else value)


def _struct(context: ExternContext, type_: types.NamedType, value: Struct) -> bytes:
    variants = context.definitions.variants(type_)
    index = value.__variant__.index
    place = _length(index) if len(variants) > 1 else b""
    fields = zip(variants[index].fields, field_values(value))
    return place + b"".join(hash_bytes(context, field, each) for (_, field), each in fields)


def _items(context: ExternContext, type_: types.Type, values: Iterable[Any]) -> bytes:
    return b"".join(hash_bytes(context, type_, each) for each in values)


def _fixed(value: int, width: int) -> bytes:
    return (value & ((1 << width) - 1)).to_bytes(width // 8, "little")


def _length(number: int) -> bytes:
    return struct.pack("<Q", number)


def _text(value: str) -> bytes:
    return value.encode() + b"\xff"


def _digits(value: int) -> bytes:
    """Returns the digits of a natural number to the base 2**64, the lowest first."""
    count = -(-value.bit_length() // 64)
    return _length(count) + value.to_bytes(8 * count, "little")


def _float_word(value: float, width: int) -> int:
    """Returns sign, exponent and mantissa in one word; the mantissa of a `float` keeps its 24 bits."""
    if value != value:
        return 0x7FF8000000000000
    if not value:
        return 0
    if width == 32:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        sign, exponent, mantissa, fraction_bits, bias = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF, 23, 127
    else:
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        sign, exponent, mantissa, fraction_bits, bias = bits >> 63, bits >> 52 & 0x7FF, bits & (1 << 52) - 1, 52, 1023
    mantissa = mantissa << 1 if exponent == 0 else mantissa | 1 << fraction_bits
    place = (exponent - bias - fraction_bits) & 0x7FF
    word: int = mantissa & (1 << 52) - 1 | place << 52 | (0 if sign else 1) << 63
    return word
