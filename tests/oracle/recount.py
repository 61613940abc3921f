"""An exported state → the mistakes in it, found by counting every rule instance again.

For each row of a derived relation, with level(d) the highest rank among the body rows of the instance d that belong to
the head's own stratum (0 if there are none), and the input fact an instance of level -1:

    total = number of its instances
    count = number of its instances with level < rank, and at least 1

A row is in the state exactly when its total is at least 1; rows of relations without rules have rank 0.

Where ranks are exact, an instance of level l belongs to iteration l + 1, the rank of a row is its first iteration, and
its count is the number of its instances there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass

from tests.oracle.instances import instances
from tests.oracle.order import in_order
from tests.oracle.program import Program
from tests.oracle.types import Relations, Row


@dataclass(frozen=True, slots=True)
class RowState:
    """What the ranked store keeps of one row; `is_input`: the row is also an input fact."""

    rank: int
    count: int
    total: int
    is_input: bool


State = Mapping[str, Mapping[Row, RowState]]
Iterations = Mapping[str, Mapping[Row, Mapping[int, int]]]


def recount(program: Program, facts: Relations, state: State, ranked: Container[str] | None = None) -> list[str]:
    """One line for each number in the state that is not what counting gives; empty when all is well.

    `ranked` are the relations whose numbers count, if not all do.
    """
    levels = _levels(program, facts, state)
    mistakes = []
    for name in (relation.name for relation in program.relations if ranked is None or relation.name in ranked):
        for row in sorted(levels[name].keys() - state[name].keys()):
            mistakes.append(f"{name}{row} is missing: it has {len(levels[name][row])} instances")
        for row, stored in sorted(state[name].items(), key=lambda item: item[0]):
            found = levels[name].get(row, [])
            is_input = row in facts.get(name, ())
            if stored.is_input != is_input:
                mistakes.append(f"{name}{row}: input fact {stored.is_input}, should be {is_input}")
            if name not in program.derived:
                if stored.rank != 0:
                    mistakes.append(f"{name}{row}: rank {stored.rank} in a relation without rules")
                continue
            count = sum(level < stored.rank or level < 0 for level in found)
            if stored.total != len(found) or stored.count != count or count < 1:
                mistakes.append(f"{name}{row}: {stored}, should be total {len(found)}, count {count} and at least 1")
    return mistakes


def recount_iterations(program: Program, facts: Relations, state: State, counts: Iterations | None = None) -> list[str]:
    """One line for each row whose rank and count are not its first iteration and what it has there.

    With `counts`, which give the number of instances per row and iteration, also for each that is wrong.
    """
    mistakes = []
    for name, of_relation in _levels(program, facts, state).items():
        if name not in program.derived:
            continue
        for row in sorted(of_relation.keys() ^ state[name].keys()):
            mistakes.append(f"{name}{row} is {'missing' if row in of_relation else 'there without an instance'}")
        for row in sorted(of_relation.keys() & state[name].keys()):
            found = dict(sorted(Counter(level + 1 for level in of_relation[row]).items()))
            first, stored = min(found), state[name][row]
            if (stored.rank, stored.count) != (first, found[first]):
                mistakes.append(f"{name}{row}: {stored}, should have rank {first} and count {found[first]}")
            if counts is not None and counts[name].get(row) != found:
                mistakes.append(f"{name}{row}: {counts[name].get(row)} per iteration, should be {found}")
    return mistakes


def _levels(program: Program, facts: Relations, state: State) -> dict[str, dict[Row, list[int]]]:
    """The level of every instance of every row, by the ranks in the state."""
    rows = {name: dict.fromkeys(of_relation, 1) for name, of_relation in state.items()}
    component = {name: number for number, names in enumerate(in_order(program)) for name in names}
    levels: dict[str, dict[Row, list[int]]] = {relation.name: {} for relation in program.relations}
    for rule in program.rules:
        own = component[rule.head.relation]
        for head, body, _ in instances(rule, rows):
            level = max((state[name][row].rank for name, row in body if component[name] == own), default=0)
            levels[rule.head.relation].setdefault(head, []).append(level)
    for name, of_relation in facts.items():
        for row in of_relation:
            levels[name].setdefault(row, []).append(-1)
    return levels
