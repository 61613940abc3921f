"""Typed expressions: what `check` makes of the expressions of functions and rules, and what `functions` compiles.

Every node carries its type and its span. Names, overloads, literal widths, implicit conversions and implicit `Ref`s are
settled here, so that a compiler of expressions only reads. What it may rely on:

- **Variables.** Inside one function or one rule every name is declared once: by a parameter, a `Declare`, a pattern of
  a `Match` or `For`, or a parameter of a `Closure`. What shadows something is renamed (`x#1`), so blocks need no
  scopes. A closure reads the variables around it and never sets them.
- **Calls** name one function of `TypedProgram.functions`. `type_arguments` are the types of the callee's type variables
  in the order of its `type_parameters`; inside a generic function they may be type variables of that function.
- **Mutation.** An argument for a `mut` parameter is a place: a `Var`, or `Field`s and `TupleItem`s around one (`place`
  reads it). After the call the place holds the parameter's new value. Where a variable of a `match` arm stands for a
  part of a mutable value, `check` writes the `SetPlace` that carries a change back.
- **`Ref` and `Intern`** hold exactly one value and are it: `Deref` and `MakeRef` only change the type.
- **Control.** `Break`, `Continue` and `Return` may stand anywhere inside an expression, also in arguments; their type
  is whatever their place wants. `Return` and `Try` leave the innermost closure, or the function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.check.types import Type
from tidelog.diagnostics.spans import Span

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


# Patterns. `Ref` and `Intern` leave no trace in them: a pattern inside one has the type of the value inside.


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


# Ways through an expression


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct sub-expressions, in the order of evaluation; the body of a closure is one of them."""
    match expression:
        case Var() | Lit() | FunctionValue() | Break() | Continue():
            return ()
        case (
            Unary(operand=operand)
            | Cast(operand=operand)
            | ToString(operand=operand)
            | Deref(operand=operand)
            | MakeRef(operand=operand)
            | Field(operand=operand)
            | TupleItem(operand=operand)
            | Try(operand=operand)
        ):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case IfElse(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Call(arguments=below) | Construct(arguments=below) | MakeTuple(items=below) | MakeVec(items=below):
            return below
        case CallValue(function=function, arguments=arguments):
            return (function, *arguments)
        case MakeMap(entries=entries):
            return tuple(side for entry in entries for side in entry)
        case Match(subject=subject, arms=arms):
            return (subject, *(arm.body for arm in arms))
        case Block(expressions=expressions):
            return expressions
        case Declare(value=value) | SetPlace(value=value) | Return(value=value):
            return (value,)
        case For(iterable=iterable, body=body):
            return (iterable, body)
        case Closure(body=body):
            return (body,)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, each before what is below it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def variables(expression: Expression) -> frozenset[str]:
    """The names of the variables that the expression takes from its surroundings."""
    read: set[str] = set()
    own: set[str] = set()
    for node in walk(expression):
        match node:
            case Var(name):
                read.add(name)
            case SetPlace(place=place):
                read.add(place.variable.name)
            case Declare(pattern=pattern) | For(pattern=pattern):
                own.update(each.name for each in bindings(pattern))
            case Match(arms=arms):
                own.update(each.name for arm in arms for each in bindings(arm.pattern))
            case Closure(parameters=parameters):
                own.update(parameter.name for parameter in parameters)
            case _:
                pass
    return frozenset(read - own)


def may_fail(expression: Expression) -> bool:
    """True when evaluation can raise: a call, or a division or a remainder, unless by a literal other than zero."""
    return any(
        isinstance(node, Call | CallValue)
        or (
            isinstance(node, Binary)
            and node.op in ("/", "%")
            and not (isinstance(node.right, Lit) and node.right.value != 0)
        )
        for node in walk(expression)
    )


def place(expression: Expression) -> Place | None:
    """The place that an expression names, or None when it is not one."""
    steps: list[str | int] = []
    while isinstance(expression, Field | TupleItem):
        steps.append(expression.name if isinstance(expression, Field) else expression.index)
        expression = expression.operand
    return Place(expression, tuple(reversed(steps))) if isinstance(expression, Var) else None


# Ways through a pattern


def subpatterns(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything below it, in the order of the text."""
    stack = [pattern]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case TuplePattern(below) | ConstructPattern(fields=below):
                stack.extend(reversed(below))
            case AsPattern(pattern=inner):
                stack.append(inner)
            case _:
                pass


def bindings(pattern: Pattern) -> tuple[BindPattern | AsPattern, ...]:
    """The parts of a pattern that declare variables, in the order of the text."""
    return tuple(each for each in subpatterns(pattern) if isinstance(each, BindPattern | AsPattern))
