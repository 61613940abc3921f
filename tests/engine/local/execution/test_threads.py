"""Waves that several threads share give the rows, and the numbers, that one thread gives."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution import threads
from tidelog.engine.local.kernels import layout as k
from tidelog.maintain.limits import Limits

EDGES = "input relation Edge(a: u32, b: u32)\ninput relation Off(a: u32)\n"
PROGRAMS = {
    "linear": EDGES
    + """
        output relation Reach(a: u32, b: u32)
        Reach(x, y) :- Edge(x, y).
        Reach(x, z) :- Reach(x, y), Edge(y, z).
    """,
    "non-linear, two heads, negation and conditions": EDGES
    + """
        output relation Reach(a: u32, b: u32)
        output relation Back(a: u32, b: u32)
        output relation Far(a: u32, b: u32, c: u32)
        Reach(x, y) :- Edge(x, y), not Off(x).
        Reach(x, z) :- Reach(x, y), Reach(y, z), not Off(y).
        Back(z, x) :- Reach(x, y), Reach(y, z), x != z.
        Reach(x, y) :- Back(x, y), x < 3.
        Far(x, y, z) :- Reach(x, y), Edge(y, z), x + z > 100.
    """,
    "rows looked up while others are made": EDGES
    + """
        output relation Reach(a: u32, b: u32)
        output relation Round(a: u32, b: u32, c: u32)
        Reach(x, y) :- Edge(x, y).
        Reach(x, z) :- Reach(x, y), Edge(y, z).
        Round(x, y, z) :- Reach(x, y), Reach(y, z), Reach(z, x), x < 20, z < 20.
        Reach(x, y) :- Round(x, _, y), Reach(y, x), Round(y, _, x).
    """,
    "an expression in Python": EDGES
    + """
        output relation Reach(a: u32, b: u32)
        output relation Text(t: string)
        Reach(x, y) :- Edge(x, y).
        Reach(x, z) :- Reach(x, y), Edge(y, z).
        Text("${x}") :- Reach(x, _).
    """,
    "one round": EDGES
    + """
        output relation Pair(a: u32, b: u32)
        output relation Both(a: u32)
        Pair(x, y) :- Edge(x, _), Edge(y, _), x < y.
        Both(x) :- Edge(x, _), Edge(_, x).
    """,
}


@pytest.fixture(autouse=True)
def even_small_waves_are_shared() -> Iterator[None]:
    with mock.patch.object(threads, "SHARE_FROM", 1):
        yield


def running(text: str, threads: int, **options: Any) -> LocalEngine:
    engine = LocalEngine(tidelog.compile(text).stages.rules, threads=threads, **options)
    engine.open()
    return engine


def state(engine: LocalEngine, relation: str) -> list[tuple[Any, ...]]:
    """The rows of a relation with their numbers."""
    return sorted(tuple(row.values()) for row in engine.state_table(relation).to_pylist())


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_state_is_that_of_one_thread(name: str, threads: int) -> None:
    rng = random.Random(threads)
    edges = sorted({(rng.randrange(140), rng.randrange(140)) for _ in range(420)})
    engines = [running(PROGRAMS[name], count, strategy="recompute") for count in (1, threads)]
    relations = [each.name for each in engines[0].program.relations.values() if "#" not in each.name]
    held: set[tuple[int, int]] = set()
    for share in (0.5, 1.0, 0.1):
        wanted = {edge for edge in edges if rng.random() < share}
        operations = [
            Operation("Edge", 1, sorted(wanted - held)),
            Operation("Edge", -1, sorted(held - wanted)),
            Operation("Off", 1, [(rng.randrange(140),)]),
        ]
        outcomes = [engine.commit(operations) for engine in engines]
        held = wanted
        for relation in relations:
            if relation != "Text":
                assert state(engines[0], relation) == state(engines[1], relation)
            assert sorted(engines[0].rows(relation)) == sorted(engines[1].rows(relation))
        alone, shared = (outcome for outcome in outcomes if outcome is not None)
        assert [each.instances for each in alone.report.strata] == [each.instances for each in shared.report.strata]
    for engine in engines:
        engine.close()


def test_lines_that_threads_took_and_did_not_need_are_used_later() -> None:
    engine = running(PROGRAMS["linear"], 2)
    engine.commit([Operation("Edge", 1, [(i, i + 1) for i in range(60)])])
    used = engine._store("Reach").line[k.USED]
    engine.commit([Operation("Edge", 1, [(60, 61)])])
    assert engine._store("Reach").line[k.USED] == used
    assert engine.count("Reach") == 61 * 62 // 2


def test_a_division_by_zero_in_one_thread_ends_the_epoch_in_all() -> None:
    text = EDGES + "output relation Ratio(a: u32, q: u32)\nRatio(x, 1000 / y) :- Edge(x, y).\n"
    engine = running(text, 2)
    with pytest.raises(EvaluationError, match=r"division by zero, with .*, in the rule `Ratio") as caught:
        engine.commit([Operation("Edge", 1, [(i, (i + 1) % 3000) for i in range(3000)])])
    assert caught.value.code == "E601"
    assert engine.count("Edge") == engine.count("Ratio") == 0
    engine.commit([Operation("Edge", 1, [(i, i + 1) for i in range(3000)])])
    assert engine.count("Ratio") == 3000


def test_limits_hold_in_shared_waves() -> None:
    text = """
        input relation Start(n: bit<64>)
        output relation N(n: bit<64>)
        N(n) :- Start(n).
        N(n + 1) :- N(n), n < 1000000000000.
    """
    engine = running(text, 2, limits=Limits(deadline=0.3))
    with pytest.raises(EvaluationError, match=r"deadline of 0.3 s, while the rule `N\(n \+ 1\)"):
        engine.commit([Operation("Start", 1, [(i * 1_000_000,) for i in range(500)])])
    assert engine.count("N") == 0


def test_a_closed_engine_leaves_no_thread_behind() -> None:
    engine = running(PROGRAMS["linear"], 2)
    engine.commit([Operation("Edge", 1, [(1, 2), (2, 3)])])
    assert any(thread.name.startswith("tidelog") for thread in threading.enumerate())
    before = threading.active_count()
    engine.close()
    assert threading.active_count() < before


def test_processor_time_is_that_of_all_threads_while_they_run_parts() -> None:
    spent: dict[int, float] = {}
    pool = threads.ThreadPool(3)

    def part(me: int) -> int:
        spent[threading.get_ident()] = spent.get(threading.get_ident(), 0.0) + 10.0**me
        return me

    def thread_time() -> float:
        return spent.get(threading.get_ident(), 0.0)

    with mock.patch.object(threads, "thread_time", thread_time):
        before = pool.processor_seconds
        assert pool.run(part) == [0, 1, 2]
        assert pool.processor_seconds - before == 111.0
    pool.close()
