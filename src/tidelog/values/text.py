"""Values → text, in the three forms that the language has.

    record_text    what the command line prints            ddlog_std::Some{.x = "a\\"b"}      [(1, true)]
    debug_text     `to_string_debug`                       ddlog_std::Some{"a\\"b"}           {1: true}
    plain_text     `to_string`, of built-in types only     a"b

Numbers are decimal; floats are the shortest text that reads as the same number, without an exponent. What is shared or
interned prints as what is inside. A writer is made once for each type, and can write values of any depth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tidelog import types
from tidelog.deep_recursion import at_any_depth
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.iso_texts import value_text
from tidelog.values.definitions import Definitions, substitute
from tidelog.values.externs import ExternKind, ExternType
from tidelog.values.floats import float_text
from tidelog.values.function_value import FunctionValue
from tidelog.values.quote import quote

Writer = Callable[[Any], str]


def record_writer(type_: types.Type, definitions: Definitions) -> Writer:
    """`record_text` for many values of one type."""
    write = definitions.keep(_record_writer, type_)
    return lambda value: _at_any_depth(write, value)


def record_text(value: Any, type_: types.Type, definitions: Definitions) -> str:
    """Returns the text of a value in the output of the command line. Raises DataError for one that is nested too
    deeply."""
    return _at_any_depth(definitions.keep(_record_writer, type_), value)


def _at_any_depth(write: Writer, value: Any) -> str:
    try:
        return at_any_depth(write, value)
    except RecursionError:
        raise DataError("a value is nested too deeply to be written", code=Code.WRONG_VALUE) from None


def debug_text(value: Any, type_: types.Type, definitions: Definitions) -> str:
    """Returns the text that `to_string_debug` gives."""
    return at_any_depth(definitions.keep(_debug_writer, type_), value)


def plain_text(value: Any, type_: types.Type, definitions: Definitions) -> str:
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
    meaning = dict(zip(value.code.type_parameters, value.types))
    captured = [
        debug_text(each, substitute(type_, meaning), definitions)
        for each, type_ in zip(value.captured, value.code.captured)
    ]
    arguments = captured[0] if len(captured) == 1 else f"({', '.join(captured)})"
    return f"<closure: {value.code.text}, captured_args: {arguments}>"


def _plain_writer(definitions: Definitions, type_: types.Type) -> Writer:
    match type_:
        case types.StringType():
            return str
        case types.DateType() | types.TimestampType() | types.DurationType():
            return value_text
        case types.FunctionType():
            return partial(function_text, definitions=definitions)
        case types.NamedType() if (extern := definitions.extern(type_)) and extern.kind is ExternKind.TRANSPARENT:
            return definitions.keep(_plain_writer, extern.inner(*type_.arguments))
        case _:
            return definitions.keep(_record_writer, type_)


def _writer(definitions: Definitions, type_: types.Type, *, debug: bool) -> Writer:
    """Returns the writer of record text or of debug text; the two differ in few places."""
    of = _debug_writer if debug else _record_writer
    match type_:
        case types.BoolType():
            return lambda value: "true" if value else "false"
        case types.BitType() | types.SignedType() | types.BigIntType():
            return integer_text
        case types.FloatType(width) if debug:
            return lambda value: f"OrderedFloat({_with_fraction(float_text(value, width))})"
        case types.FloatType(width):
            return lambda value: float_text(value, width)
        case types.StringType():
            return quote
        case types.DateType() | types.TimestampType() | types.DurationType() if not debug:
            return lambda value: f'"{value_text(value)}"'
        case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
            return value_text
        case types.TupleType(items):
            writers = [definitions.keep(of, item) for item in items]
            return lambda value: f"({', '.join([write(item) for write, item in zip(writers, value)])})"
        case types.FunctionType() if debug:
            return lambda value: function_text(value, definitions)
        case types.FunctionType():
            return lambda value: quote(function_text(value, definitions))
        case types.NamedType() if (extern := definitions.extern(type_)) is not None:
            return _extern_writer(definitions, type_, extern, debug)
        case types.NamedType():
            return _struct_writer(definitions, type_, debug)
        case _:
            raise AssertionError(f"{type_} is not a type of values")


_record_writer = partial(_writer, debug=False)
_debug_writer = partial(_writer, debug=True)


def _struct_writer(definitions: Definitions, type_: types.NamedType, debug: bool) -> Writer:
    of, separator = (_debug_writer, ",") if debug else (_record_writer, ", ")
    variants = definitions.variants(type_)
    # The writers of the fields are made when they are needed, for a type may hold itself, even with other arguments.
    # All other types are finite.
    fields: list[list[tuple[str, int, Writer]] | None] = [None] * len(variants)

    def write(value: Any) -> str:
        index = value[0] if len(variants) > 1 else 0
        variant, own = variants[index], fields[index]
        if own is None:
            own = fields[index] = [
                ("" if debug else f".{name} = ", position, definitions.keep(of, field))
                for position, (name, field) in enumerate(variant.fields, variant.start)
            ]
        parts = [label + part(value[position]) for label, position, part in own]
        return f"{variant.name}{{{separator.join(parts)}}}"

    return write


def _extern_writer(definitions: Definitions, type_: types.NamedType, extern: ExternType, debug: bool) -> Writer:
    own = extern.debug_text if debug else extern.record_text
    if own is not None:
        return own
    of = _debug_writer if debug else _record_writer
    inner_type, take = extern.inner(*type_.arguments), extern.take
    if type_.name == "ddlog_std::Group":
        assert isinstance(inner_type, types.TupleType)
        key, values = (definitions.keep(of, item) for item in inner_type.items)
        start, then = ("", ",") if debug else (".key = ", ", .vals = ")
        return lambda value: f"ddlog_std::DDlogGroup{{{start}{key(value.key)}{then}{values(value.items)}}}"
    if debug and type_.name == "ddlog_std::Map":
        key, item = (definitions.keep(of, argument) for argument in type_.arguments)
        return lambda value: f"{{{', '.join([f'{key(k)}: {item(v)}' for k, v in value])}}}"
    inner = definitions.keep(of, inner_type)
    before, between, after = extern.debug_brackets if debug else ("[", ", ", "]")
    match extern.kind:
        case ExternKind.TRANSPARENT:
            return inner
        case ExternKind.SEQUENCE:
            return lambda value: before + between.join(map(inner, value)) + after
        case ExternKind.OTHER:
            assert take is not None
            return lambda value: inner(take(value))


def _with_fraction(number: str) -> str:
    return f"{number}.0" if number.lstrip("-").isdigit() else number
