"""Values ↔ bytes: equal values of a type have equal bytes, and different values different ones.

The type is not in the bytes: who reads knows it. There is nothing in them of this process or this machine, and the same
bytes serve in snapshots and in the columns of Spark. Their order means nothing.

    bool                    one byte
    bit<N>, signed<N>       big-endian in the bytes that hold N bits, two's complement
    bigint                  its length in bytes, then as above
    float, double           IEEE, big-endian
    string                  its length in bytes, then UTF-8
    tuple, struct           the fields; a union's constructor before them, as a length
    Vec, Set, Map, ...      the number of items, then the items; keys and values in turns
    function                its key, the types and the values that it has captured
    Any                     the type, then the value

A length is seven bits to a byte, lowest first, the top bit set on all but the last.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tidelog import types
from tidelog.deep_recursion import at_any_depth
from tidelog.values.default import DEFAULT_FUNCTION, default_value
from tidelog.values.definitions import Definitions, substitute
from tidelog.values.encode_type import read_type, write_type
from tidelog.values.externs import ExternKind, ExternType
from tidelog.values.floats import double
from tidelog.values.function_value import FunctionValue
from tidelog.values.lengths import read_length, read_text, write_length, write_text
from tidelog.values.structs import construct

Writer = Callable[[Any, bytearray], None]
Reader = Callable[[bytes, int], tuple[Any, int]]


class Codec(NamedTuple):
    """The two directions of a type: a value is written behind bytes, and read from a place in them."""

    write: Writer
    read: Reader


def encoder(type_: types.Type, definitions: Definitions) -> Callable[[Any], bytes]:
    """`encode` for many values of one type."""
    return partial(at_any_depth, partial(_written, definitions.keep(_codec, type_).write))


def decoder(type_: types.Type, definitions: Definitions) -> Callable[[bytes], Any]:
    """`decode` for many values of one type."""
    return partial(_decoded, definitions.keep(_codec, type_).read, type_)


def encode(value: Any, type_: types.Type, definitions: Definitions) -> bytes:
    """Returns the bytes of a value."""
    return at_any_depth(_written, definitions.keep(_codec, type_).write, value)


def decode(data: bytes, type_: types.Type, definitions: Definitions) -> Any:
    """Returns the value of bytes that `encode` made for the same type. Raises ValueError for others, as far as it can
    tell."""
    return _decoded(definitions.keep(_codec, type_).read, type_, data)


def _decoded(read: Reader, type_: types.Type, data: bytes) -> Any:
    try:
        value, end = at_any_depth(read, data, 0)
    except (IndexError, struct.error, KeyError) as error:
        raise ValueError(f"these are not the bytes of a value of type {type_}") from error
    if end != len(data):
        raise ValueError(f"these are more or fewer bytes than those of a value of type {type_}")
    return value


def _written(write: Writer, value: Any) -> bytes:
    out = bytearray()
    write(value, out)
    return bytes(out)


def _codec(definitions: Definitions, type_: types.Type) -> Codec:
    match type_:
        case types.BoolType():
            return Codec(lambda value, out: out.append(1 if value else 0), lambda data, at: (data[at] != 0, at + 1))
        case types.BitType(width) | types.SignedType(width):
            return _integer(-(-width // 8), isinstance(type_, types.SignedType))
        case types.BigIntType():
            return Codec(_write_bigint, _read_bigint)
        case types.FloatType(width):
            return _float(struct.Struct(">d" if width == 64 else ">f"))
        case types.StringType():
            return Codec(write_text, read_text)
        case types.TupleType(items):
            return _fields([definitions.keep(_codec, item) for item in items])
        case types.FunctionType():
            return _function(definitions, type_)
        case types.NamedType() if (extern := definitions.extern(type_)) is not None:
            if extern.typed is not None:
                return _typed(definitions, extern.typed)
            return _extern(extern, definitions.keep(_codec, extern.inner(*type_.arguments)))
        case types.NamedType():
            return _struct(definitions, type_)
        case _:
            raise AssertionError(f"{type_} is not a type of values")


def _integer(size: int, signed: bool) -> Codec:
    return Codec(
        lambda value, out: out.extend(value.to_bytes(size, "big", signed=signed)),
        lambda data, at: (int.from_bytes(data[at : at + size], "big", signed=signed), at + size),
    )


def _write_bigint(value: int, out: bytearray) -> None:
    data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    write_length(len(data), out)
    out.extend(data)


def _read_bigint(data: bytes, at: int) -> tuple[int, int]:
    size, at = read_length(data, at)
    return int.from_bytes(data[at : at + size], "big", signed=True), at + size


def _float(form: struct.Struct) -> Codec:
    return Codec(
        lambda value, out: out.extend(form.pack(value)),
        lambda data, at: (double(form.unpack_from(data, at)[0]), at + form.size),
    )


def _fields(codecs: list[Codec], start: int = 0) -> Codec:
    """Returns the codec of tuples, or of the fields that a value has from a position on."""
    writers, readers = list(enumerate((codec.write for codec in codecs), start)), [codec.read for codec in codecs]

    def write(value: Any, out: bytearray) -> None:
        for position, field in writers:
            field(value[position], out)

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        values = []
        for field in readers:
            value, at = field(data, at)
            values.append(value)
        return tuple(values), at

    return Codec(write, read)


def _struct(definitions: Definitions, type_: types.NamedType) -> Codec:
    variants = definitions.variants(type_)
    # Made when they are needed: a type may hold itself.
    codecs: list[Codec | None] = [None] * len(variants)

    def make(index: int) -> Codec:
        own = [definitions.keep(_codec, field) for _, field in variants[index].fields]
        codecs[index] = found = _fields(own, variants[index].start)
        return found

    def write(value: Any, out: bytearray) -> None:
        index = 0
        if len(variants) > 1:
            index = value[0]
            write_length(index, out)
        (codecs[index] or make(index)).write(value, out)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = read_length(data, at) if len(variants) > 1 else (0, at)
        fields, at = (codecs[index] or make(index)).read(data, at)
        variant = variants[index]
        return construct(variant.cls, (index, *fields) if variant.start else fields), at

    return Codec(write, read)


def _extern(extern: ExternType, inner: Codec) -> Codec:
    write, read = inner
    make, take = extern.make, extern.take

    def write_items(value: Any, out: bytearray) -> None:
        write_length(len(value), out)
        for item in value:
            write(item, out)

    def read_items(data: bytes, at: int) -> tuple[Any, int]:
        count, at = read_length(data, at)
        items = []
        for _ in range(count):
            item, at = read(data, at)
            items.append(item)
        return make(items), at

    def read_one(data: bytes, at: int) -> tuple[Any, int]:
        value, at = read(data, at)
        return make(value), at

    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return Codec(write_items, read_items)
        case ExternKind.OTHER:
            assert take is not None
            return Codec(lambda value, out: write(take(value), out), read_one)


def _typed(definitions: Definitions, make: Callable[[types.Type, Any, Any], Any]) -> Codec:
    def write(value: Any, out: bytearray) -> None:
        write_type(value.type, out)
        definitions.keep(_codec, value.type).write(value.value, out)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        type_, at = read_type(data, at)
        value, at = definitions.keep(_codec, type_).read(data, at)
        return make(type_, value, definitions), at

    return Codec(write, read)


def _function(definitions: Definitions, type_: types.Type) -> Codec:
    def write(value: FunctionValue, out: bytearray) -> None:
        source, start, end, digest = value.code.key
        write_text(source, out)
        write_length(start, out)
        write_length(end, out)
        write_text(digest, out)
        for own in value.types:
            write_type(own, out)
        meaning = dict(zip(value.code.type_parameters, value.types))
        for each, own in zip(value.captured, value.code.captured):
            definitions.keep(_codec, substitute(own, meaning)).write(each, out)

    def read(data: bytes, at: int) -> tuple[FunctionValue, int]:
        source, at = read_text(data, at)
        start, at = read_length(data, at)
        end, at = read_length(data, at)
        digest, at = read_text(data, at)
        if source == DEFAULT_FUNCTION:
            return default_value(type_, definitions), at
        code = definitions.function_codes[source, start, end, digest]
        given, captured = [], []
        for _ in code.type_parameters:
            own, at = read_type(data, at)
            given.append(own)
        meaning = dict(zip(code.type_parameters, given))
        for own in code.captured:
            value, at = definitions.keep(_codec, substitute(own, meaning)).read(data, at)
            captured.append(value)
        return FunctionValue(code, tuple(captured), tuple(given)), at

    return Codec(write, read)
