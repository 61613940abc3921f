"""Closures → the text that they print as, in the way of the reference implementation: all parentheses, all types.

|x| x + inc      (function(x: signed<64>):signed<64>{(x + inc)})
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.check import typed
from tidelog.check.show_expression import show_pattern
from tidelog.types import BitType, FloatType, FunctionType, NamedType, SignedType, StringType, TupleType, Type


def describe(node: typed.Expression) -> str:
    """The text of an expression in the text of a closure."""
    match node:
        case typed.Var(name):
            return _variable(name)
        case typed.Lit(value, type_):
            return _literal(value, type_)
        case typed.MakeTuple(items):
            return f"({_listed(items)})"
        case typed.Construct(constructor, arguments):
            return f"{constructor}{{{_listed(arguments)}}}"
        case typed.MakeVec(items):
            return f"[{_listed(items)}]"
        case typed.MakeMap(entries):
            return f"[{', '.join(f'{describe(key)} -> {describe(value)}' for key, value in entries)}]"
        case typed.FunctionValue(function):
            return _function(function)
        case typed.Closure(parameters, body, _, FunctionType(_, result)):
            shown = ", ".join(
                f"{_variable(each.name)}: {'mut ' if each.mutable else ''}{_type(each.type)}" for each in parameters
            )
            return f"(function({shown}):{_type(result)}{{{describe(body)}}})"
        case typed.Unary(op, operand):
            return f"({op} {describe(operand)})"
        case typed.Binary(op, left, right):
            return f"({describe(left)} {op} {describe(right)})"
        case typed.Cast(operand, type_):
            return f"({describe(operand)} as {_type(type_)})"
        case typed.ToString(operand):
            return f"(ddlog_std::to_string({describe(operand)}))"
        case typed.Deref(operand):
            return describe(operand)
        case typed.MakeRef(operand):
            return f"(&{describe(operand)})"
        case typed.Field(operand, name):
            return f"({describe(operand)}.{name})"
        case typed.TupleItem(operand, index):
            return f"({describe(operand)}.{index})"
        case typed.Call(function, _, arguments):
            return f"({_function(function)}({_listed(arguments)}))"
        case typed.CallValue(function, arguments):
            return f"({describe(function)}({_listed(arguments)}))"
        case typed.Try(operand):
            return f"({describe(operand)}?)"
        case typed.IfElse(condition, then, otherwise):
            return f"if {describe(condition)} {{{describe(then)}}} else {{{describe(otherwise)}}}"
        case typed.Match(subject, arms):
            shown = ", ".join(f"{show_pattern(arm.pattern)} -> {describe(arm.body)}" for arm in arms)
            return f"match ({describe(subject)}) {{{shown}}}"
        case typed.Block(expressions):
            return "{" + "; ".join(map(describe, expressions)) + "}"
        case typed.Declare(pattern, value):
            return f"({show_pattern(pattern, declares=True)} = {describe(value)})"
        case typed.SetPlace(place, value):
            steps = "".join(f".{step}" for step in place.steps)
            return f"({_variable(place.variable.name)}{steps} = {describe(value)})"
        case typed.For(pattern, iterable, body):
            return f"for ({show_pattern(pattern)} in {describe(iterable)}) {{{describe(body)}}}"
        case typed.Return(value):
            return f"(return {describe(value)})"
        case typed.Break():
            return "break"
        case typed.Continue():
            return "continue"
        case _:
            raise AssertionError(node)


def _listed(nodes: Iterable[typed.Expression]) -> str:
    return ", ".join(map(describe, nodes))


def _variable(name: str) -> str:
    """The name as it was written: `#1` tells it from another of the same name."""
    return name.partition("#")[0]


def _function(id_: str) -> str:
    """The name of a function without the types that tell it from its namesakes."""
    return id_.partition("(")[0]


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
    """A type inside another. The reference implementation has the names there by which programs call integer types."""
    match type_:
        case BitType(width) | SignedType(width) if width in (8, 16, 32, 64, 128):
            return f"ddlog_std::{type_}"
        case _:
            return _type(type_)
