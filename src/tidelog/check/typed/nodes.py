"""The nodes of typed expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.diagnostics.spans import Span
from tidelog.types import Type

if TYPE_CHECKING:
    from tidelog.check.typed.patterns import Pattern

Value = bool | int | float | str


# Variables and values


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of the rule or function."""

    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Lit:
    """A literal, its value already in the range of its type; the type is never a declared one."""

    value: Value
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class MakeTuple:
    """`(a, b)`, or `()`."""

    items: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Construct:
    """`C{a, b}`: the constructor's qualified name, and a value for each of its fields in their order."""

    constructor: str
    arguments: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class MakeVec:
    """`[a, b]`, a `Vec`: at least one item."""

    items: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class MakeMap:
    """`[k -> v, l -> w]`, a `Map`: at least one entry; of two equal keys the later counts."""

    entries: tuple[tuple[Expression, Expression], ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """The name of a function as a value."""

    function: str
    type_arguments: tuple[Type, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class ClosureParameter:
    name: str
    type: Type
    mutable: bool


@dataclass(frozen=True, slots=True)
class Closure:
    """`|x| body`. `captured` are the variables of its surroundings that the body reads, in the order of mention."""

    parameters: tuple[ClosureParameter, ...]
    body: Expression
    captured: tuple[Var, ...]
    type: Type
    span: Span


# Operators


@dataclass(frozen=True, slots=True)
class Unary:
    """`op` is `-` (integers, bigint, floats), `~` (integers) or `not`."""

    op: str
    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is an operator of the language.

    `+ - * / %`: both sides and the result have one integer, bigint or float type. `& | ^`: one integer or bigint type.
    `<< >>`: the right side is `u32`, the left an integer or bigint. `== != < <= > >=`: both sides have one type, the
    result is `bool`. `and or =>`: all `bool`. `++`: both sides and the result are `string`, or three bit types whose
    widths add up.
    """

    op: str
    left: Expression
    right: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Cast:
    """`operand as type`: integers to integers, wrapping; integers to bigint; bigint to `signed<N>`, wrapping; integers,
    bigint and floats to floats."""

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class ToString:
    """The text of a value of a built-in type: `true`, `-5`, or the string itself; where `++` or `${}` asks for text.

    A function has one, too. For any other type there is a `Call` of its `to_string`.
    """

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Deref:
    """The value in a `Ref` or an `Intern`; at run time the operand itself."""

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class MakeRef:
    """`&operand`; at run time the operand itself."""

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Field:
    """`operand.name`: all constructors of the operand's type have the field."""

    operand: Expression
    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class TupleItem:
    """`operand.0`"""

    operand: Expression
    index: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a declared function; `function` is its key in `TypedProgram.functions`."""

    function: str
    type_arguments: tuple[Type, ...]
    arguments: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class CallValue:
    """A call of a function that is a value; its type says which arguments are `mut`."""

    function: Expression
    arguments: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Try:
    """`operand?` of an `Option` or a `Result`: the value inside, or else a return.

    `None` returns None. `Err{e}` returns `Err{e}` where `result`, the type that the function or closure returns, is a
    `Result`, and None where it is an `Option`.
    """

    operand: Expression
    result: Type
    type: Type
    span: Span


# Control


@dataclass(frozen=True, slots=True)
class IfElse:
    """`if (condition) then else otherwise`; an `if` without `else` has `()` there."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Arm:
    """`pattern -> body`"""

    pattern: Pattern
    body: Expression


@dataclass(frozen=True, slots=True)
class Match:
    """The body of the first arm whose pattern fits; one always does."""

    subject: Expression
    arms: tuple[Arm, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Block:
    """`{a; b}`: at least one expression, the last of which is its value; `{a;}` ends with `()`."""

    expressions: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Declare:
    """`var x = value`, `(var a, var b) = value`: always fits; its own value is `()`.

    An assignment to several places at once is a `Declare` of fresh names and a `SetPlace` for each.
    """

    pattern: Pattern
    value: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be set: a variable, or a part of one. A step is a field's name or a tuple's index."""

    variable: Var
    steps: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SetPlace:
    """`place = value`; its own value is `()`. A field is set in whatever constructor the value has."""

    place: Place
    value: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class For:
    """`for (pattern in iterable) body`; its own value is `()`. What is iterated is what Python's `iter` gives."""

    pattern: Pattern
    iterable: Expression
    body: Expression
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Break:
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Continue:
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`; a bare `return` returns `()`."""

    value: Expression
    type: Type
    span: Span


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
