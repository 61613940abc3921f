"""`oracle_*` on relations that are large for the oracle: tables grow, are emptied and filled again, waves are wide."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.oracle.case import Case
from tests.oracle.history import Transaction, Write
from tests.oracle.read import read
from tests.oracle.types import Row, Value
from tests.properties.check import agrees_with_oracle

CLOSURE = """
input relation Edge(x: TYPE, y: TYPE)
output relation Reach(x: TYPE, y: TYPE)
output relation OneWay(x: TYPE, y: TYPE)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
OneWay(x, y) :- Reach(x, y), not Reach(y, x).
"""
GUARDED_REACH = """
input relation Edge(x: TYPE, y: TYPE)
input relation Start(x: TYPE)
input relation Blocked(x: TYPE)
output relation Reached(x: TYPE)
output relation Lost(x: TYPE)
output relation Hub(x: TYPE)
Reached(x) :- Start(x), not Blocked(x).
Reached(y) :- Reached(x), Edge(x, y), not Blocked(y).
Lost(y) :- Edge(_, y), not Reached(y).
Hub(x) :- Edge(x, y), Edge(x, z), Reached(y), Lost(z).
"""
PAIRS = """
input relation Edge(x: TYPE, y: TYPE)
output relation Pair(x: TYPE, y: TYPE)
output relation Below(x: TYPE, y: TYPE)
output relation Label(text: string)
Pair(x, y) :- Edge(x, _), Edge(y, _).
Below(x, y) :- Edge(x, _), Edge(_, y), x < y, not Edge(x, y).
Label(x ++ ("-" ++ y)) :- Pair(x, y).
"""


def words(rng: random.Random) -> str:
    return "".join(rng.choice("abcdeé") for _ in range(rng.randint(1, 12)))


def any_u64(rng: random.Random) -> int:
    return rng.getrandbits(64)


def any_s100(rng: random.Random) -> int:
    return rng.getrandbits(100) - 2**99


@pytest.mark.parametrize(
    ("text", "nodes", "edges", "type_", "value"),
    [
        (CLOSURE, 60, 110, "string", words),
        (CLOSURE, 70, 130, "u64", any_u64),
        (PAIRS, 110, 130, "string", words),
        (GUARDED_REACH, 1_200, 3_000, "u64", any_u64),
        (GUARDED_REACH, 700, 1_500, "signed<100>", any_s100),
    ],
    ids=["closure of strings", "closure of u64", "pairs of strings", "reach over u64", "reach over signed<100>"],
)
def test_oracle_local_agrees_on_large_relations(
    text: str, nodes: int, edges: int, type_: str, value: Callable[[random.Random], Value]
) -> None:
    rng = random.Random(f"{nodes} {type_}")
    names: list[Value] = sorted({value(rng) for _ in range(nodes)})
    everything: list[tuple[str, Row]] = [("Edge", (rng.choice(names), rng.choice(names))) for _ in range(edges)]
    if "Start" in text:
        everything += [("Start", (name,)) for name in rng.sample(names, 5)]
        everything += [("Blocked", (name,)) for name in rng.sample(names, nodes // 10)]
    everything = sorted(set(everything), key=str)
    rng.shuffle(everything)
    present: set[tuple[str, Row]] = set()
    history = []
    for share in (0.8, 0.02, 0.3, 0.9, 0.5, 1.0):
        touched = rng.sample(everything, round(len(everything) * share))
        history.append(toggle(present, touched))
        present.symmetric_difference_update(touched)
    agrees_with_oracle(Case(read(text.replace("TYPE", type_)), tuple(history)), recounted=True, limit=None)


def toggle(present: set[tuple[str, Row]], touched: list[tuple[str, Row]]) -> Transaction:
    calls: dict[tuple[int, str], list[Row]] = {}
    for name, row in touched:
        calls.setdefault((-1 if (name, row) in present else +1, name), []).append(row)
    return Transaction(tuple(Write(sign, name, tuple(rows)) for (sign, name), rows in calls.items()))
