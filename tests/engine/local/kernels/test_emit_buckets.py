"""Instances that repeat are counted in the buffer, and totals and counts are what counting each by itself gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels import emit_buckets
from tidelog.engine.local.kernels import layout as k

NODES = 130
LEFT, RIGHT = "A", "B"
PROGRAM = """
    input relation A(x: u32, y: u32)
    input relation B(y: u32, z: u32)
    output relation Pair(x: u32, z: u32)
    output relation Turned(z: u32, one: u32, x: u32)
    output relation First(x: u32)
    output relation Wide(x: u32, a: u32, b: u32, z: u32)
    Pair(x, z) :- A(x, y), B(y, z).
    Turned(z, 1, x) :- A(x, y), B(y, z).
    First(x) :- A(x, y), B(y, z).
    Wide(x, 7, 8, z) :- A(x, y), B(y, z).
"""
Matrix = npt.NDArray[np.int64]


def totals(engine: LocalEngine, relation: str, width: int) -> dict[tuple[int, ...], int]:
    state = engine.state_table(relation)
    columns = [state.column(column).to_pylist() for column in range(width)]
    counts, found = state["_count"].to_pylist(), state["_total"].to_pylist()
    assert counts == found, "every instance is from below"
    return dict(zip(zip(*columns), found))


def check(engine: LocalEngine, left: Matrix, right: Matrix) -> None:
    ways = left @ right  # how many y there are for each x and z
    pairs = {(int(x), int(z)): int(ways[x, z]) for x, z in np.argwhere(ways)}
    assert totals(engine, "Pair", 2) == pairs
    assert totals(engine, "Turned", 3) == {(z, 1, x): ways for (x, z), ways in pairs.items()}
    assert totals(engine, "First", 1) == {(int(x),): int(ways[x].sum()) for x in np.flatnonzero(ways.sum(axis=1))}
    assert totals(engine, "Wide", 4) == {(x, 7, 8, z): ways for (x, z), ways in pairs.items()}


@pytest.mark.parametrize("threads", [1, 2])
def test_totals_are_those_of_a_matrix_product(threads: int) -> None:
    """More heads than a buffer holds, dozens of instances each: all at once, and when a part leaves and returns."""
    random = np.random.default_rng(5)
    left: Matrix = (random.random((NODES, NODES)) < 0.5).astype(np.int64)
    right: Matrix = (random.random((NODES, NODES)) < 0.5).astype(np.int64)
    assert np.count_nonzero(left @ right) > 2 * k.OUT_ROWS
    assert (left @ right).sum() > 10 * NODES * NODES
    engine = LocalEngine(tidelog.compile(PROGRAM).stages.rules, threads=threads, switch=5.0, track_state=True)
    engine.open()
    rows = {name: list(map(tuple, np.argwhere(matrix).tolist())) for name, matrix in ((LEFT, left), (RIGHT, right))}
    engine.commit([Operation(name, +1, table) for name, table in rows.items()])
    check(engine, left, right)
    gone = [rows[LEFT][place] for place in random.permutation(len(rows[LEFT]))[: len(rows[LEFT]) // 10].tolist()]
    without = left.copy()
    without[tuple(np.array(gone).T)] = 0
    outcome = engine.commit([Operation(LEFT, -1, gone)])
    assert outcome is not None
    assert {stratum.strategy for stratum in outcome.report.strata} == {"update"}
    check(engine, without, right)
    engine.commit([Operation(LEFT, +1, gone)])
    check(engine, left, right)
    engine.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_counting_repeats_pauses_and_goes_on(threads: int) -> None:
    """First come more instances without repeats than the pause is long, then dense ones, then both again."""
    random = np.random.default_rng(6)
    sparse, dense, width = 500, 150, 400
    plain = emit_buckets.PLAIN_BUFFERS * k.OUT_ROWS
    left: Matrix = np.zeros((sparse + dense, sparse + dense), dtype=np.int64)
    left[:sparse, :sparse] = np.eye(sparse, dtype=np.int64)
    left[sparse:, sparse:] = random.random((dense, dense)) < 0.9
    right: Matrix = (random.random((sparse + dense, width)) < 0.9).astype(np.int64)
    assert (left[:sparse] @ right).sum() > plain, "the pause ends while nothing repeats"
    assert (left @ right).sum() > 10 * plain
    pair = """
        input relation A(x: u32, y: u32)
        input relation B(y: u32, z: u32)
        output relation Pair(x: u32, z: u32)
        Pair(x, z) :- A(x, y), B(y, z).
    """
    engine = LocalEngine(tidelog.compile(pair).stages.rules, threads=threads, track_state=True)
    engine.open()
    engine.commit([Operation(RIGHT, +1, list(map(tuple, np.argwhere(right).tolist())))])
    engine.commit([Operation(LEFT, +1, list(map(tuple, np.argwhere(left).tolist())))])
    ways = left @ right
    assert totals(engine, "Pair", 2) == {(int(x), int(z)): int(ways[x, z]) for x, z in np.argwhere(ways)}
    engine.close()


def test_counting_repeats_is_given_up_where_few_repeat() -> None:
    lines = k.OUT_ROWS
    few, many = lines // emit_buckets.WORTH_COMBINING - 1, lines // emit_buckets.WORTH_COMBINING
    assert emit_buckets.combine_next(1, lines, many) == 1
    assert emit_buckets.combine_next(1, lines, few) == emit_buckets.PLAIN_BUFFERS
    assert emit_buckets.combine_next(1, lines - 1, 0) == 1, "too little to judge by"
    assert emit_buckets.combine_next(emit_buckets.PLAIN_BUFFERS, lines, 0) == emit_buckets.PLAIN_BUFFERS - 1
    assert emit_buckets.combine_next(2, lines, 0) == 1, "it is tried again"
    assert emit_buckets.combine_next(0, lines, 0) == 0, "other strategies take each instance by itself"


def test_repeats_count_against_the_room_in_the_totals() -> None:
    """A relation becomes wide before what a few rows of a buffer stand for could outgrow 31 bits."""
    engine = LocalEngine(tidelog.compile(PROGRAM).stages.rules, track_state=True)
    engine.open()
    first = next(store for store in engine._catalog.stores if store.columns == 1)
    first.line[k.COUNT_ROOM] = 50
    engine.commit([Operation(LEFT, +1, [(1, y) for y in range(30)]), Operation(RIGHT, +1, [(y, 1) for y in range(30)])])
    assert totals(engine, "First", 1) == {(1,): 30}
    engine.commit([Operation(RIGHT, +1, [(y, z) for y in range(30) for z in range(2, 40)])])
    assert totals(engine, "First", 1) == {(1,): 30 * 39}
    engine.close()
