"""The members of a group → those that decide its least and greatest values, for a proof that does not run in a circle.

    Dist(b, d) :- Dist(a, x), Edge(a, b, w), var d = min(x + w) by (b).

Inside recursion, a member that does not decide may rest on the group itself: the way to `b` over `c` and back. A proof
needs only a member that has the least value. Of several with the same value any will do, so each is a derivation of its
own. Rules inside recursion keep the whole group and read its `min`; the analysis of monotone strata says which member
decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.aggregates.small_group import reader
from tidelog.engine.local.strata.monotone.value_order import key_of
from tidelog.rules.analysis.monotone import Best
from tidelog.rules.ir import AggregateKind, Group

_BEST = (AggregateKind.MIN, AggregateKind.MAX)
_ARGUMENTS = (AggregateKind.ARG_MIN, AggregateKind.ARG_MAX)
MOST_CHOICES = 1000
"""So many combinations of equal members are derivations of their own."""


def is_decided(group: Group) -> bool:
    """True if single members decide the values of the group: all are least or greatest values."""
    return bool(group.aggregates) and all(each.kind in (*_BEST, *_ARGUMENTS) for each in group.aggregates or ())


def best_members(best: Best, members: Mapping[Row, Sequence[Any]]) -> Iterator[tuple[Row, ...]]:
    """Yields each member that has the best value of a group; `members` have values, not words."""
    key = key_of(best.order)
    values = {member: row[best.value] if key is None else key(row[best.value]) for member, row in members.items()}
    is_least = best.smallest or key is not None
    decides = min(values.values()) if is_least else max(values.values())
    for member in islice((member for member, value in values.items() if value == decides), MOST_CHOICES):
        yield (member,)


def winning_members(
    group: Group, row: Sequence[Any], members: Mapping[Row, Sequence[Any]]
) -> Iterator[tuple[Row, ...]]:
    """Yields the choices of members that decide the values of a group's row, one for each aggregate.

    `row` and `members` have values, not words.
    """
    assert group.aggregates is not None
    keys = len(row) - len(group.aggregates)
    winners = []
    for place, aggregate in enumerate(group.aggregates, start=keys):
        read = reader(aggregate, tuple(row[:keys])) if aggregate.kind in _BEST else None
        found = []
        for member, values in members.items():
            value = values[-1] if group.parts == 1 else tuple(values[-group.parts :])
            if (value if read is None else read(value)) == row[place]:
                found.append(member)
        winners.append(found)
    for choice in islice(product(*winners), MOST_CHOICES):
        yield tuple(dict.fromkeys(choice))
