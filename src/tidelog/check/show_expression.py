"""Typed expressions and patterns → text, with all parentheses; literals of numbers carry the type that was found."""

from __future__ import annotations

from tidelog.check import typed
from tidelog.syntax.show import escaped
from tidelog.types import BigIntType, FloatType, IntegerType


def show_expression(expression: typed.Expression) -> str:
    """The expression with all its parentheses; implicit conversions are shown as calls."""
    match expression:
        case typed.Var(name):
            return name
        case typed.Lit(value, type_):
            is_number = isinstance(type_, IntegerType | BigIntType | FloatType)
            return show_value(value) + (f": {type_}" if is_number else "")
        case typed.MakeTuple(items):
            return f"({_listed(items)})"
        case typed.Construct(constructor, arguments):
            return f"{constructor}{{{_listed(arguments)}}}"
        case typed.MakeVec(items):
            return f"[{_listed(items)}]"
        case typed.MakeMap(entries):
            pairs = (f"{show_expression(key)} -> {show_expression(value)}" for key, value in entries)
            return f"[{', '.join(pairs)}]"
        case typed.FunctionValue(function):
            return function
        case typed.Closure(parameters, body):
            shown = (f"{each.name}: {'mut ' if each.mutable else ''}{each.type}" for each in parameters)
            return f"|{', '.join(shown)}| {_operand(body)}"
        case typed.Unary(op, operand):
            return f"{op}{' ' if op == 'not' else ''}{_operand(operand)}"
        case typed.Binary(op, left, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case typed.Cast(operand, type_):
            return f"{_operand(operand)} as {type_}"
        case typed.ToString(operand):
            return f"to_string({show_expression(operand)})"
        case typed.Deref(operand):
            return f"*{_operand(operand)}"
        case typed.MakeRef(operand):
            return f"&{_operand(operand)}"
        case typed.Field(operand, name):
            return f"{_operand(operand)}.{name}"
        case typed.TupleItem(operand, index):
            return f"{_operand(operand)}.{index}"
        case typed.Call(function, _, arguments):
            return f"{function.split('(')[0]}({_listed(arguments)})"
        case typed.CallValue(value, arguments):
            return f"{_operand(value)}({_listed(arguments)})"
        case typed.Try(operand):
            return f"{_operand(operand)}?"
        case typed.IfElse(condition, then, otherwise):
            return f"if ({show_expression(condition)}) {_operand(then)} else {_operand(otherwise)}"
        case typed.Match(subject, arms):
            shown = (f"{show_pattern(arm.pattern)} -> {show_expression(arm.body)}" for arm in arms)
            return f"match ({show_expression(subject)}) {{{', '.join(shown)}}}"
        case typed.Block(expressions):
            return f"{{{'; '.join(map(show_expression, expressions))}}}"
        case typed.Declare(pattern, value):
            return f"{show_pattern(pattern, declares=True)} = {show_expression(value)}"
        case typed.SetPlace(place, value):
            return f"{show_place(place)} = {show_expression(value)}"
        case typed.For(pattern, iterable, body):
            return f"for ({show_pattern(pattern)} in {show_expression(iterable)}) {_operand(body)}"
        case typed.Break():
            return "break"
        case typed.Continue():
            return "continue"
        case typed.Return(value):
            return f"return {show_expression(value)}"


def show_pattern(pattern: typed.Pattern, *, declares: bool = False) -> str:
    """The pattern; with `declares` its variables have a `var` in front, as on the left of a `=`."""
    match pattern:
        case typed.AnyPattern():
            return "_"
        case typed.BindPattern(name):
            return f"var {name}" if declares else name
        case typed.LiteralPattern(value):
            return show_value(value)
        case typed.TuplePattern(items):
            return f"({', '.join(show_pattern(item, declares=declares) for item in items)})"
        case typed.ConstructPattern(constructor, fields):
            return f"{constructor}{{{', '.join(show_pattern(each, declares=declares) for each in fields)}}}"
        case typed.AsPattern(name, inner):
            return f"{name}@{show_pattern(inner, declares=declares)}"
        case typed.EqualPattern(expression):
            return show_expression(expression)


def show_place(place: typed.Place) -> str:
    """The place as it is written: `x`, `x.f`, `x.0.g`."""
    return ".".join([place.variable.name, *map(str, place.steps)])


def show_value(value: typed.Value) -> str:
    """A value as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{escaped(value)}"' if isinstance(value, str) else str(value)


def _listed(expressions: tuple[typed.Expression, ...]) -> str:
    return ", ".join(map(show_expression, expressions))


_CLOSED = (
    typed.Var
    | typed.ToString
    | typed.MakeTuple
    | typed.Construct
    | typed.MakeVec
    | typed.MakeMap
    | typed.FunctionValue
    | typed.Field
    | typed.TupleItem
    | typed.Call
    | typed.CallValue
    | typed.Block
)


def _operand(expression: typed.Expression) -> str:
    text = show_expression(expression)
    plain = isinstance(expression, _CLOSED) or (isinstance(expression, typed.Lit) and ": " not in text)
    return text if plain else f"({text})"
