"""The members of an aggregate over rows → those that contribute most to it, for an explanation.

A sum has the members whose numbers are largest, with or without a sign; a least or greatest value has the member that
it comes from; a count has any. The first aggregate of the group decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.aggregates.small_group import reader
from tidelog.engine.proof import SHOWN_CONTRIBUTIONS
from tidelog.rules.ir import Aggregate, AggregateKind, Group, Variable

_SUMS = (AggregateKind.SUM, AggregateKind.TOTAL)


def largest_contributions(
    group: Group, members: Mapping[Row, Sequence[Any]], weights: Mapping[Row, int]
) -> Sequence[Row]:
    """Returns the members with the largest contributions, the largest first; `members` have their values."""
    assert group.aggregates is not None
    if not members:
        return []
    keys = sum(isinstance(term, Variable) for term in group.atom.terms)
    own_key = tuple(next(iter(members.values()))[:keys])
    order = _order(group.aggregates, own_key, group.parts)

    def place(member: Row) -> tuple[Any, ...]:
        values = members[member]
        return (*order(values, weights[member]), *values)

    return nsmallest(SHOWN_CONTRIBUTIONS, members, key=place)


def _order(
    aggregates: Sequence[Aggregate], key: tuple[Any, ...], parts: int
) -> Callable[[Sequence[Any], int], tuple[Any, ...]]:
    """Returns the function by which members are sorted: their values, and their weight."""
    first = next((each for each in aggregates if each.kind is not AggregateKind.COUNT), None)
    if first is None:
        return lambda values, weight: ()
    read = reader(first, key)

    def number(values: Sequence[Any]) -> Any:
        value = values[-1] if parts == 1 else tuple(values[-parts:])
        return value if read is None else read(value)

    if first.kind is AggregateKind.MIN:
        return lambda values, weight: (number(values),)
    if first.kind is AggregateKind.MAX:
        return lambda values, weight: (_Reversed(number(values)),)
    if first.kind in _SUMS:
        return lambda values, weight: (-abs(number(values) * weight),)
    return lambda values, weight: (-int(number(values)),)


class _Reversed:
    """A value that comes before all that are less."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other._value < self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self._value == other._value)

    __hash__ = None  # type: ignore[assignment]
