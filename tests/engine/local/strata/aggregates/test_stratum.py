"""Aggregates of large groups: changed with the epoch, taken back with it, and right however the database came by."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from tests.engine.local.run import Running
from tests.engine.local.strata.aggregates.history import change_at_random

import tidelog
from tidelog.engine.local.strata.aggregates import stratum
from tidelog.engine.local.strata.aggregates.group_state import GroupState
from tidelog.engine.local.strata.aggregates.stratum import AggregateStratum

PROGRAM = """import group
input relation Sale(shop: string, id: u32, price: s64)
output relation Shop(shop: string, n: u64, sum: s64, least: s64, most: s64, first: (u32, s64), last: (u32, s64))
output relation Mean(shop: string, mean: double)
output relation Names(shop: string, ids: string)
Shop(shop, g.count_distinct(), g.sum_of(|s| s.1), g.arg_min(|s| s.1).1, g.arg_max(|s| s.1).1,
     g.arg_min(|s| s.1), g.arg_max(|s| s.1)) :- Sale(shop, id, price), var g = (id, price).group_by(shop).
Mean(shop, m) :- Sale(shop, id, price), var m = ((id as double) / 7.0).group_by(shop).sum_of(|x| x).
Names(shop, t) :- Sale(shop, id, _), var t = "${id}".group_by(shop).to_vec().join(" ").
"""
Sale = tuple[str, int, int]


def expected(sales: set[Sale]) -> dict[str, set[tuple[Any, ...]]]:
    found: dict[str, set[tuple[Any, ...]]] = {"Shop": set(), "Mean": set(), "Names": set()}
    for shop in {sale[0] for sale in sales}:
        own = sorted((number, price) for name, number, price in sales if name == shop)
        prices = [price for _, price in own]
        first = next(each for each in own if each[1] == min(prices))
        last = next(each for each in own if each[1] == max(prices))
        found["Shop"].add((shop, len(own), sum(prices), min(prices), max(prices), first, last))
        numbers = {number for number, _ in own}
        found["Mean"].add((shop, math.fsum({number / 7.0 for number in numbers})))
        found["Names"].add((shop, " ".join(sorted(map(str, numbers)))))
    return found


def found(db: tidelog.Database) -> dict[str, set[tuple[Any, ...]]]:
    return {name: set(db.relation(name).rows()) for name in ("Shop", "Mean", "Names")}


def states(running: Running) -> list[dict[Any, GroupState]]:
    return [each._states for each in running.engine._runtime.strata if isinstance(each, AggregateStratum)]


def random_sale(rng: random.Random) -> Sale:
    return rng.choice("ab"), rng.randrange(400), rng.randrange(-20, 20)


def test_a_history_of_large_groups_with_failures_and_a_reopening(tmp_path: Path) -> None:
    rng = random.Random(5)
    program = tidelog.compile(PROGRAM)
    db = program.open(path=tmp_path / "db")
    held: set[Sale] = set()
    for number in range(60):
        counts = (300,) if number == 0 else (1, 1, 2, 20)
        held = change_at_random(db, "Sale", held, rng, random_sale, counts, fails=number % 7 == 3)
        assert found(db) == expected(held)
        if number in (20, 40):
            db.close()
            db = tidelog.open(tmp_path / "db")
    db.close()


def test_a_large_group_is_changed_and_not_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "KEPT_FROM", 100)
    running = Running(PROGRAM)
    sales = [("a", number, number % 10) for number in range(200)]
    running.commit({"Sale": sales})
    assert [len(each) for each in states(running)] == [0, 0, 0]
    running.commit({}, {"Sale": sales[1:2]})
    assert [len(each) for each in states(running)] == [0, 1, 1], "the best member is still there"
    running.commit({}, {"Sale": sales[:1]})
    assert [len(each) for each in states(running)] == [1, 1, 1]
    monkeypatch.setattr(GroupState, "__init__", lambda *_: pytest.fail("the state is there"))
    running.commit({"Sale": [("a", 1000, -5)]}, {"Sale": sales[2:3]})
    assert set(running.rows("Shop")) == expected({*sales[3:], ("a", 1000, -5)})["Shop"]


def test_a_group_that_has_become_small_has_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "KEPT_FROM", 32)
    running = Running(PROGRAM)
    sales = [("a", number, number) for number in range(100)]
    running.commit({"Sale": sales})
    for start in range(0, 95, 5):
        running.commit({}, {"Sale": sales[start : start + 5]})
        assert set(running.rows("Shop")) == expected(set(sales[start + 5 :]))["Shop"]
    assert [len(each) for each in states(running)] == [0, 0, 0]
    running.commit({}, {"Sale": sales[95:]})
    assert running.rows("Shop") == {}


def test_a_failed_epoch_leaves_the_states_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "KEPT_FROM", 32)
    text = PROGRAM + "output relation D(x: s64)\nD(100 / n) :- Shop(_, _, n, _, _, _, _)."
    running = Running(text)
    sales = {("a", number, 1) for number in range(100)}
    running.commit({"Sale": [*sorted(sales), ("a", 2000, 0)]})
    running.commit({}, {"Sale": [("a", 2000, 0)]})
    for _ in range(3):
        with pytest.raises(tidelog.EvaluationError):
            running.commit({"Sale": [("a", 1000, -100), ("b", 1, 0)]})
        assert set(running.rows("Shop")) == expected(sales)["Shop"]
        assert [len(each) for each in states(running)] == [1, 1, 1]
    running.commit({"Sale": [("a", 1000, 5)]})
    assert set(running.rows("Shop")) == expected({*sales, ("a", 1000, 5)})["Shop"]


def test_a_division_by_zero_in_what_is_summed_names_the_rule_and_changes_nothing() -> None:
    text = """import group
    input relation A(x: u32)
    output relation S(sum: u32)
    S(g.sum_of(|x| 1000 / x)) :- A(x), var g = x.group_by(())."""
    running = Running(text)
    running.commit({"A": [(x,) for x in range(1, 100)]})
    before = running.rows("S")
    with pytest.raises(tidelog.EvaluationError, match="division by zero"):
        running.commit({"A": [(0,), (2000,)]})
    assert running.rows("S") == before
    running.commit({"A": [(500,)]})
    assert running.rows("S") == {(sum(1000 // x for x in [*range(1, 100), 500]),): 1}


def test_a_function_that_changes_its_mind_does_no_harm() -> None:
    text = """import group
    extern function odd(x: u32): u32
    input relation A(x: u32)
    output relation B(x: u32)
    B(g.arg_max(|x| odd(x))) :- A(x), var g = x.group_by(())."""
    turn = iter(range(10_000))
    running = Running(text, externs={"odd": lambda x: next(turn)})
    running.commit({"A": [(x,) for x in range(100)]})
    running.commit({}, {"A": [(3,)]})
    assert running.rows("B") == {(99,): 1}


@pytest.mark.parametrize("kept_from", [1, 32])
def test_a_rule_that_comes_and_goes_beside_a_shared_group(kept_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "KEPT_FROM", kept_from)
    text = """import group
    input relation A(k: u32, x: u32)
    output relation Least(k: u32, x: u32)
    output relation Most(k: u32, x: u32)
    Least(k, n) :- A(k, x), var n = x.group_by(k).min().
    Most(k, n) :- A(k, x), var n = x.group_by(k).max()."""
    least = "Least(k, n) :- A(k, x), var n = x.group_by(k).min()."
    db = tidelog.compile(text).open()
    with db.transaction() as tx:
        tx.insert("A", [(k, x) for k in (1, 2) for x in range(k, 50)])
    with db.transaction() as tx:
        tx.remove_rules(least)
        tx.insert("A", [(1, 0)])
    assert (set(db.relation("Least").rows()), set(db.relation("Most").rows())) == (set(), {(1, 49), (2, 49)})
    with db.transaction() as tx:
        tx.add_rules(least)
        tx.delete("A", [(2, 49), (1, 0)])
    assert set(db.relation("Least").rows()) == {(1, 1), (2, 2)}
    assert set(db.relation("Most").rows()) == {(1, 49), (2, 48)}
    with db.transaction() as tx:
        tx.insert("A", [(1, 0)])
    assert set(db.relation("Least").rows()) == {(1, 0), (2, 2)}


def test_a_group_is_right_when_its_recursion_is_taken_apart() -> None:
    text = """input relation E(a: u32, b: u32)
    relation W(a: u32, b: u32)
    output relation Least(a: u32, b: u32)
    W(a, b) :- E(a, b).
    W(a, b) :- Least(a, b).
    Least(a, n) :- W(a, b), var n = b.group_by(a).min()."""
    db = tidelog.compile(text).open()
    with db.transaction() as tx:
        tx.insert("E", [(1, 2), (1, 3), (2, 5)])
    with db.transaction() as tx:
        tx.remove_rules("W(a, b) :- Least(a, b).")
    assert set(db.relation("Least").rows()) == {(1, 2), (2, 5)}
    with db.transaction() as tx:
        tx.insert("E", [(2, 1)])
        tx.delete("E", [(1, 2)])
    assert set(db.relation("Least").rows()) == {(1, 3), (2, 1)}
    with db.transaction() as tx:
        tx.add_rules("W(a, b) :- Least(a, b).")
        tx.insert("E", [(3, 3)])
    assert set(db.relation("Least").rows()) == {(1, 3), (2, 1), (3, 3)}


def test_aggregates_are_right_when_a_rule_makes_them_recursive() -> None:
    text = """import group
    input relation E(a: u32, b: u32)
    relation W(a: u32, b: u32)
    output relation Least(a: u32, b: u32)
    W(a, b) :- E(a, b).
    Least(a, g.min() + g.sum_of(|x| x & 0)) :- W(a, b), var g = b.group_by(a)."""
    back = "W(b, a) :- Least(a, b), b < 10."
    db = tidelog.compile(text).open()
    with db.transaction() as tx:
        tx.insert("E", [(1, number) for number in range(3, 60)])
    assert set(db.relation("Least").rows()) == {(1, 3)}
    with db.transaction() as tx:
        tx.add_rules(back)
        tx.insert("E", [(2, 50)])
    assert set(db.relation("Least").rows()) == {(1, 3), (3, 1), (2, 50)}
    with db.transaction() as tx:
        tx.remove_rules(back)
        tx.delete("E", [(1, 3)])
    assert set(db.relation("Least").rows()) == {(1, 4), (2, 50)}


def test_values_given_back_are_not_those_of_a_state() -> None:
    text = """input relation A(x: string)
    output relation B(least: string, all: string)
    B(g.min(), g.to_vec().join("")) :- A(x), var g = x.group_by(())."""
    running = Running(text)
    held = [f"{number:05}" for number in range(60)]
    running.commit({"A": [(text,) for text in held]})
    for number in range(60, 4000):
        running.commit({"A": [(f"{number:05}",)]}, {"A": [(held.pop(0),)]})
        held.append(f"{number:05}")
    assert running.rows("B") == {(held[0], "".join(held)): 1}
