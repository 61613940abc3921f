"""The typed program: what `check` hands on.

Names are resolved, arguments stand in the order of the columns (an omitted one is a wildcard), every expression is
typed, and every variable is bound. The body of a rule keeps its written order, except that a condition or a negated
literal that stands before its variables are bound is moved to behind the literal that binds the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.check.typed import Expression
from tidelog.check.types import Type
from tidelog.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Wild:
    """`_`, or a column that a named atom leaves out."""

    span: Span


Term = Expression | Wild


@dataclass(frozen=True, slots=True)
class Atom:
    """A declared relation and one term for each of its columns.

    In a positive literal of a body, a term that is only a variable binds it if nothing before has done so.
    """

    relation: str
    terms: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Positive:
    atom: Atom
    span: Span


@dataclass(frozen=True, slots=True)
class Negative:
    atom: Atom
    span: Span


@dataclass(frozen=True, slots=True)
class Condition:
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Assign:
    variable: str
    type: Type
    expression: Expression
    span: Span


Literal = Positive | Negative | Condition | Assign


@dataclass(frozen=True, slots=True)
class Rule:
    """The heads hold no wildcard; all their variables are bound by the body."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Relation:
    """`role` is `input`, `output`, or empty; the span is that of its name."""

    name: str
    role: str
    columns: tuple[Column, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class TypedProgram:
    """The declared relations by name, in the order of the text, and the rules."""

    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
