"""Typed patterns. `Ref` and `Intern` leave no trace in them: a pattern inside one has the type of the value inside."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.check.typed.nodes import Expression, Node, Value


@dataclass(frozen=True, slots=True)
class AnyPattern(Node):
    """`_`"""


@dataclass(frozen=True, slots=True)
class BindPattern(Node):
    """`x`: fits everything and declares the variable."""

    name: str


@dataclass(frozen=True, slots=True)
class LiteralPattern(Node):
    """A constant: fits what is equal to it."""

    value: Value


@dataclass(frozen=True, slots=True)
class TuplePattern(Node):
    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class ConstructPattern(Node):
    """`C{p, q}`: fits values of this constructor, with a pattern for each of its fields in their order."""

    constructor: str
    fields: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class AsPattern(Node):
    """`name@pattern`: declares the variable for all of what fits the pattern."""

    name: str
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class EqualPattern(Node):
    """An expression in an atom: fits what is equal to its value. Only in patterns of rules."""

    expression: Expression


Pattern = AnyPattern | BindPattern | LiteralPattern | TuplePattern | ConstructPattern | AsPattern | EqualPattern
