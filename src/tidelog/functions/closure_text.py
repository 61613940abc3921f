"""Closures → the text that they print as, in the way of the reference implementation: all parentheses, all types.

|x| x + inc      (function(x: signed<64>):signed<64>{(x + inc)})
"""

from __future__ import annotations

from tidelog.check import typed
from tidelog.check.show_expression import ExpressionPrinter
from tidelog.types import BitType, FloatType, FunctionType, NamedType, SignedType, StringType, TupleType, Type


def closure_text(node: typed.Expression) -> str:
    """Returns the text of an expression in the text of a closure."""
    return _PRINTER.text(node)


def _literal(value: typed.Value, type_: Type) -> str:
    match type_:
        case BitType(width):
            return f"{width}'d{value}"
        case SignedType(width):
            return f"{width}'sd{value}"
        case FloatType(width):
            return f"{width}'f{value}"
        case StringType():
            return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case _:
            return str(value).lower() if isinstance(value, bool) else str(value)


def _type(type_: Type) -> str:
    match type_:
        case BitType(width):
            return f"bit<{width}>"
        case SignedType(width):
            return f"signed<{width}>"
        case TupleType(items):
            return f"({', '.join(map(_type, items))})"
        case NamedType(name, arguments):
            return f"{name}<{','.join(map(_argument, arguments))}>" if arguments else name
        case FunctionType(parameters, result):
            shown = ", ".join(f"{'mut ' if mutable else ''}{_type(each)}" for each, mutable in parameters)
            return f"function({shown}):{_type(result)}"
        case _:
            return str(type_)


def _argument(type_: Type) -> str:
    """Returns the text of a type inside another, where the reference implementation names integer types."""
    match type_:
        case BitType(width) | SignedType(width) if width in (8, 16, 32, 64, 128):
            return f"ddlog_std::{type_}"
        case _:
            return _type(type_)


_PRINTER = ExpressionPrinter(
    _literal,
    _type,
    parenthesize_all=True,
    braces=True,
    written_names=True,
    dereferences=False,
    to_string="ddlog_std::to_string",
)
