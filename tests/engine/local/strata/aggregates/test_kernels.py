"""Aggregates by kernels beside the same ones in Python: all types, many small groups and a few large ones, deletes of
the best, failures and reopenings. Both have to agree with each other after every epoch."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.local.run import Running
from tests.engine.local.strata.aggregates.history import change_at_random

import tidelog
from tidelog.engine.local.kernels import group_table as kernels
from tidelog.engine.local.strata.aggregates import instructions, stratum
from tidelog.engine.local.strata.aggregates.stratum import AggregateStratum
from tidelog.plan.aggregate_ways import Way

Make = Callable[[random.Random], Any]
TYPES: dict[str, Make] = {
    "u64": lambda rng: rng.choice([rng.randrange(5), (1 << 64) - 1 - rng.randrange(5)]),
    "s64": lambda rng: rng.choice([rng.randrange(-3, 3), -(1 << 63), (1 << 63) - 1]),
    "u8": lambda rng: rng.randrange(256),
    "s16": lambda rng: rng.randrange(-(1 << 15), 1 << 15),
    "u128": lambda rng: rng.choice([rng.randrange(5), (1 << 128) - 1 - rng.randrange(5)]),
    "bigint": lambda rng: rng.randrange(-(1 << 80), 1 << 80),
}
ORDERED: dict[str, Make] = {
    **TYPES,
    "bool": lambda rng: rng.random() < 0.5,
    "string": lambda rng: rng.choice(["", "a", "b", "ab", "ä", "zz"]) * rng.randrange(3),
    "double": lambda rng: rng.choice([0.5, -2.25, float("inf"), float("nan"), rng.random()]),
    "float": lambda rng: rng.choice([0.5, -0.0, 1.5e10, -(2.0**-149), 16777216.0, float("-inf")]),
    "(u8, string)": lambda rng: (rng.randrange(3), rng.choice("xyz")),
}


def program_of(type_: str) -> str:
    """Returns the program that has every aggregate that values of the type have."""
    numbers = ", sum: " + type_ if type_ in {*TYPES, "double", "float"} else ""
    summed = ", g.sum_of(|t| t.1)" if numbers else ""
    return f"""import group
    input relation A(k: string, j: u8, i: u32, x: {type_})
    output relation Each(k: string, j: u8, n: u64, odd: u64, first: (u32, {type_}), last: (u32, {type_}),
        most: {type_}, biggest: (u32, {type_}){numbers})
    output relation Coarse(k: string, n: u64, least: {type_}, most: {type_})
    output relation Fine(k: string, j: u8, n: u64, most: {type_})
    Each(k, j, g.count_distinct(), g.count(|t| (t.0 & 1) == 1), g.arg_min(|t| t.1), g.arg_max(|t| (t.1, t.0 % 3)),
        g.arg_max(|t| t.1).1, g.max(){summed}) :- A(k, j, i, x), var g = (i, x).group_by((k, j)).
    Coarse(k, g.count_distinct(), g.min(), g.max()) :- A(k, _, _, x), var g = x.group_by(k).
    Fine(k, j, g.count_distinct(), g.max()) :- A(k, j, _, x), var g = x.group_by((k, j)).
    """


def rows_of(db: tidelog.Database) -> dict[str, list[Any]]:
    return {name: sorted(map(repr, db.relation(name).rows())) for name in ("Each", "Coarse", "Fine")}


@pytest.mark.parametrize("type_", sorted(ORDERED))
@pytest.mark.parametrize("kept_from", [4, 1024])
def test_kernels_agree_with_python_in_every_type(
    type_: str, kept_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stratum, "KEPT_FROM", kept_from)
    rng = random.Random(f"{type_}, {kept_from}")

    def random_row(rng: random.Random) -> tuple[Any, ...]:
        return rng.choice(["a", "b", "c"]), rng.randrange(3), rng.randrange(300), ORDERED[type_](rng)

    program = tidelog.compile(program_of(type_))
    with monkeypatch.context() as patch:
        patch.setattr(instructions, "way_of", lambda _: Way.WHOLE)
        beside = program.open()
        with beside.transaction() as tx:
            tx.insert("A", [("a", 1, 1, ORDERED[type_](rng))])
        with beside.transaction() as tx:
            tx.delete("A", list(beside.relation("A").rows()))
    db = program.open(path=tmp_path / "db")
    held: set[Any] = set()
    for number in range(24):
        counts = (120,) if number == 0 else (1, 1, 2, 25)
        before = held
        held = change_at_random(db, "A", held, rng, random_row, counts, fails=number % 6 == 3)
        with beside.transaction() as tx:
            tx.delete("A", sorted(before - held, key=repr))
            tx.insert("A", sorted(held - before, key=repr))
        assert rows_of(db) == rows_of(beside)
        if number in (8, 16):
            db.close()
            db = tidelog.open(tmp_path / "db")
    db.close()
    beside.close()


SALES = """import group
input relation Sale(id: u32, shop: u32, day: u32, price: u64)
output relation Out(shop: u32, day: u32, n: u64, sum: u64, most: u64, best: (u32, u64))
Out(s, d, g.count_distinct(), g.sum_of(|t| t.1), g.arg_max(|t| t.1).1, g.arg_min(|t| t.1)) :-
    Sale(id, s, d, p), var g = (id, p).group_by((s, d)).
"""


def sales_expected(sales: dict[int, tuple[int, int, int]]) -> set[tuple[Any, ...]]:
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, (shop, day, price) in sales.items():
        groups.setdefault((shop, day), []).append((number, price))
    return {
        (*key, len(own), sum(p for _, p in own), max(p for _, p in own), min(own, key=lambda each: (each[1], each[0])))
        for key, own in groups.items()
    }


def test_many_small_groups_that_come_and_go() -> None:
    rng = np.random.default_rng(1)
    running = Running(SALES)
    held: dict[int, tuple[int, int, int]] = {}
    for round_ in range(12):
        gone = rng.choice(sorted(held), size=len(held) // 3, replace=False).tolist() if held else []
        new = {
            int(number): (int(rng.integers(0, 60)), int(rng.integers(0, 40)), int(rng.integers(0, 50)))
            for number in rng.integers(0, 10_000, 3000 if round_ % 4 == 0 else 40)
        }
        new = {number: sale for number, sale in new.items() if number not in held or number in gone}
        deleted = [(number, *held.pop(number)) for number in gone]
        held |= new
        running.commit({"Sale": [(number, *sale) for number, sale in new.items()]}, {"Sale": deleted})
        assert set(running.rows("Out")) == sales_expected(held)
    running.commit({}, {"Sale": [(number, *sale) for number, sale in held.items()]})
    assert running.rows("Out") == {}
    (table,) = (each._table for each in running.engine._runtime.strata if isinstance(each, AggregateStratum))
    assert table is not None
    assert len(table) == 0


def test_a_failed_epoch_leaves_the_table_of_groups_as_it_was() -> None:
    text = SALES + "output relation D(x: u64)\nD(100 / (200 - n)) :- Out(_, _, _, n, _, _)."
    running = Running(text)
    held = {number: (number % 7, number % 3, 1) for number in range(100)}
    running.commit({"Sale": [(number, *sale) for number, sale in held.items()]})
    (table,) = (each._table for each in running.engine._runtime.strata if isinstance(each, AggregateStratum))
    assert table is not None
    sizes = table._entries.array[:21, kernels.SIZE].tolist()
    for _ in range(3):
        with pytest.raises(tidelog.EvaluationError):
            running.commit({"Sale": [(1000, 50, 50, 200), (1001, 1, 1, 3)]}, {"Sale": [(0, *held[0])]})
        assert len(table) == 21
        assert table._entries.array[:21, kernels.SIZE].tolist() == sizes
        assert set(running.rows("Out")) == sales_expected(held)
    held[1000] = (50, 50, 7)
    running.commit({"Sale": [(1000, *held[1000])]})
    assert set(running.rows("Out")) == sales_expected(held)


def test_a_part_of_a_tuple_that_others_divide_by_is_not_made_up() -> None:
    """The row of a group has only the largest price; the other part of that tuple must not be taken for 0."""
    running = Running("""import group
    input relation A(k: u32, i: u32, x: u32)
    output relation B(k: u32, sum: u32, most: u32)
    B(k, g.sum_of(|t| 100 / t.0), g.arg_max(|t| t.1).1) :- A(k, i, x), var g = (i, x).group_by(k).""")
    running.commit({"A": [(1, 10, 5), (1, 20, 7)]})
    running.commit({"A": [(1, 50, 6)]})
    assert running.rows("B") == {(1, 17, 7): 1}
    with pytest.raises(tidelog.EvaluationError, match="division by zero"):
        running.commit({"A": [(1, 0, 6)]})
    running.commit({}, {"A": [(1, 20, 7)]})
    assert running.rows("B") == {(1, 12, 6): 1}


def test_members_are_read_in_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "AT_ONCE", 10)
    running = Running(SALES)
    running.commit({"Sale": [(number, number % 5, 0, number) for number in range(95)]})
    assert {row[2] for row in running.rows("Out")} == {19}
