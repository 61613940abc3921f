"""The tree of a program's text, as written: nothing is resolved, renamed or reordered yet.

Every node has a span. Spans do not take part in `==`: two trees are equal when they say the same, wherever they stand.
Parentheses leave no node; `show` puts them back where the priorities of the operators need them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that stands somewhere in a source."""

    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A word that the program's author chose."""

    text: str


# Types


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """`string`, `u32`, or a name that means nothing."""

    name: str


@dataclass(frozen=True, slots=True)
class SizedType(Node):
    """`bit<width>` or `signed<width>`; `family` is the word before the `<`."""

    family: str
    width: int


Type = NamedType | SizedType


# Expressions


@dataclass(frozen=True, slots=True)
class Variable(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Wildcard(Node):
    """`_`"""


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Integer(Node):
    """`255`, `'hff`, `8'hff`, `8'shff`. `base` is the letter of the form, `d` where there is none.

    With a width, `signed` says which of the two families; without one it only keeps the spelling.
    """

    value: int
    width: int | None
    signed: bool
    base: str


@dataclass(frozen=True, slots=True)
class String(Node):
    """A text without `${}`; its escapes are decoded."""

    value: str


@dataclass(frozen=True, slots=True)
class Interpolation(Node):
    """`"a${x}b"`: texts and expressions in turn; at least one expression, no empty texts, no two texts in a row."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """`operand as type`"""

    operand: Expression
    type: Type


@dataclass(frozen=True, slots=True)
class Annotation(Node):
    """`operand: type`"""

    operand: Expression
    type: Type


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`operand[high:low]`, both ends included."""

    operand: Expression
    high: int
    low: int


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`if (condition) then else otherwise`"""

    condition: Expression
    then: Expression
    otherwise: Expression


Expression = (
    Variable
    | Wildcard
    | Boolean
    | Integer
    | String
    | Interpolation
    | Unary
    | Binary
    | Cast
    | Annotation
    | Slice
    | Conditional
)


# Rules and declarations


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """`value`, or `.name = value`."""

    name: Name | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """`Relation(arguments)`"""

    relation: Name
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Positive(Node):
    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """`not Relation(arguments)`"""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Condition(Node):
    expression: Expression


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """`var variable: annotation = value`"""

    variable: Name
    annotation: Type | None
    value: Expression


Literal = Positive | Negative | Condition | Assignment


@dataclass(frozen=True, slots=True)
class Rule(Node):
    """`heads :- body.`; a fact has an empty body."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Column(Node):
    name: Name
    type: Type


@dataclass(frozen=True, slots=True)
class RelationDeclaration(Node):
    """`role` is `input`, `output`, or empty. The span is that of the whole declaration."""

    role: str
    name: Name
    columns: tuple[Column, ...]


Item = RelationDeclaration | Rule


@dataclass(frozen=True, slots=True)
class Program(Node):
    items: tuple[Item, ...]


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct sub-expressions, in the order of the text."""
    match expression:
        case Variable() | Wildcard() | Boolean() | Integer() | String():
            return ()
        case Unary(operand=operand) | Cast(operand=operand) | Annotation(operand=operand) | Slice(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Interpolation(parts=parts):
            return tuple(part for part in parts if not isinstance(part, str))


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, in the order of the text."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def height(expression: Expression) -> int:
    """The number of nodes on the longest way down, as later passes see it: a slice becomes two nodes.

    It does not recurse: the tree may be of any height.
    """
    highest, stack = 0, [(expression, 1)]
    while stack:
        node, level = stack.pop()
        highest = max(highest, level)
        below = level + (2 if isinstance(node, Slice) else 1)
        stack.extend((child, below) for child in children(node))
    return highest
