"""An exported ranked state → the mistakes in it, found by counting every rule instance again.

For each row of a derived relation, with level(d) the highest rank among the body rows of the instance d that belong to
the head's own stratum (0 if there are none), and the input fact an instance of level -1:

    total = number of its instances
    count = number of its instances with level < rank, and at least 1

A row is in the state exactly when its total is at least 1; rows of relations without rules have rank 0.
"""

from __future__ import annotations

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


def recount(program: Program, facts: Relations, state: State, ranked: Container[str] | None = None) -> list[str]:
    """One line for each number in the state that is not what counting gives; empty when all is well.

    `ranked` are the relations whose numbers count, if not all do.
    """
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
