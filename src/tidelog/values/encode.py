"""Values ↔ bytes: equal values of a type have equal bytes, and different values different ones.

The type is not in the bytes: who reads knows it. There is nothing in them of this process or this machine, and the same
bytes serve in snapshots and in the columns of Spark. Their order means nothing.

    bool                    one byte
    bit<N>, signed<N>       big-endian in the bytes that hold N bits, two's complement
    bigint                  its length in bytes, then as above
    float, double           IEEE, big-endian
    string                  its length in bytes, then UTF-8
    date, timestamp,        the integer of its unit (`scaled_values`), in eight bytes; in sixteen for a decimal
    duration, decimal       of more than 18 digits
    tuple, struct           the fields; a union's constructor before them, as a length
    Vec, Set, Map, ...      the number of items, then the items; keys and values in turns
    function                its key, the types and the values that it has captured
    Any                     the type, then the value

A length is seven bits to a byte, lowest first, the top bit set on all but the last.

Values are written and read by recursion, which is fast. One that is nested too deep for that is written, or read, with
a stack of its own, so that only memory limits the depth.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from tidelog import types
from tidelog.scaled_values import from_units, to_units
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
    """The two directions of a type: a value is written behind bytes, and read from a place in them.

    A value that contains others also has `parts`, which writes what stands before them and returns them with their
    codecs; and `begin`, which reads what stands before them and returns their codecs, the function that makes the value
    of them, and the place of the first.
    """

    write: Writer
    read: Reader
    parts: Callable[[Any, bytearray], Iterable[tuple[Codec, Any]]] | None = None
    begin: Callable[[bytes, int], tuple[Iterable[Codec], Callable[[list[Any]], Any], int]] | None = None


def encoder(type_: types.Type, definitions: Definitions) -> Callable[[Any], bytes]:
    """`encode` for many values of one type."""
    return partial(_written, definitions.keep(_codec, type_))


def decoder(type_: types.Type, definitions: Definitions) -> Callable[[bytes], Any]:
    """`decode` for many values of one type."""
    return partial(_decoded, definitions.keep(_codec, type_), type_)


def encode(value: Any, type_: types.Type, definitions: Definitions) -> bytes:
    """Returns the bytes of a value."""
    return _written(definitions.keep(_codec, type_), value)


def decode(data: bytes, type_: types.Type, definitions: Definitions) -> Any:
    """Returns the value of bytes that `encode` made for the same type. Raises ValueError for others, as far as it can
    tell."""
    return _decoded(definitions.keep(_codec, type_), type_, data)


def _decoded(codec: Codec, type_: types.Type, data: bytes) -> Any:
    try:
        value, end = _read_value(codec, data, 0)
    except (IndexError, struct.error, KeyError) as error:
        raise ValueError(f"these are not the bytes of a value of type {type_}") from error
    if end != len(data):
        raise ValueError(f"these are more or fewer bytes than those of a value of type {type_}")
    return value


def _written(codec: Codec, value: Any) -> bytes:
    out = bytearray()
    _write_value(codec, value, out)
    return bytes(out)


def _write_value(codec: Codec, value: Any, out: bytearray) -> None:
    """Writes a value of any depth."""
    start = len(out)
    try:
        codec.write(value, out)
    except RecursionError:
        del out[start:]
        _write_with_stack(codec, value, out)


def _read_value(codec: Codec, data: bytes, at: int) -> tuple[Any, int]:
    """Reads a value of any depth."""
    try:
        return codec.read(data, at)
    except RecursionError:
        return _read_with_stack(codec, data, at)


def _write_with_stack(codec: Codec, value: Any, out: bytearray) -> None:
    stack: list[Iterator[tuple[Codec, Any]]] = [iter([(codec, value)])]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
        elif found[0].parts is None:
            found[0].write(found[1], out)
        else:
            stack.append(iter(found[0].parts(found[1], out)))


def _read_with_stack(codec: Codec, data: bytes, at: int) -> tuple[Any, int]:
    results: list[Any] = []
    stack: list[tuple[Iterator[Codec], Callable[[list[Any]], Any], list[Any]]] = [
        (iter([codec]), lambda values: values[0], results)
    ]
    while True:
        codecs, make, values = stack[-1]
        wanted = next(codecs, None)
        if wanted is None:
            stack.pop()
            if not stack:
                return results[0], at
            stack[-1][2].append(make(values))
        elif wanted.begin is None:
            value, at = wanted.read(data, at)
            values.append(value)
        else:
            inner, maker, at = wanted.begin(data, at)
            stack.append((iter(inner), maker, []))


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
        case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
            return _scaled(type_)
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


def _scaled(type_: types.ScaledType) -> Codec:
    write, read, *_ = _integer(8 if types.is_word(type_) else 16, signed=True)

    def read_value(data: bytes, at: int) -> tuple[Any, int]:
        number, at = read(data, at)
        return from_units(number, type_), at

    return Codec(lambda value, out: write(to_units(value, type_), out), read_value)


def _float(form: struct.Struct) -> Codec:
    return Codec(
        lambda value, out: out.extend(form.pack(value)),
        lambda data, at: (double(form.unpack_from(data, at)[0]), at + form.size),
    )


def _fields(codecs: list[Codec], start: int = 0) -> Codec:
    """Returns the codec of tuples, or of the fields that a value has from a position on."""
    writers, readers = list(enumerate((codec.write for codec in codecs), start)), [codec.read for codec in codecs]
    end = start + len(codecs)

    def write(value: Any, out: bytearray) -> None:
        for position, field in writers:
            field(value[position], out)

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        values = []
        for field in readers:
            value, at = field(data, at)
            values.append(value)
        return tuple(values), at

    return Codec(
        write, read, lambda value, out: zip(codecs, value[start:end]), lambda data, at: (codecs, tuple[Any, ...], at)
    )


def _struct(definitions: Definitions, type_: types.NamedType) -> Codec:
    variants = definitions.variants(type_)
    # Made when they are needed: a type may hold itself.
    fields: list[list[Codec] | None] = [None] * len(variants)
    codecs: list[Codec | None] = [None] * len(variants)

    def make(index: int) -> Codec:
        own = fields[index] = [definitions.keep(_codec, field) for _, field in variants[index].fields]
        codecs[index] = found = _fields(own, variants[index].start)
        return found

    def tag(value: Any, out: bytearray) -> int:
        if len(variants) == 1:
            return 0
        index: int = value[0]
        write_length(index, out)
        return index

    def assemble(index: int, values: Iterable[Any]) -> Any:
        variant = variants[index]
        return construct(variant.cls, (index, *values) if variant.start else tuple(values))

    def write(value: Any, out: bytearray) -> None:
        index = tag(value, out)
        (codecs[index] or make(index)).write(value, out)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = read_length(data, at) if len(variants) > 1 else (0, at)
        values, at = (codecs[index] or make(index)).read(data, at)
        return assemble(index, values), at

    def parts(value: Any, out: bytearray) -> Iterable[tuple[Codec, Any]]:
        index = tag(value, out)
        found = (codecs[index] or make(index)).parts
        assert found is not None
        return found(value, out)

    def begin(data: bytes, at: int) -> tuple[Iterable[Codec], Callable[[list[Any]], Any], int]:
        index, at = read_length(data, at) if len(variants) > 1 else (0, at)
        make(index)
        return fields[index] or (), partial(assemble, index), at

    return Codec(write, read, parts, begin)


def _extern(extern: ExternType, inner: Codec) -> Codec:
    write, read, *_ = inner
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

    def item_parts(value: Any, out: bytearray) -> Iterable[tuple[Codec, Any]]:
        write_length(len(value), out)
        return zip(repeat(inner), value)

    def begin_items(data: bytes, at: int) -> tuple[Iterable[Codec], Callable[[list[Any]], Any], int]:
        count, at = read_length(data, at)
        return repeat(inner, count), make, at

    def read_one(data: bytes, at: int) -> tuple[Any, int]:
        value, at = _read_value(inner, data, at)
        return make(value), at

    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return Codec(write_items, read_items, item_parts, begin_items)
        case ExternKind.OTHER:
            assert take is not None
            return Codec(lambda value, out: _write_value(inner, take(value), out), read_one)


def _typed(definitions: Definitions, make: Callable[[types.Type, Any, Any], Any]) -> Codec:
    def write(value: Any, out: bytearray) -> None:
        write_type(value.type, out)
        _write_value(definitions.keep(_codec, value.type), value.value, out)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        type_, at = read_type(data, at)
        value, at = _read_value(definitions.keep(_codec, type_), data, at)
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
