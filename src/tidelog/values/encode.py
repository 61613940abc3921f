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
from typing import Any

from tidelog.deep_recursion import at_any_depth
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    FloatType,
    FunctionType,
    NamedType,
    SignedType,
    StringType,
    TupleType,
    Type,
)
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


def encoder(type_: Type, definitions: Definitions) -> Callable[[Any], bytes]:
    """`encode` for many values of one type."""
    return partial(at_any_depth, partial(_written, definitions.keep(_writer, type_)))


def decoder(type_: Type, definitions: Definitions) -> Callable[[bytes], Any]:
    """`decode` for many values of one type."""
    return partial(_decoded, definitions.keep(_reader, type_), type_)


def encode(value: Any, type_: Type, definitions: Definitions) -> bytes:
    """Returns the bytes of a value."""
    return at_any_depth(_written, definitions.keep(_writer, type_), value)


def decode(data: bytes, type_: Type, definitions: Definitions) -> Any:
    """Returns the value of bytes that `encode` made for the same type. Raises ValueError for others, as far as it can
    tell."""
    return _decoded(definitions.keep(_reader, type_), type_, data)


def _decoded(read: Reader, type_: Type, data: bytes) -> Any:
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


def _writer(definitions: Definitions, type_: Type) -> Writer:
    match type_:
        case BoolType():
            return lambda value, out: out.append(1 if value else 0)
        case BitType(width) | SignedType(width):
            size, signed = -(-width // 8), isinstance(type_, SignedType)
            return lambda value, out: out.extend(value.to_bytes(size, "big", signed=signed))
        case BigIntType():
            return _write_bigint
        case FloatType(width):
            pack = struct.Struct(">d" if width == 64 else ">f").pack
            return lambda value, out: out.extend(pack(value))
        case StringType():
            return write_text
        case TupleType(items):
            return _fields_writer([(i, definitions.keep(_writer, item)) for i, item in enumerate(items)])
        case FunctionType():
            return _function_writer(definitions)
        case NamedType() if (extern := definitions.extern(type_)) is not None:
            if extern.typed is not None:
                return _typed_writer(definitions)
            return _extern_writer(extern, definitions.keep(_writer, extern.inner(*type_.arguments)))
        case NamedType():
            return _struct_writer(definitions, type_)
        case _:
            raise AssertionError(f"{type_} is not a type of values")


def _reader(definitions: Definitions, type_: Type) -> Reader:
    match type_:
        case BoolType():
            return lambda data, at: (data[at] != 0, at + 1)
        case BitType(width) | SignedType(width):
            return _integer_reader(-(-width // 8), isinstance(type_, SignedType))
        case BigIntType():
            return _read_bigint
        case FloatType(width):
            return _float_reader(struct.Struct(">d" if width == 64 else ">f"))
        case StringType():
            return read_text
        case TupleType(items):
            return _fields_reader([definitions.keep(_reader, item) for item in items])
        case FunctionType():
            return _function_reader(definitions, type_)
        case NamedType() if (extern := definitions.extern(type_)) is not None:
            if extern.typed is not None:
                return _typed_reader(definitions, extern.typed)
            return _extern_reader(extern, definitions.keep(_reader, extern.inner(*type_.arguments)))
        case NamedType():
            return _struct_reader(definitions, type_)
        case _:
            raise AssertionError(f"{type_} is not a type of values")


def _write_bigint(value: int, out: bytearray) -> None:
    data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    write_length(len(data), out)
    out.extend(data)


def _read_bigint(data: bytes, at: int) -> tuple[int, int]:
    size, at = read_length(data, at)
    return int.from_bytes(data[at : at + size], "big", signed=True), at + size


def _integer_reader(size: int, signed: bool) -> Reader:
    return lambda data, at: (int.from_bytes(data[at : at + size], "big", signed=signed), at + size)


def _float_reader(form: struct.Struct) -> Reader:
    return lambda data, at: (double(form.unpack_from(data, at)[0]), at + form.size)


def _fields_writer(fields: list[tuple[int, Writer]]) -> Writer:
    def write(value: Any, out: bytearray) -> None:
        for position, field in fields:
            field(value[position], out)

    return write


def _fields_reader(fields: list[Reader]) -> Reader:
    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        values = []
        for field in fields:
            value, at = field(data, at)
            values.append(value)
        return tuple(values), at

    return read


def _struct_writer(definitions: Definitions, type_: NamedType) -> Writer:
    variants = definitions.variants(type_)
    # Made when they are needed: a type may hold itself.
    writers: list[Writer | None] = [None] * len(variants)

    def write(value: Any, out: bytearray) -> None:
        index = 0
        if len(variants) > 1:
            index = value[0]
            write_length(index, out)
        own = writers[index]
        if own is None:
            start, fields = variants[index].start, variants[index].fields
            own = writers[index] = _fields_writer(
                [(position, definitions.keep(_writer, field)) for position, (_, field) in enumerate(fields, start)]
            )
        own(value, out)

    return write


def _struct_reader(definitions: Definitions, type_: NamedType) -> Reader:
    variants = definitions.variants(type_)
    readers: list[Reader | None] = [None] * len(variants)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = read_length(data, at) if len(variants) > 1 else (0, at)
        own, variant = readers[index], variants[index]
        if own is None:
            own = readers[index] = _fields_reader([definitions.keep(_reader, field) for _, field in variant.fields])
        fields, at = own(data, at)
        return construct(variant.cls, (index, *fields) if variant.start else fields), at

    return read


def _extern_writer(extern: ExternType, inner: Writer) -> Writer:
    def write_items(value: Any, out: bytearray) -> None:
        write_length(len(value), out)
        for item in value:
            inner(item, out)

    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return write_items
        case ExternKind.OTHER:
            take = extern.take
            assert take is not None
            return lambda value, out: inner(take(value), out)


def _extern_reader(extern: ExternType, inner: Reader) -> Reader:
    make = extern.make

    def read_items(data: bytes, at: int) -> tuple[Any, int]:
        count, at = read_length(data, at)
        items = []
        for _ in range(count):
            item, at = inner(data, at)
            items.append(item)
        return make(items), at

    def read_one(data: bytes, at: int) -> tuple[Any, int]:
        value, at = inner(data, at)
        return make(value), at

    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return read_items
        case ExternKind.OTHER:
            return read_one


def _typed_writer(definitions: Definitions) -> Writer:
    def write(value: Any, out: bytearray) -> None:
        write_type(value.type, out)
        definitions.keep(_writer, value.type)(value.value, out)

    return write


def _typed_reader(definitions: Definitions, make: Callable[[Type, Any, Any], Any]) -> Reader:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        type_, at = read_type(data, at)
        value, at = definitions.keep(_reader, type_)(data, at)
        return make(type_, value, definitions), at

    return read


def _function_writer(definitions: Definitions) -> Writer:
    def write(value: FunctionValue, out: bytearray) -> None:
        source, start, end, digest = value.code.key
        write_text(source, out)
        write_length(start, out)
        write_length(end, out)
        write_text(digest, out)
        for type_ in value.types:
            write_type(type_, out)
        types = dict(zip(value.code.type_parameters, value.types))
        for each, type_ in zip(value.captured, value.code.captured):
            definitions.keep(_writer, substitute(type_, types))(each, out)

    return write


def _function_reader(definitions: Definitions, type_: Type) -> Reader:
    def read(data: bytes, at: int) -> tuple[FunctionValue, int]:
        source, at = read_text(data, at)
        start, at = read_length(data, at)
        end, at = read_length(data, at)
        digest, at = read_text(data, at)
        if source == DEFAULT_FUNCTION:
            return default_value(type_, definitions), at
        code = definitions.function_codes[source, start, end, digest]
        types, captured = [], []
        for _ in code.type_parameters:
            own, at = read_type(data, at)
            types.append(own)
        meaning = dict(zip(code.type_parameters, types))
        for own in code.captured:
            value, at = definitions.keep(_reader, substitute(own, meaning))(data, at)
            captured.append(value)
        return FunctionValue(code, tuple(captured), tuple(types)), at

    return read
