"""Expressions, patterns and targets of assignments: one family of nodes, as they share one grammar."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from tidelog.syntax.ast.nodes import Name, Node
from tidelog.syntax.ast.types import ArgumentType, Type

# Names and literals


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """`x`: a variable, or a function that is named without its module."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionName(Node):
    """`m::f`: with a module in front it can only be a function."""

    name: str


@dataclass(frozen=True, slots=True)
class VariableDeclaration(Node):
    """`var x`; `var x: T` is an Annotation of it."""

    name: Name


@dataclass(frozen=True, slots=True)
class Wildcard(Node):
    """`_`"""


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Spelt(Node):
    """A literal that can be spelt in several ways; `spelling` has the tokens of the text, if it comes from one."""

    spelling: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Integer(Spelt):
    """`255`, `'hff`, `8'hff`, `8'shff`. `base` is the letter of the form, `d` where there is none.

    With a width, `signed` says which of the two families; without one it only keeps the spelling.
    """

    value: int
    width: int | None
    signed: bool
    base: str


@dataclass(frozen=True, slots=True)
class Float(Spelt):
    """`1.5`, `2e3`, `'f1.5`, `32'f1.5`, `64'f1.5`: finite, never negative. `width` is 32, 64, or None."""

    value: float
    width: int | None
    digits: str = field(default="", compare=False)
    """The number as it is written, if it has no width: it may be a decimal, which is exact."""


@dataclass(frozen=True, slots=True)
class String(Spelt):
    """A text without `${}`; its escapes are decoded."""

    value: str


@dataclass(frozen=True, slots=True)
class Temporal(Spelt):
    """`date"2024-01-31"`, `timestamp"2024-01-31T00:00:00Z"`, `duration"PT5M"`; `family` is the word before the text."""

    family: str
    value: date | datetime | timedelta


@dataclass(frozen=True, slots=True)
class Interpolation(Spelt):
    """`"a${x}b"`: texts and expressions in turn; at least one expression, no empty texts, no two texts in a row."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Interned(Node):
    """`i"…"`, `i[|…|]`, `i$[|…|]`"""

    text: String | Interpolation


# Operators


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
class Reference(Node):
    """`&operand`"""

    operand: Expression


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
class Try(Node):
    """`operand?`"""

    operand: Expression


@dataclass(frozen=True, slots=True)
class FieldAccess(Node):
    """`operand.field`"""

    operand: Expression
    field: Name


@dataclass(frozen=True, slots=True)
class TupleField(Node):
    """`operand.0`"""

    operand: Expression
    index: int


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(arguments)`"""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MethodCall(Node):
    """`receiver.function(arguments)`; the function may be scoped. `e.group_by(k)` is one of these."""

    receiver: Expression
    function: Name
    arguments: tuple[Expression, ...]


# Compound values


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """`(a, b)`, or `()`: never one item."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """`value`, or `.name = value`."""

    name: Name | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Struct(Node):
    """`C{1, 2}`, `m::C{.x = 1}`, `C{}`, or only `C` where `bare`."""

    constructor: Name
    arguments: tuple[Argument, ...] = ()
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Vector(Node):
    """`[a, b]`: at least one item."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapEntry(Node):
    """`key -> value`"""

    key: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class MapLiteral(Node):
    """`[k -> v, l -> w]`: at least one entry."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class ClosureParameter(Node):
    """`x`, `x: T`, `x: mut T`"""

    name: Name
    type: ArgumentType | None


@dataclass(frozen=True, slots=True)
class Closure(Node):
    """`|x: T|: U body`, or `function(x: T): U {body}` unless `bars`; then the body is a Block."""

    parameters: tuple[ClosureParameter, ...]
    result: Type | None
    body: Expression
    bars: bool = True


# Patterns only


@dataclass(frozen=True, slots=True)
class Binding(Node):
    """`name@pattern`"""

    name: Name
    pattern: Expression


# Control


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`target = value`; the target has the form of a pattern, or is a field of a variable."""

    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Block(Node):
    """`{a; b}`, `{a; b;}` where `ends_open`, `{}`. Its value is the last expression's, or `()` where it ends open."""

    expressions: tuple[Expression, ...]
    ends_open: bool = False


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`if (condition) then else otherwise`; without the `else` it gives `()`."""

    condition: Expression
    then: Expression
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class MatchArm(Node):
    """`pattern -> value`"""

    pattern: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Match(Node):
    """`match (subject) {arms}`: at least one arm."""

    subject: Expression
    arms: tuple[MatchArm, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    """`for (pattern in iterable) body`"""

    pattern: Expression
    iterable: Expression
    body: Expression


@dataclass(frozen=True, slots=True)
class Break(Node):
    """`break`"""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """`continue`"""


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return value`, or only `return`."""

    value: Expression | None


Expression = (
    Variable
    | FunctionName
    | VariableDeclaration
    | Wildcard
    | Boolean
    | Integer
    | Float
    | String
    | Temporal
    | Interpolation
    | Interned
    | Unary
    | Binary
    | Reference
    | Cast
    | Annotation
    | Slice
    | Try
    | FieldAccess
    | TupleField
    | Call
    | MethodCall
    | Tuple
    | Struct
    | Vector
    | MapLiteral
    | Closure
    | Binding
    | Assign
    | Block
    | Conditional
    | Match
    | For
    | Break
    | Continue
    | Return
)


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`#[name]` or `#[name = value]`, in front of what it is about."""

    name: Name
    value: Expression | None
