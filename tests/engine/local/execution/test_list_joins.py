"""Rules with a cyclic body give the same instances by lists and by leapfrog joins."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from tests.engine.local.execution.test_row_wise import Facts, insert, state

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution import list_joins
from tidelog.engine.local.execution.list_joins import ListJoin
from tidelog.maintain.limits import Limits
from tidelog.plan import leapfrog

INPUTS = """
input relation E(a: s64, b: s64)
input relation F(a: s64, b: s64)
input relation G(a: s64, b: s64, c: s64)
input relation N(a: s64)
"""
CYCLES = (
    "E(x, y), E(y, z), E(z, x)",
    "E(x, y), F(y, z), E(x, z)",
    "E(x, y), E(x, z), F(y, w), F(z, w)",
    "G(x, y, z), E(x, y), F(y, z), E(z, x)",
    "E(x, y), F(y, z), G(z, x, _), N(y)",
    "E(x, y), F(y, z), E(z, w), F(w, x), N(z)",
    "G(x, y, 2), E(y, z), G(z, w, 2), E(w, x)",
    "E(x, y), E(y, x), F(x, z), F(y, z), G(z, z, _)",
    "E(x, y), F(x, y), G(x, z, w), G(y, z, w)",
    "E(x, x), F(x, y), F(y, z), E(z, x)",
)
MORE = ("", ", x < y", ", y != z", ", not F(x, z)", ", not N(y)", ", x < y, y <= z", ", x + y > 3", ", y % 2 == 0")
HEADS = ("(x, y, z)", "(x, z)", "(z, 7)", "(y)", "(z, z, x, y)", "(3, x)")


@contextmanager
def by_lists(threads_yield: int = 1 << 40) -> Iterator[list[bool]]:
    """Joins all cyclic rules by lists, and counts them."""
    begun: list[bool] = []
    begin = ListJoin.begin

    def counting(self: ListJoin) -> bool:
        begun.append(begin(self))
        return begun[-1]

    with (
        mock.patch.multiple(list_joins, LEAST_ROWS=0, LEAPT=1e12, _BUFFER_WORDS=8, _YIELD_AFTER=threads_yield),
        mock.patch.object(ListJoin, "begin", counting),
        mock.patch.object(leapfrog, "SHORT_BUCKET", 0.0),
    ):
        yield begun


def random_facts(rng: random.Random) -> Facts:
    count, factor, offset = rng.randint(3, 9), *rng.choice([(1, 0), (10**15, -7)])

    def rows(columns: int, most: int) -> list[tuple[int, ...]]:
        return sorted({tuple(rng.randrange(count) * factor + offset for _ in range(columns)) for _ in range(most)})

    return {"E": rows(2, 4 * count), "F": rows(2, 4 * count), "G": rows(3, 5 * count), "N": rows(1, count)}


def loaded(text: str, facts: Facts, threads: int = 1) -> LocalEngine:
    engine = LocalEngine(tidelog.compile(text).stages.rules, threads=threads)
    engine.open()
    engine.commit(insert(facts))
    return engine


@pytest.mark.parametrize("seed", range(80))
def test_random_cyclic_rules_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    head = rng.choice(HEADS)
    width = head.count(",") + 1
    body = rng.choice(CYCLES) + rng.choice(MORE)
    rules = [f"P{head} :- {body}."]
    if width == 2 and rng.random() < 0.5:
        rules += ["P(x, z) :- P(x, y), E(y, z).", "P(x, z) :- E(x, y), F(y, z), E(z, x)."]
    text = INPUTS + f"output relation P({', '.join(f'c{i}: s64' for i in range(width))})\n" + "\n".join(rules)
    facts = random_facts(rng)
    deletes = {name: rng.sample(rows, min(len(rows), 3)) for name, rows in facts.items()}
    found = []
    for threads in (0, 1, 2):
        with (
            by_lists(rng.choice([1, 1 << 40])) as begun,
            mock.patch.object(list_joins, "LEAST_ROWS", 0 if threads else 1 << 60),
        ):
            engine = loaded(text, facts, threads or 1)
        assert threads or not any(begun)
        before = state(engine, "P")
        engine.commit([Operation(name, -1, rows) for name, rows in deletes.items()])
        found.append((before, state(engine, "P")))
        engine.close()
    assert found[1:] == found[:1] * 2


def test_most_cycles_are_joined_by_lists() -> None:
    rng = random.Random(1)
    count = 0
    for body in CYCLES:
        with by_lists() as begun:
            loaded(INPUTS + f"output relation P(x: s64, y: s64)\nP(x, y) :- {body}.", random_facts(rng)).close()
        count += any(begun)
    assert count >= 8


def test_a_triangle_is_looked_for_by_marks() -> None:
    edges: list[tuple[int, ...]] = [(i, j) for i in range(60) for j in range(60) if (i * 7 + j * 3) % 5 == 0]
    orders = []
    run = list_joins._Search.run

    def noting(self: list_joins._Search) -> list_joins._Order | None:
        orders.append(run(self))
        return orders[-1]

    with by_lists(), mock.patch.object(list_joins._Search, "run", noting):
        engine = loaded(
            INPUTS + "output relation P(x: s64, y: s64)\nP(x, y) :- E(x, y), E(y, z), E(z, x).", {"E": edges}
        )
    known = set(edges)
    wanted = {(x, y) for x, y in edges for z in range(60) if (y, z) in known and (z, x) in known}
    assert {row for row, _ in engine.rows("P")} == wanted
    (order,) = orders
    assert order is not None
    assert len(order.marked) == 1
    engine.close()


def test_where_lists_cost_more_a_leapfrog_join_runs() -> None:
    text = INPUTS + "output relation P(x: s64, y: s64)\nP(x, y) :- E(x, y), E(y, z), E(z, x)."
    with by_lists() as begun, mock.patch.object(list_joins, "LEAPT", 0.0):
        loaded(text, {"E": [(i, j) for i in range(9) for j in range(9)]}).close()
    assert begun == [False]


def test_too_many_rows_end_the_epoch() -> None:
    edges: list[tuple[int, ...]] = [(i, j) for i in range(40) for j in range(40)]
    text = INPUTS + "output relation P(x: s64, y: s64, z: s64)\nP(x, y, z) :- E(x, y), E(y, z), E(z, x)."
    engine = LocalEngine(tidelog.compile(text).stages.rules, threads=1, limits=Limits(max_rows=10_000))
    engine.open()
    with by_lists(), pytest.raises(EvaluationError, match="P"):
        engine.commit(insert({"E": edges}))
    assert not list(engine.rows("P"))
    assert not list(engine.rows("E"))
    engine.close()
