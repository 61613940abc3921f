"""Values → text, in the three forms that the language has.

    record_text    what the command line prints            ddlog_std::Some{.x = "a\\"b"}      [(1, true)]
    debug_text     `to_string_debug`                       ddlog_std::Some{"a\\"b"}           {1: true}
    plain_text     `to_string`, of built-in types only     a"b

Numbers are decimal; floats are the shortest text that reads as the same number, without an exponent. What is shared or
interned prints as what is inside. A writer is made once for each type, and can write values of any depth.
"""

from __future__ import annotations

from collections.abc import Callable
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
from tidelog.values.definitions import Definitions, substitute
from tidelog.values.externs import ExternKind, ExternType
from tidelog.values.floats import float_text
from tidelog.values.function_value import FunctionValue
from tidelog.values.quote import quote

Writer = Callable[[Any], str]


def record_writer(type_: Type, definitions: Definitions) -> Writer:
    """`record_text` for many values of one type."""
    write = definitions.keep(_record_writer, type_)
    return lambda value: at_any_depth(write, value)


def record_text(value: Any, type_: Type, definitions: Definitions) -> str:
    """Returns the text of a value in the output of the command line."""
    return at_any_depth(definitions.keep(_record_writer, type_), value)


def debug_text(value: Any, type_: Type, definitions: Definitions) -> str:
    """Returns the text that `to_string_debug` gives."""
    return at_any_depth(definitions.keep(_debug_writer, type_), value)


def plain_text(value: Any, type_: Type, definitions: Definitions) -> str:
    """Returns the text that `to_string` and `${}` give for a value of a built-in type; a string is itself."""
    return at_any_depth(definitions.keep(_plain_writer, type_), value)


def integer_text(number: int) -> str:
    """Decimal digits, however many; Python's own `str` refuses more than some thousands."""
    try:
        return str(number)
    except ValueError:
        if number < 0:
            return f"-{integer_text(-number)}"
        half = number.bit_length() * 3 // 20  # about half of the decimal digits
        upper, lower = divmod(number, 10**half)
        return integer_text(upper) + integer_text(lower).zfill(half)


def integer_of_text(digits: str) -> int:
    """Returns the number, however long: the way back from `integer_text`."""
    if digits.startswith("-"):
        return -integer_of_text(digits[1:])
    if len(digits) <= 4000:
        return int(digits)
    half = len(digits) // 2
    power: int = 10**half
    return integer_of_text(digits[:-half]) * power + integer_of_text(digits[-half:])


def function_text(value: FunctionValue, definitions: Definitions) -> str:
    """`<closure: CODE, captured_args: VALUES>`"""
    types = dict(zip(value.code.type_parameters, value.types))
    captured = [
        debug_text(each, substitute(type_, types), definitions)
        for each, type_ in zip(value.captured, value.code.captured)
    ]
    arguments = captured[0] if len(captured) == 1 else f"({', '.join(captured)})"
    return f"<closure: {value.code.text}, captured_args: {arguments}>"


def _record_writer(definitions: Definitions, type_: Type) -> Writer:
    match type_:
        case FunctionType():
            return lambda value: quote(function_text(value, definitions))
        case NamedType() if (extern := definitions.extern(type_)) is not None:
            return _record_extern(definitions, type_, extern)
        case NamedType():
            return _struct_writer(definitions, type_, _record_writer, ", ", named=True)
        case _:
            return _simple_writer(definitions, type_, _record_writer)


def _debug_writer(definitions: Definitions, type_: Type) -> Writer:
    match type_:
        case FunctionType():
            return lambda value: function_text(value, definitions)
        case FloatType(width):
            return lambda value: f"OrderedFloat({_with_fraction(float_text(value, width))})"
        case NamedType() if (extern := definitions.extern(type_)) is not None:
            return _debug_extern(definitions, type_, extern)
        case NamedType():
            return _struct_writer(definitions, type_, _debug_writer, ",", named=False)
        case _:
            return _simple_writer(definitions, type_, _debug_writer)


def _plain_writer(definitions: Definitions, type_: Type) -> Writer:
    match type_:
        case StringType():
            return str
        case FunctionType():
            return lambda value: function_text(value, definitions)
        case NamedType(_, arguments) if (extern := definitions.extern(type_)) and extern.kind is ExternKind.TRANSPARENT:
            return definitions.keep(_plain_writer, extern.inner(*arguments))
        case _:
            return definitions.keep(_record_writer, type_)


def _simple_writer(definitions: Definitions, type_: Type, of: Callable[[Definitions, Type], Writer]) -> Writer:
    """Returns the writer of a type that is written the same in records and for debugging; `of` makes those of its
    parts."""
    match type_:
        case BoolType():
            return lambda value: "true" if value else "false"
        case BitType() | SignedType() | BigIntType():
            return integer_text
        case FloatType(width):
            return lambda value: float_text(value, width)
        case StringType():
            return quote
        case TupleType(items):
            writers = [definitions.keep(of, item) for item in items]
            return lambda value: f"({', '.join([write(item) for write, item in zip(writers, value)])})"
        case _:
            raise AssertionError(f"{type_} is not a type of values")


def _struct_writer(
    definitions: Definitions,
    type_: NamedType,
    of: Callable[[Definitions, Type], Writer],
    separator: str,
    *,
    named: bool,
) -> Writer:
    variants = definitions.variants(type_)
    # The writers of the fields are made when they are needed, for a type may hold itself, even with other arguments.
    # All other types are finite.
    fields: list[list[tuple[str, int, Writer]] | None] = [None] * len(variants)

    def write(value: Any) -> str:
        index = value[0] if len(variants) > 1 else 0
        variant, own = variants[index], fields[index]
        if own is None:
            own = fields[index] = [
                (f".{name} = " if named else "", position, definitions.keep(of, field))
                for position, (name, field) in enumerate(variant.fields, variant.start)
            ]
        parts = [label + part(value[position]) for label, position, part in own]
        return f"{variant.name}{{{separator.join(parts)}}}"

    return write


def _record_extern(definitions: Definitions, type_: NamedType, extern: ExternType) -> Writer:
    if extern.record_text is not None:
        return extern.record_text
    if type_.name == "ddlog_std::Group":
        return _group_writer(definitions, type_, extern, _record_writer, ".key = ", ", .vals = ")
    inner = definitions.keep(_record_writer, extern.inner(*type_.arguments))
    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return lambda value: f"[{', '.join(map(inner, value))}]"
        case ExternKind.OTHER:
            return _taking(extern, inner)


def _debug_extern(definitions: Definitions, type_: NamedType, extern: ExternType) -> Writer:
    if extern.debug_text is not None:
        return extern.debug_text
    if type_.name == "ddlog_std::Group":
        return _group_writer(definitions, type_, extern, _debug_writer, "", ",")
    inner_type = extern.inner(*type_.arguments)
    inner = definitions.keep(_debug_writer, inner_type)
    if type_.name == "ddlog_std::Map":
        key, item = (definitions.keep(_debug_writer, argument) for argument in type_.arguments)
        return lambda value: f"{{{', '.join([f'{key(k)}: {item(v)}' for k, v in value])}}}"
    before, between, after = extern.debug_brackets
    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return lambda value: before + between.join(map(inner, value)) + after
        case ExternKind.OTHER:
            return _taking(extern, inner)


def _group_writer(
    definitions: Definitions,
    type_: NamedType,
    extern: ExternType,
    of: Callable[[Definitions, Type], Writer],
    before_key: str,
    before_values: str,
) -> Writer:
    inner = extern.inner(*type_.arguments)
    assert isinstance(inner, TupleType)
    key, values = (definitions.keep(of, item) for item in inner.items)
    return lambda value: f"ddlog_std::DDlogGroup{{{before_key}{key(value.key)}{before_values}{values(value.items)}}}"


def _taking(extern: ExternType, inner: Writer) -> Writer:
    take = extern.take
    assert take is not None
    return lambda value: inner(take(value))


def _with_fraction(number: str) -> str:
    return f"{number}.0" if number.lstrip("-").isdigit() else number
