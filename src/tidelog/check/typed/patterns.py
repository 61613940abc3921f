"""Typed patterns. `Ref` and `Intern` leave no trace in them: a pattern inside one has the type of the value inside."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.check.typed.nodes import Expression, Value
from tidelog.diagnostics.spans import Span
from tidelog.types import Type


@dataclass(frozen=True, slots=True)
class AnyPattern:
    """`_`"""

    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class BindPattern:
    """`x`: fits everything and declares the variable."""

    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class LiteralPattern:
    """A constant: fits what is equal to it."""

    value: Value
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class TuplePattern:
    items: tuple[Pattern, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class ConstructPattern:
    """`C{p, q}`: fits values of this constructor, with a pattern for each of its fields in their order."""

    constructor: str
    fields: tuple[Pattern, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class AsPattern:
    """`name@pattern`: declares the variable for all of what fits the pattern."""

    name: str
    pattern: Pattern
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class EqualPattern:
    """An expression in an atom: fits what is equal to its value. Only in patterns of rules."""

    expression: Expression
    type: Type
    span: Span


Pattern = AnyPattern | BindPattern | LiteralPattern | TuplePattern | ConstructPattern | AsPattern | EqualPattern
