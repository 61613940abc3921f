"""Ways through typed expressions and patterns."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.check.typed.nodes import (
    Binary,
    Block,
    Break,
    Call,
    CallValue,
    Cast,
    Closure,
    Construct,
    Continue,
    Declare,
    Deref,
    Expression,
    Field,
    For,
    FunctionValue,
    IfElse,
    Lit,
    MakeMap,
    MakeRef,
    MakeTuple,
    MakeVec,
    Match,
    Place,
    Return,
    SetPlace,
    ToString,
    Try,
    TupleItem,
    Unary,
    Var,
)
from tidelog.check.typed.patterns import AsPattern, BindPattern, ConstructPattern, Pattern, TuplePattern


def children(expression: Expression) -> tuple[Expression, ...]:
    """Returns the direct sub-expressions, in the order of evaluation; the body of a closure is one of them."""
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
    """Yields the expression and everything below it, each before what is below it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def variables(expression: Expression) -> frozenset[str]:
    """Returns the names of the variables that the expression takes from its surroundings."""
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
    """Returns the place that an expression names, or None when it is not one."""
    steps: list[str | int] = []
    while isinstance(expression, Field | TupleItem):
        steps.append(expression.name if isinstance(expression, Field) else expression.index)
        expression = expression.operand
    return Place(expression, tuple(reversed(steps))) if isinstance(expression, Var) else None


# Ways through a pattern


def subpatterns(pattern: Pattern) -> Iterator[Pattern]:
    """Yields the pattern and everything below it, in the order of the text."""
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
    """Returns the parts of a pattern that declare variables, in the order of the text."""
    return tuple(each for each in subpatterns(pattern) if isinstance(each, BindPattern | AsPattern))
