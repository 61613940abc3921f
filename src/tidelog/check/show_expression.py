"""Typed expressions and patterns → text, in one of two styles.

|x| x + inc      |x: s64| (x + inc)                                  `show_expression`: for people
                 (function(x: signed<64>):signed<64>{(x + inc)})     `functions/closure_text.py`: in values of closures
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import assert_never

from tidelog.check import typed
from tidelog.iso_texts import value_text
from tidelog.syntax.show import escaped
from tidelog.types import BIGINT, S64, BigIntType, DecimalType, FloatType, FunctionType, IntegerType, Type

_ENCLOSED = (
    typed.MakeTuple,
    typed.Construct,
    typed.MakeVec,
    typed.MakeMap,
    typed.Block,
    typed.Var,
    typed.FunctionValue,
)
# Operands that need no parentheses, and expressions that `parenthesize_all` leaves without.
_CLOSED = (*_ENCLOSED, typed.ToString, typed.Field, typed.TupleItem, typed.Call, typed.CallValue)
_BARE = (*_ENCLOSED, typed.Lit, typed.Deref, typed.IfElse, typed.Match, typed.For, typed.Break, typed.Continue)


def show_expression(expression: typed.Expression) -> str:
    """Returns the expression with all its parentheses; numbers carry their types, implicit conversions are calls."""
    return _SHOWN.text(expression)


def show_pattern(pattern: typed.Pattern, *, declares: bool = False) -> str:
    """Returns the text of a pattern; with `declares` its variables have a `var` in front, as on the left of a `=`."""
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


def show_value(value: typed.Value) -> str:
    """Returns a value as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | timedelta):
        family = "timestamp" if isinstance(value, datetime) else "date" if isinstance(value, date) else "duration"
        return f'{family}"{value_text(value)}"'
    return f'"{escaped(value)}"' if isinstance(value, str) else value_text(value)


@dataclass(frozen=True, slots=True)
class ExpressionPrinter:
    """Writes typed expressions. `literal` and `type_name` write literals and types.

    `parenthesize_all`: around every compound expression, not only around operands. `braces`: around the bodies of
    closures, `if` and `for`. `written_names`: without the parts that tell variables and functions of one name apart.
    `dereferences`: `*x` is shown as such. `to_string`: the name of implicit conversions.
    """

    literal: Callable[[typed.Value, Type], str]
    type_name: Callable[[Type], str] = str
    parenthesize_all: bool = False
    braces: bool = False
    written_names: bool = False
    dereferences: bool = True
    to_string: str = "to_string"

    def text(self, expression: typed.Expression) -> str:
        """Returns the text of an expression."""
        text = self._bare(expression)
        return f"({text})" if self.parenthesize_all and not isinstance(expression, _BARE) else text

    def _bare(self, expression: typed.Expression) -> str:
        match expression:
            case typed.Var(name):
                return self._variable(name)
            case typed.Lit(value, type=type_):
                return self.literal(value, type_)
            case typed.MakeTuple(items):
                return f"({self._listed(items)})"
            case typed.Construct(constructor, arguments):
                return f"{constructor}{{{self._listed(arguments)}}}"
            case typed.MakeVec(items):
                return f"[{self._listed(items)}]"
            case typed.MakeMap(entries):
                return f"[{', '.join(f'{self.text(key)} -> {self.text(value)}' for key, value in entries)}]"
            case typed.FunctionValue(function):
                return _written_function(function) if self.written_names else function
            case typed.Closure():
                return self._closure(expression)
            case typed.Unary(op, operand):
                space = " " if op == "not" or self.parenthesize_all else ""
                return f"{op}{space}{self._operand(operand)}"
            case typed.Binary(op, left, right):
                return f"{self._operand(left)} {op} {self._operand(right)}"
            case typed.Cast(operand, type=type_):
                return f"{self._operand(operand)} as {self.type_name(type_)}"
            case typed.Units(operand, type=type_):
                return f"{self._operand(operand)} in units of {operand.type if type_ in (S64, BIGINT) else type_}"
            case typed.ToString(operand):
                return f"{self.to_string}({self.text(operand)})"
            case typed.Deref(operand):
                return f"*{self._operand(operand)}" if self.dereferences else self.text(operand)
            case typed.MakeRef(operand):
                return f"&{self._operand(operand)}"
            case typed.Field(operand, name):
                return f"{self._operand(operand)}.{name}"
            case typed.TupleItem(operand, index):
                return f"{self._operand(operand)}.{index}"
            case typed.Call(function, _, arguments):
                return f"{_written_function(function)}({self._listed(arguments)})"
            case typed.CallValue(value, arguments):
                return f"{self._operand(value)}({self._listed(arguments)})"
            case typed.Try(operand):
                return f"{self._operand(operand)}?"
            case typed.IfElse(condition, then, otherwise):
                shown = self.text(condition) if self.braces else f"({self.text(condition)})"
                return f"if {shown} {self._body(then)} else {self._body(otherwise)}"
            case typed.Match(subject, arms):
                cases = ", ".join(f"{show_pattern(arm.pattern)} -> {self.text(arm.body)}" for arm in arms)
                return f"match ({self.text(subject)}) {{{cases}}}"
            case typed.Block(expressions):
                return f"{{{'; '.join(map(self.text, expressions))}}}"
            case typed.Declare(pattern, value):
                return f"{show_pattern(pattern, declares=True)} = {self.text(value)}"
            case typed.SetPlace(place, value):
                written = ".".join([self._variable(place.variable.name), *map(str, place.steps)])
                return f"{written} = {self.text(value)}"
            case typed.For(pattern, iterable, body):
                return f"for ({show_pattern(pattern)} in {self.text(iterable)}) {self._body(body)}"
            case typed.Break():
                return "break"
            case typed.Continue():
                return "continue"
            case typed.Return(value):
                return f"return {self.text(value)}"
            case _:
                assert_never(expression)

    def _closure(self, closure: typed.Closure) -> str:
        shown = ", ".join(
            f"{self._variable(each.name)}: {'mut ' if each.mutable else ''}{self.type_name(each.type)}"
            for each in closure.parameters
        )
        if not self.braces:
            return f"|{shown}| {self._operand(closure.body)}"
        assert isinstance(closure.type, FunctionType)
        return f"function({shown}):{self.type_name(closure.type.result)}{self._body(closure.body)}"

    def _variable(self, name: str) -> str:
        return name.partition("#")[0] if self.written_names else name

    def _listed(self, expressions: tuple[typed.Expression, ...]) -> str:
        return ", ".join(map(self.text, expressions))

    def _body(self, expression: typed.Expression) -> str:
        return f"{{{self.text(expression)}}}" if self.braces else self._operand(expression)

    def _operand(self, expression: typed.Expression) -> str:
        text = self.text(expression)
        if self.parenthesize_all or isinstance(expression, _CLOSED):
            return text
        return text if isinstance(expression, typed.Lit) and ": " not in text else f"({text})"


def _written_function(id_: str) -> str:
    """Returns the name of a function without the types that tell it from functions of the same name."""
    return id_.partition("(")[0]


def _typed_literal(value: typed.Value, type_: Type) -> str:
    is_number = isinstance(type_, IntegerType | BigIntType | FloatType | DecimalType)
    return show_value(value) + (f": {type_}" if is_number else "")


_SHOWN = ExpressionPrinter(_typed_literal)
