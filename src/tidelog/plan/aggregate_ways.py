"""How each aggregate of a group is maintained, and what of it Python runs.

COUNT   the number of members
TOTAL   a sum of words, modulo the width of its type
WIDE    an exact sum of words, which must fit into its type
BEST    the first or the last member in some order
EXACT   an exact sum of floating-point numbers
WHOLE   a function that Python runs on all values of a group
"""

from __future__ import annotations

from enum import Enum

from tidelog.check import typed
from tidelog.plan.plain import is_plain
from tidelog.rules.ir import Aggregate, AggregateKind
from tidelog.types import FloatType, Type, is_word


class Way(Enum):
    """How an aggregate is maintained; see the module."""

    COUNT = "count"
    TOTAL = "total"
    WIDE = "wide"
    BEST = "best"
    EXACT = "exact"
    WHOLE = "whole"


def way_of(aggregate: Aggregate) -> Way:
    """Returns how an aggregate is maintained."""
    match aggregate.kind:
        case AggregateKind.COUNT:
            return Way.COUNT
        case AggregateKind.COUNT_IF:
            return Way.TOTAL
        case AggregateKind.SUM:
            if isinstance(aggregate.variable.type, FloatType):
                return Way.EXACT
            return Way.TOTAL if is_word(aggregate.variable.type) else Way.WHOLE
        case AggregateKind.TOTAL:
            added = added_type(aggregate)
            return Way.WIDE if is_word(aggregate.variable.type) and is_word(added) else Way.WHOLE
        case AggregateKind.JOIN:
            return Way.WHOLE
        case _:
            return Way.BEST


def added_type(aggregate: Aggregate) -> Type:
    """Returns the type of the numbers that a total adds."""
    return aggregate.parameters[0].type if aggregate.of is None else aggregate.of.type


def reads_in_python(aggregate: Aggregate) -> bool:
    """True if Python evaluates the aggregate's function, once for each distinct value."""
    return aggregate.of is not None and any(not _is_in_kernels(each) for each in _items(aggregate.of))


def _items(expression: typed.Expression) -> tuple[typed.Expression, ...]:
    if not isinstance(expression, typed.MakeTuple):
        return (expression,)
    return tuple(part for item in expression.items for part in _items(item))


def _is_in_kernels(expression: typed.Expression) -> bool:
    return isinstance(expression, typed.Var) or (is_plain(expression) and is_word(expression.type))
