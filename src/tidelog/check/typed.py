"""Typed expressions: what `check` makes of the expressions in rules, and what `functions` compiles.

Every node carries its type and its span. Names are variables of the rule; overloading, literal widths and the
implicit `to_string` of `++` are settled here, so that a compiler of expressions only reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.check.types import Type
from tidelog.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of the rule."""

    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Lit:
    """A literal, its value already in the range of its type."""

    value: bool | int | str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is an operator of the language.

    `+ - * / % & | ^`: both sides and the result have one integer type. `<< >>`: the right side is `u32`.
    `== != < <= > >=`: both sides have one type, the result is `bool`. `and or =>`: all `bool`.
    `++`: both sides and the result are `string`, or three bit types whose widths add up.
    """

    op: str
    left: Expression
    right: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Cast:
    """`operand as type`: between integer types, wrapping."""

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class ToString:
    """The text of a value: `true`, `-5`, or the string itself; stands where `++` or `${}` asks for text."""

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class IfElse:
    """`if (condition) then else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: Type
    span: Span


Expression = Var | Lit | Unary | Binary | Cast | ToString | IfElse


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct sub-expressions, in the order of evaluation."""
    match expression:
        case Var() | Lit():
            return ()
        case Unary(operand=operand) | Cast(operand=operand) | ToString(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case IfElse(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, each before what is below it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def variables(expression: Expression) -> frozenset[str]:
    """The names of the variables that the expression reads."""
    return frozenset(node.name for node in walk(expression) if isinstance(node, Var))


def may_fail(expression: Expression) -> bool:
    """True when evaluation can raise: a division or a remainder whose divisor is not a literal other than zero."""
    return any(
        isinstance(node, Binary)
        and node.op in ("/", "%")
        and not (isinstance(node.right, Lit) and node.right.value != 0)
        for node in walk(expression)
    )
