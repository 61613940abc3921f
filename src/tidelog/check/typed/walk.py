"""Ways through typed expressions and patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, get_args

from tidelog.check.typed import nodes as n
from tidelog.check.typed.nodes import Expression
from tidelog.check.typed.patterns import AsPattern, BindPattern, ConstructPattern, Pattern, TuplePattern
from tidelog.types import DecimalType, FloatType, ScaledType

_EXPRESSIONS = frozenset(get_args(Expression))
_NO_CHILDREN = ("type", "span", "captured")
_PLAIN = ("Value", "int", "str", "tuple[Type, ...]")


def children(expression: Expression) -> list[Expression]:
    """Returns the direct sub-expressions, in the order of evaluation; the body of a closure is one of them."""
    found: list[Any] = []
    kind: type = type(expression)
    for name in _fields(kind):
        value = getattr(expression, name)
        for each in value if type(value) is tuple else (value,):
            if type(each) in _EXPRESSIONS:
                found.append(each)
            elif type(each) is n.Arm:
                found.append(each.body)
            elif type(each) is tuple:  # the key and the value of an entry
                found += each
    return found


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Returns the fields of a kind of nodes that may hold children, in their order: that of evaluation."""
    return tuple(each.name for each in fields(kind) if each.name not in _NO_CHILDREN and each.type not in _PLAIN)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields the expression and everything below it, each before what is below it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def rebuilt(node: Expression, each: Callable[[Expression], Expression]) -> Expression:
    """Returns the node with other children: those of its fields that are expressions, in their order."""

    def of(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(of, part))
        if isinstance(part, n.Arm):
            return replace(part, body=each(part.body))
        return each(part) if isinstance(part, Expression) else part

    return replace(node, **{field.name: of(getattr(node, field.name)) for field in fields(node)})


def variables(expression: Expression) -> frozenset[str]:
    """Returns the names of the variables that the expression takes from its surroundings."""
    read, own = _names(expression)
    return frozenset(read - own)


def declared(expression: Expression) -> set[str]:
    """Returns the names of the variables that are declared inside the expression."""
    return _names(expression)[1]


def captured(parameters: Sequence[n.ClosureParameter], body: Expression) -> tuple[n.Var, ...]:
    """Returns the variables that a closure takes from its surroundings, in the order of mention."""
    outside = variables(body) - {parameter.name for parameter in parameters}
    found: dict[str, n.Var] = {}
    for node in walk(body):
        if isinstance(node, n.Var) and node.name in outside:
            found.setdefault(node.name, node)
    return tuple(found.values())


def _names(expression: Expression) -> tuple[set[str], set[str]]:
    """Returns the variables that an expression reads or sets, and those that it declares."""
    read: set[str] = set()
    own: set[str] = set()
    for node in walk(expression):
        match node:
            case n.Var(name):
                read.add(name)
            case n.SetPlace(place=place):
                read.add(place.variable.name)
            case n.Declare(pattern=pattern) | n.For(pattern=pattern):
                own.update(each.name for each in bindings(pattern))
            case n.Match(arms=arms):
                own.update(each.name for arm in arms for each in bindings(arm.pattern))
            case n.Closure(parameters=parameters):
                own.update(parameter.name for parameter in parameters)
            case _:
                pass
    return read, own


def may_fail(expression: Expression) -> bool:
    """True when evaluation can raise: a call, or a division or a remainder, unless by a literal other than zero, or
    arithmetic that checks its results."""
    return any(
        isinstance(node, n.Call | n.CallValue)
        or is_checked(node)
        or (
            isinstance(node, n.Binary)
            and node.op in ("/", "%")
            and not (isinstance(node.right, n.Lit) and node.right.value != 0)
        )
        for node in walk(expression)
    )


def is_checked(node: Expression) -> bool:
    """True for arithmetic whose result may be no value of its type: that of dates, times and decimals."""
    if isinstance(node, n.Cast):
        return DecimalType in (type(node.type), type(node.operand.type)) and not isinstance(node.type, FloatType)
    if isinstance(node, n.Units) and node.is_bounded:
        return False
    return isinstance(node, n.Binary | n.Units) and isinstance(node.type, ScaledType)


def place(expression: Expression) -> n.Place | None:
    """Returns the place that an expression names, or None when it is not one."""
    steps: list[str | int] = []
    while isinstance(expression, n.Field | n.TupleItem):
        steps.append(expression.name if isinstance(expression, n.Field) else expression.index)
        expression = expression.operand
    return n.Place(expression, tuple(reversed(steps))) if isinstance(expression, n.Var) else None


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
