"""The extern functions of `ddlog_std` on numbers and on values of any type."""

from __future__ import annotations

from typing import Any

from xxhash import xxh32_intdigest, xxh64_intdigest

from tidelog.library._runtime.any_value import AnyValue
from tidelog.library._runtime.extern import ExternContext, Externs, extern
from tidelog.library._runtime.hash_bytes import SECOND_SEED, SEED, hash_bytes
from tidelog.library._runtime.option_result import NONE, Some
from tidelog.types import BigIntType, BitType, SignedType, Type, native_width, wrap
from tidelog.values.big_integers import power
from tidelog.values.default import default_value
from tidelog.values.externs import itself
from tidelog.values.structs import Struct
from tidelog.values.text import debug_text, plain_text
from tidelog.values.vec import Vec

# Numbers


@extern
def range_vec(start: Any, end: Any, step: Any) -> Vec:
    if isinstance(step, int):
        return Vec(range(start, end, step)) if step else Vec()
    items = []
    while start < end if step > 0 else step < 0 and start > end:
        items.append(start)
        if start + step == start:
            raise ValueError(f"the range from {items[0]} to {end} never ends: the step {step} is too small")
        start += step
    return Vec(items)


@extern(needs_types=True)
def wrapping_pow32(context: ExternContext, type_: Type, base: int, exponent: int) -> int:
    if isinstance(type_, BitType | SignedType):
        return wrap(pow(base, exponent, 1 << type_.width), type_)
    return power(base, exponent)


# Any type


@extern(needs_types=True)
def default(context: ExternContext, type_: Type) -> Any:
    return default_value(type_, context.definitions)


@extern(needs_types=True)
def hash32(context: ExternContext, type_: Type, value: Any) -> int:
    return xxh32_intdigest(hash_bytes(context, type_, value), SEED & 0xFFFF_FFFF)


@extern(needs_types=True)
def hash64(context: ExternContext, type_: Type, value: Any) -> int:
    return xxh64_intdigest(hash_bytes(context, type_, value), SEED)


@extern(needs_types=True)
def hash128(context: ExternContext, type_: Type, value: Any) -> int:
    data = hash_bytes(context, type_, value)
    return xxh64_intdigest(data, SEED) << 64 | xxh64_intdigest(data, SECOND_SEED)


@extern(needs_types=True)
def to_any(context: ExternContext, type_: Type, value: Any) -> AnyValue:
    return AnyValue(type_, value, context.definitions)


@extern(needs_types=True)
def from_any(context: ExternContext, type_: Type, value: AnyValue) -> Struct:
    return Some(value.value) if value.type == type_ else NONE


# Values as text


@extern(needs_types=True)
def __builtin_2string(context: ExternContext, type_: Type, value: Any) -> str:
    return plain_text(value, type_, context.definitions)


@extern(needs_types=True)
def to_string_debug(context: ExternContext, type_: Type, value: Any) -> str:
    return debug_text(value, type_, context.definitions)


@extern(needs_types=True)
def hex(context: ExternContext, type_: Type, value: int) -> str:
    match type_:
        case BitType() | BigIntType():
            return f"{value:x}"
        case SignedType(width):
            return f"{value & (1 << (native_width(width) or width)) - 1:x}"
        case _:
            raise ValueError(f"hex() wants an integer, not a value of type {type_}")


EXTERNS: Externs = {"ref_new": itself, "deref": itself}
