"""The nodes of typed expressions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from tidelog.diagnostics.spans import Span
from tidelog.types import UNIT, Type

if TYPE_CHECKING:
    from tidelog.check.typed.patterns import Pattern

Value = bool | int | float | str | date | timedelta | Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An expression or a pattern; `type` is that of its value, or of the values that it is held against."""

    type: Type
    span: Span


# Variables and values


@dataclass(frozen=True, slots=True)
class Var(Node):
    """A variable of the rule or function."""

    name: str


@dataclass(frozen=True, slots=True)
class Lit(Node):
    """A literal, its value already in the range of its type. A value of a declared type is a parameter of a query."""

    value: Value


@dataclass(frozen=True, slots=True)
class MakeTuple(Node):
    """`(a, b)`, or `()`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Construct(Node):
    """`C{a, b}`: the constructor's qualified name, and a value for each of its fields in their order."""

    constructor: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MakeVec(Node):
    """`[a, b]`, a `Vec`: at least one item."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MakeMap(Node):
    """`[k -> v, l -> w]`, a `Map`: at least one entry; of two equal keys the later counts."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class FunctionValue(Node):
    """The name of a function as a value."""

    function: str
    type_arguments: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class ClosureParameter:
    name: str
    type: Type
    mutable: bool


@dataclass(frozen=True, slots=True)
class Closure(Node):
    """`|x| body`. `captured` are the variables of its surroundings that the body reads, in the order of mention."""

    parameters: tuple[ClosureParameter, ...]
    body: Expression
    captured: tuple[Var, ...]


# Operators


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`op` is `-` (integers, bigint, floats), `~` (integers) or `not`."""

    op: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`op` is an operator of the language.

    `+ - * / %`: both sides and the result have one integer, bigint or float type. `& | ^`: one integer or bigint type.
    `<< >>`: the right side is `u32`, the left an integer or bigint. `== != < <= > >=`: both sides have one type, the
    result is `bool`. `and or =>`: all `bool`. `++`: both sides and the result are `string`, or three bit types whose
    widths add up.
    """

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """`operand as type`: integers to integers, wrapping; integers to bigint; bigint to `signed<N>`, wrapping; integers,
    bigint and floats to floats; any number to a decimal, and back."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Units(Node):
    """The integer of a date, time or decimal (`scaled_values`), or the value of an integer: one of the operand's type
    and the node's own is scaled, the other `s64` or `bigint`. Lowering makes such nodes; programs cannot.

    `is_bounded`: the caller ensures that the integer is a value of the type.
    """

    operand: Expression
    is_bounded: bool = False


@dataclass(frozen=True, slots=True)
class ToString(Node):
    """The text of a value of a built-in type: `true`, `-5`, or the string itself; where `++` or `${}` asks for text.

    A function has one, too. For any other type there is a `Call` of its `to_string`.
    """

    operand: Expression


@dataclass(frozen=True, slots=True)
class Deref(Node):
    """The value in a `Ref` or an `Intern`; at run time the operand itself."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class MakeRef(Node):
    """`&operand`; at run time the operand itself."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Field(Node):
    """`operand.name`: all constructors of the operand's type have the field."""

    operand: Expression
    name: str


@dataclass(frozen=True, slots=True)
class TupleItem(Node):
    """`operand.0`"""

    operand: Expression
    index: int


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a declared function; `function` is its key in `TypedProgram.functions`."""

    function: str
    type_arguments: tuple[Type, ...]
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class CallValue(Node):
    """A call of a function that is a value; its type says which arguments are `mut`."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Try(Node):
    """`operand?` of an `Option` or a `Result`: the value inside, or else a return.

    `None` returns None. `Err{e}` returns `Err{e}` where `result`, the type that the function or closure returns, is a
    `Result`, and None where it is an `Option`.
    """

    operand: Expression
    result: Type


# Control


@dataclass(frozen=True, slots=True)
class IfElse(Node):
    """`if (condition) then else otherwise`; an `if` without `else` has `()` there."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Arm:
    """`pattern -> body`"""

    pattern: Pattern
    body: Expression


@dataclass(frozen=True, slots=True)
class Match(Node):
    """The body of the first arm whose pattern fits; one always does."""

    subject: Expression
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True)
class Block(Node):
    """`{a; b}`: at least one expression, the last of which is its value; `{a;}` ends with `()`."""

    expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """`var x = value`, `(var a, var b) = value`: always fits; its own value is `()`.

    An assignment to several places at once is a `Declare` of fresh names and a `SetPlace` for each.
    """

    pattern: Pattern
    value: Expression


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be set: a variable, or a part of one. A step is a field's name or a tuple's index."""

    variable: Var
    steps: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SetPlace(Node):
    """`place = value`; its own value is `()`. A field is set in whatever constructor the value has."""

    place: Place
    value: Expression


@dataclass(frozen=True, slots=True)
class For(Node):
    """`for (pattern in iterable) body`; its own value is `()`. What is iterated is what Python's `iter` gives."""

    pattern: Pattern
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
    """`return value`; a bare `return` returns `()`."""

    value: Expression


def unit(span: Span) -> MakeTuple:
    """Returns the value `()`."""
    return MakeTuple((), type=UNIT, span=span)


Expression = (
    Var
    | Lit
    | MakeTuple
    | Construct
    | MakeVec
    | MakeMap
    | FunctionValue
    | Closure
    | Unary
    | Binary
    | Cast
    | Units
    | ToString
    | Deref
    | MakeRef
    | Field
    | TupleItem
    | Call
    | CallValue
    | Try
    | IfElse
    | Match
    | Block
    | Declare
    | SetPlace
    | For
    | Break
    | Continue
    | Return
)
