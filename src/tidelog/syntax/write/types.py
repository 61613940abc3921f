"""Types → text, on one line."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.syntax import ast


def write_type(type_: ast.Type) -> str:
    """Returns the text of a type."""
    match type_:
        case ast.NamedType(name, ()):
            return name
        case ast.NamedType(name, arguments):
            return f"{name}<{', '.join(write_type(argument) for argument in arguments)}>"
        case ast.TypeNumber(value):
            return str(value)
        case ast.SizedType(family, width):
            return f"{family}<{width}>"
        case ast.TypeVariable(name):
            return f"'{name}"
        case ast.TupleType(items):
            return f"({', '.join(write_type(item) for item in items)})"
        case ast.FunctionType(arguments, result, bars):
            listed = [write_argument_type(argument) for argument in arguments]
            if not bars:
                return f"function({', '.join(listed)}){write_result(result)}"
            # Two bars in a row would be a list without arguments.
            listed = [f"({text})" if text.startswith("|") else text for text in listed]
            return f"|{', '.join(listed)}|{write_result(result)}"


def write_type_in_brackets(type_: ast.Type) -> str:
    """`[T]`; `[|` would begin a raw string."""
    text = write_type(type_)
    return f"[({text})]" if text.startswith("|") else f"[{text}]"


def write_argument_type(type_: ast.ArgumentType) -> str:
    """`T` or `mut T`."""
    return f"{'mut ' if type_.mutable else ''}{write_type(type_.type)}"


def write_result(result: ast.Type | None) -> str:
    """`: T`, or nothing."""
    return f": {write_type(result)}" if result else ""


def write_type_parameters(parameters: Sequence[ast.Name]) -> str:
    """`<'A, 'B>`, or nothing."""
    listed = ", ".join(f"'{name.text}" for name in parameters)
    return f"<{listed}>" if parameters else ""


def right_edge(type_: ast.Type) -> ast.Type:
    """Returns the type that the text of this one ends with."""
    while isinstance(type_, ast.FunctionType) and type_.result is not None:
        type_ = type_.result
    return type_
