"""Rows whose numbers share one word: after waves head by head, as long as ranks, counts and totals are small."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import tidelog
from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution import row_wise
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage import row_counts, store

CLOSURE = """
input relation A(a: s64, b: s64)
output relation P(a: s64, b: s64)
P(x, y) :- A(x, y).
P(x, z) :- P(x, y), A(y, z).
"""
Facts = set[tuple[int, int]]


@pytest.fixture(autouse=True)
def head_by_head() -> Iterator[None]:
    with mock.patch.multiple(row_wise, FIRST_ROWS=0, PART=1 << 40, MET=0, MOST_LOSS=1 << 60):
        yield


def running(text: str, threads: int = 1) -> LocalEngine:
    engine = LocalEngine(compile_program(Source("<test>", text)).rules, threads=threads)
    engine.open()
    return engine


def insert(relation: str, rows: Facts) -> list[Operation]:
    return [Operation(relation, 1, sorted(rows))]


def numbers(engine: LocalEngine, name: str) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """The rank, count and total of each row."""
    own = engine._store(name)
    lines = own.lines()
    each = (own.ranks_of(lines), own.counts_of(lines), own.totals_of(lines))
    return dict(zip(map(tuple, own.columns_of(lines).tolist()), zip(*(part.tolist() for part in each)), strict=True))


def random_rows(rng: random.Random, width: int) -> row_counts.Words:
    """Rows of two columns in the layout of stores."""
    rows = np.array([[rng.randrange(-5, 5) for _ in range(width)] for _ in range(50)], dtype=np.int64)
    for row in rows:
        row[2] = rng.choice([0, 1, -1, k.PENDING, k.FREED]) << k.STAMP_SHIFT
        row[2] |= rng.randrange(k.SLIM_MASK + 1) << k.RANK_SHIFT | rng.randrange(4)
        total, count = rng.randrange(k.SLIM_MASK + 1), rng.randrange(k.SLIM_MASK + 1)
        row[3:] = row_counts.together(np.array([total]), np.array([count]), wide=width == 2 + k.WIDE_EXTRA)[0]
    return rows


@pytest.mark.parametrize("extra", [k.ROW_EXTRA, k.WIDE_EXTRA])
def test_rows_have_the_same_numbers_in_every_width(extra: int) -> None:
    rows = random_rows(random.Random(extra), 2 + extra)
    slim = row_counts.in_width(rows, 2, 2 + k.SLIM_EXTRA)
    assert slim.shape[1] == 3
    for each in (row_counts.totals, row_counts.counts, row_counts.ranks, row_counts.metas):
        assert each(slim, 2).tolist() == each(rows, 2).tolist()
    assert row_counts.in_width(slim, 2, 2 + extra).tolist() == rows.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_numbers_of_slim_rows_stay_those_of_others(threads: int) -> None:
    rng = random.Random(threads)
    facts = {(rng.randrange(40), rng.randrange(40)) for _ in range(80)}
    slim, usual = running(CLOSURE, threads), running(CLOSURE)
    slim.commit(insert("A", facts))
    with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
        usual.commit(insert("A", facts))
    assert slim._store("P").width == 3
    assert usual._store("P").width == 4
    for turn in range(40):
        assert numbers(slim, "P") == numbers(usual, "P")
        sign = rng.choice([1, -1])
        some = rng.sample(sorted(facts), 2) if sign < 0 else [(rng.randrange(40), rng.randrange(40)) for _ in range(3)]
        change = [Operation("A", sign, some)]
        with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
            outcomes = slim.commit(change), usual.commit(change)
        assert [outcome is None for outcome in outcomes] in ([True, True], [False, False])
        facts = facts | set(some) if sign > 0 else facts - set(some)
        assert turn or slim._store("P").is_slim


def middles(count: int) -> Facts:
    """As many ways from 0 to 1."""
    return {edge for middle in range(2, 2 + count) for edge in ((0, middle), (middle, 1))}


def test_a_total_that_grows_too_large_in_an_update_ends_it() -> None:
    engine, usual = running(CLOSURE), running(CLOSURE)
    engine.commit(insert("A", middles(1000)))
    own = engine._store("P")
    assert own.is_slim
    with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
        usual.commit(insert("A", middles(1000)))
        for last in (1015, 1060, 2500):
            more = middles(last) - middles(1000)
            outcomes = [each.commit(insert("A", more)) for each in (engine, usual)]
            assert all(outcomes)
            assert numbers(engine, "P") == numbers(usual, "P")
            if engine._store("P") is own:
                assert own.is_slim == (last < k.LARGEST_SLIM)
        for each in (engine, usual):
            each.commit([Operation("A", -1, sorted(middles(700)))])
        assert numbers(engine, "P") == numbers(usual, "P")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_total_that_grows_too_large_in_a_bootstrap_ends_it(threads: int) -> None:
    engine, usual = running(CLOSURE, threads), running(CLOSURE)
    engine.commit(insert("A", middles(1500)))
    with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
        usual.commit(insert("A", middles(1500)))
    assert engine._store("P").width == 4
    assert numbers(engine, "P") == numbers(usual, "P")


def test_usual_waves_that_follow_write_usual_rows_in_all_relations() -> None:
    """Also in those of which no row enters with the present wave."""
    text = CLOSURE + "output relation Q(a: s64, b: s64)\nQ(x, y) :- P(x, y), A(y, 3).\nP(x, y) :- Q(x, y), A(y, 70)."
    left: list[tuple[bool, bool]] = []
    end_filling = store.Store.end_filling

    def noted(own: store.Store, batch: store.Lines, *, is_last: bool) -> None:
        end_filling(own, batch, is_last=is_last)
        left.append((is_last, own.is_slim))

    with (
        mock.patch.multiple(row_wise, MOST_LOSS=0, CHANGE=0, AGAIN=0, LISTED=1),
        mock.patch.object(row_wise.RowWise, "pays", return_value=False),
        mock.patch.object(store.Store, "end_filling", noted),
    ):
        engine = running(text, 2)
        engine.commit(insert("A", middles(1500) | set(pairwise(range(1, 30)))))
    assert (False, False) in left
    assert not any(is_slim for is_last, is_slim in left if not is_last)
    usual = running(text)
    with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
        usual.commit(insert("A", middles(1500) | set(pairwise(range(1, 30)))))
    assert numbers(engine, "P") == numbers(usual, "P")


def test_many_waves_end_it() -> None:
    chain = set(pairwise(range(k.FIRST_DEEP + 60)))
    engine, usual = running(CLOSURE), running(CLOSURE)
    engine.commit(insert("A", chain))
    with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
        usual.commit(insert("A", chain))
    assert engine._store("P").width == 4
    assert numbers(engine, "P") == numbers(usual, "P")


def test_many_waves_of_updates_end_it() -> None:
    engine, usual = running(CLOSURE), running(CLOSURE)
    chain = set(pairwise(range(600)))
    engine.commit(insert("A", chain))
    assert engine._store("P").is_slim
    with mock.patch.object(row_wise, "FIRST_ROWS", 1 << 60):
        usual.commit(insert("A", chain))
        for first, last in ((600, 602), (602, 1100)):
            more = set(pairwise(range(first - 1, last)))
            for each in (engine, usual):
                each.commit(insert("A", more))
            assert sorted(numbers(engine, "P")) == sorted(numbers(usual, "P"))
    assert not engine._store("P").is_slim
    assert max(rank for rank, _, _ in numbers(engine, "P").values()) > k.FIRST_DEEP


def test_slim_rows_are_rolled_back_number_by_number() -> None:
    engine = running(CLOSURE + "output relation Q(a: s64)\nQ(10 / x) :- P(x, _).")
    engine.commit(insert("A", {(1, 2), (2, 3), (3, 1), (3, 4)}))
    before = numbers(engine, "P")
    assert engine._store("P").is_slim
    with pytest.raises(tidelog.TidelogError):
        engine.commit([Operation("A", -1, [(3, 1)]), Operation("A", 1, [(4, 0), (0, 5)])])
    assert numbers(engine, "P") == before


def test_a_database_with_slim_rows_opens_again(tmp_path: Path) -> None:
    rng = random.Random(2)
    facts = {(rng.randrange(30), rng.randrange(30)) for _ in range(60)}
    with tidelog.compile(CLOSURE).open(path=tmp_path / "db") as db:
        with db.transaction() as tx:
            tx.insert("A", sorted(facts))
        before = sorted(map(tuple, db.relation("P").rows()))
    with tidelog.open(tmp_path / "db") as db:
        assert sorted(map(tuple, db.relation("P").rows())) == before
        gone = sorted(facts)[:3]
        with db.transaction() as tx:
            tx.delete("A", gone)
        after = sorted(map(tuple, db.relation("P").rows()))
    with tidelog.compile(CLOSURE).open() as db:
        with db.transaction() as tx:
            tx.insert("A", sorted(facts - set(gone)))
        assert sorted(map(tuple, db.relation("P").rows())) == after


@pytest.mark.parametrize("at_once", [3, 1 << 16])
def test_rows_change_their_width_in_their_own_memory(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_AT_ONCE", at_once)
    engine = running(CLOSURE)
    engine.commit(insert("A", set(pairwise(range(20)))))
    own = engine._store("P")
    before = numbers(engine, "P")
    own.versions.is_published = False
    own.widen()
    assert (own.width, numbers(engine, "P")) == (4, before)
    own._make_slim()
    assert (own.width, numbers(engine, "P")) == (3, before)
