"""Arithmetic that wraps → arithmetic whose overflow is an error, where the program asks for it.

    #[overflow = "error"]
    Out(x + 1) :- In(x).          Out(overflow_add(x, 1, "the rule …")) :- In(x).

That is the option `overflow="error"` for all rules and functions of a program and its modules, or the attribute for a
rule or a function. `+`, `-`, `*`, the `/` of signed integers and the minus sign become calls of the module `checked`,
which know where they stand; `group::sum_of` becomes `checked::checked_sum_of`. Only integers of fixed width overflow.
Shifts and casts (`as`) are about bits, and stay as they are. So do functions of the library.

A call is an expression like any other, so engines, strategies and plans need to know nothing of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from tidelog.check import program, typed
from tidelog.check.check import check
from tidelog.check.names.modules import LIBRARY
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse
from tidelog.types import STRING, BitType, SignedType

WRAP, ERROR = "wrap", "error"
WAYS = (WRAP, ERROR)
"""What an overflow does, as the option says it."""

_ATTRIBUTE = "overflow"
_MODULE = "checked::"
_OPERATORS = {"+": "overflow_add", "-": "overflow_sub", "*": "overflow_mul", "/": "overflow_div"}
_SUM = "group::sum_of"
_CHECKED_SUM = "checked::checked_sum_of"

T = TypeVar("T")


def with_checked_arithmetic(source: program.TypedProgram, overflow: str) -> program.TypedProgram:
    """Returns the program with checked arithmetic in the rules and functions that ask for it."""
    rules = checked_rules(source.rules, overflow)
    functions = checked_functions(source.functions, overflow)
    if rules == source.rules and functions is source.functions:
        return source
    return replace(source, rules=rules, functions={**_library(), **functions})


def checked_rules(rules: Iterable[program.Rule], overflow: str) -> tuple[program.Rule, ...]:
    """Returns the rules, those that ask for it with checked arithmetic."""
    return tuple(
        _checked(rule, f"the rule `{_line(rule)}` at {rule.span}") if _asks(rule.attributes, overflow) else rule
        for rule in rules
    )


def checked_functions(functions: Mapping[str, program.Function], overflow: str) -> Mapping[str, program.Function]:
    """Returns the functions, with those that checked arithmetic calls; the same mapping where none asks for it."""
    changed = {
        id_: _checked(each, f"the function `{each.name}` at {each.span}")
        for id_, each in functions.items()
        if each.body is not None and _asks(each.attributes, overflow) and not _is_of_library(each)
    }
    return {**_library(), **functions, **changed} if changed else functions


def called_functions() -> Mapping[str, program.Function]:
    """Returns the functions that checked arithmetic calls."""
    return _library()


def _asks(attributes: Iterable[program.Attribute], overflow: str) -> bool:
    said = next((each.value for each in attributes if each.name == _ATTRIBUTE), overflow)
    return said == ERROR


def _is_of_library(function: program.Function) -> bool:
    return function.span.source.name.startswith(str(LIBRARY))


@cache
def _library() -> Mapping[str, program.Function]:
    names = "\n".join(f"F{place}() :- var f = {_USES[name]}." for place, name in enumerate(_USES))
    relations = "\n".join(f"relation F{place}()" for place, _ in enumerate(_USES))
    found = check(parse(Source("<checked>", f"import checked\nimport group\n{relations}\n{names}\n")), ()).functions
    return {id_: each for id_, each in found.items() if id_.startswith(_MODULE)}


_USES = {
    **{name: f'{name}(1: s8, 2, "")' for name in _OPERATORS.values()},
    "checked_sum_of": "(1: s8).group_by(()).checked_sum_of(|x| x)",
}
"""An expression with each function: `check` keeps only functions of the library that are called."""


def _line(rule: program.Rule) -> str:
    """Returns the text of a rule on one line, without its attributes."""
    source, start = rule.span.source, max((each.span.end for each in rule.attributes), default=rule.span.start)
    return " ".join(source.text[start : rule.span.end].split())


def _checked(node: T, place: str) -> T:
    """Returns a rule, a function or a part of one with checked arithmetic; `place` is for its errors."""
    found: Any = node
    if isinstance(node, typed.Expression):
        found = _checked_expression(node, place)
    elif isinstance(node, tuple):
        found = tuple([_checked(each, place) for each in node])
    elif is_dataclass(node) and type(node).__module__ == program.__name__ and not isinstance(node, program.Attribute):
        changed = {each.name: _checked(getattr(node, each.name), place) for each in fields(node)}
        found = replace(node, **changed)  # type: ignore[type-var]
    same: T = found
    return same


def _checked_expression(node: typed.Expression, place: str) -> typed.Expression:
    node = typed.rebuilt(node, lambda each: _checked_expression(each, place))
    match node:
        case typed.Binary(op="+" | "-" | "*", left=left, right=right) if isinstance(node.type, BitType | SignedType):
            return _call(node, left, right, place)
        case typed.Binary(op="/", left=left, right=right) if isinstance(node.type, SignedType):
            return _call(node, left, right, place)
        case typed.Unary(op="-", operand=operand) if isinstance(node.type, BitType | SignedType):
            if isinstance(operand, typed.Lit):
                return node
            return _call(node, typed.Lit(0, type=node.type, span=node.span), operand, place)
        case typed.Call(function=function) if function == _SUM and isinstance(node.type, BitType | SignedType):
            return replace(node, function=_CHECKED_SUM)
        case _:
            return node


def _call(
    node: typed.Binary | typed.Unary, left: typed.Expression, right: typed.Expression, place: str
) -> typed.Expression:
    where = typed.Lit(place, type=STRING, span=node.span)
    name = f"{_MODULE}{_OPERATORS[node.op]}"
    return typed.Call(name, (node.type,), (left, right, where), type=node.type, span=node.span)
