"""Members and groups that other relations have are not stored, and everything is as if they were."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.database.storage.test_open_local import engine_of
from tests.engine.local.run import Running
from tests.properties.strategies import STRATEGIES

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.strata.joins import MANY_FACTS
from tidelog.rules.analysis.copies import Copies

HEAD = """import group
input relation Sale(id: u32, shop: string, day: u32, price: u64)
"""
SUMS = """output relation ByDay(shop: string, day: u32, sum: u64, most: u64, least: (u32, u64))
ByDay(s, d, g.sum_of(|t| t.1), g.arg_max(|t| t.1).1, g.arg_min(|t| t.1)) :-
    Sale(i, s, d, p), var g = (i, p).group_by((s, d)).
"""
LEVELS = """output relation Day(shop: string, day: u32, sum: u64, n: u64)
output relation Shop(shop: string, sum: u64, n: u64, most: u64, dear: u64)
output relation Total(sum: u64, n: u64, least: u64)
Day(s, d, g.sum_of(|p| p), g.count_distinct()) :- Sale(_, s, d, p), var g = p.group_by((s, d)).
Shop(s, g.sum_of(|p| p), g.count_distinct(), g.max(), g.count(|p| p > 5)) :- Sale(_, s, _, p), var g = p.group_by(s).
Total(g.sum_of(|p| p), g.count_distinct(), g.min()) :- Sale(_, _, _, p), var g = p.group_by(()).
"""
DERIVED = """input relation Given(id: u32, shop: string, day: u32, price: u64)
relation Sold(id: u32, shop: string, day: u32, price: u64)
Sold(i, s, d, p) :- Sale(i, s, d, p), not Given(i, s, d, p).
output relation ByDay(shop: string, day: u32, sum: u64, most: u64, least: (u32, u64))
ByDay(s, d, g.sum_of(|t| t.1), g.arg_max(|t| t.1).1, g.arg_min(|t| t.1)) :-
    Sold(i, s, d, p), var g = (i, p).group_by((s, d)).
"""
NAMES = ("ByDay", "Day", "Shop", "Total")
Sale = tuple[int, str, int, int]


class StopError(Exception):
    pass


def stop(*_: Any) -> None:
    raise StopError


def by_day(sales: set[Sale]) -> set[tuple[Any, ...]]:
    found = set()
    for shop, day in {sale[1:3] for sale in sales}:
        own = sorted((price, number) for number, *key, price in sales if key == [shop, day])
        prices = [price for price, _ in own]
        found.add((shop, day, sum(prices), max(prices), own[0][::-1]))
    return found


def levels(sales: set[Sale]) -> tuple[set[Any], set[Any], set[Any]]:
    days = {key: {sale[3] for sale in sales if sale[1:3] == key} for key in {sale[1:3] for sale in sales}}
    shops = {key: {sale[3] for sale in sales if sale[1] == key} for key in {sale[1] for sale in sales}}
    every = {sale[3] for sale in sales}
    return (
        {(*key, sum(own), len(own)) for key, own in days.items()},
        {(key, sum(own), len(own), max(own), sum(price > 5 for price in own)) for key, own in shops.items()},
        {(sum(every), len(every), min(every))} if every else set(),
    )


def changes(rng: random.Random, held: set[Sale], most: int) -> list[Operation]:
    gone = rng.sample(sorted(held), min(len(held), rng.randrange(most)))
    new = [
        (rng.randrange(60), rng.choice("ab"), rng.randrange(3), rng.randrange(9)) for _ in range(rng.randrange(most))
    ]
    return [Operation("Sale", -1, gone), Operation("Sale", 1, new)]


def applied(held: set[Sale], operations: list[Operation]) -> set[Sale]:
    return held.difference(operations[0].rows).union(operations[1].rows)


def as_set(running: Running, name: str) -> set[Any]:
    return set(running.rows(name))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rules", [SUMS, LEVELS, DERIVED], ids=["copies", "levels", "derived"])
def test_oracle_of_a_history_with_epochs_that_are_rolled_back(rules: str, strategy: str) -> None:
    rng = random.Random(11)
    running = Running(HEAD + rules, strategy=strategy)
    held: set[Sale] = set()
    for number in range(40):
        operations = changes(rng, held, 40 if number % 10 == 0 else 5)
        if number % 5 == 2:
            with pytest.raises(StopError):
                running.engine.commit([*operations, Operation("Sale", 1, [(99, "c", 9, number)])], stop)
        running.engine.commit(operations)
        held = applied(held, operations)
        if rules == LEVELS:
            assert tuple(as_set(running, name) for name in ("Day", "Shop", "Total")) == levels(held)
        else:
            assert as_set(running, "ByDay") == by_day(held)


def test_neither_members_nor_groups_are_stored() -> None:
    running = Running(HEAD + SUMS)
    running.commit({"Sale": [(i, "a", i % 3, i) for i in range(30)]})
    rows = {each.name: each.rows for each in running.engine.profile().relations}
    assert {name: count for name, count in rows.items() if count} == {"Sale": 30, "ByDay": 3}


def test_an_engine_that_stores_them_has_the_same_state() -> None:
    rng = random.Random(3)
    rules = tidelog.compile(HEAD + SUMS + LEVELS).stages.rules
    engines = LocalEngine(rules), LocalEngine(rules, stores_copies=True)
    held: set[Sale] = set()
    for each in engines:
        each.open()
    for _ in range(10):
        operations = changes(rng, held, 20)
        held = applied(held, operations)
        for each in engines:
            each.commit(operations)
        states = [each.export_state().rows for each in engines]
        for name in states[0]:
            first, second = (sorted(map(repr, state[name].to_pylist())) for state in states)
            assert first == second, name
    other = LocalEngine(rules)
    other.import_state(engines[1].export_state(), frozenset())
    operations = changes(rng, held, 20)
    other.commit(operations)
    assert {row for row, _ in other.rows("ByDay")} == by_day(applied(held, operations))


def test_a_directory_in_which_they_are_stored_opens_and_takes_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)
    program = tidelog.compile(HEAD + SUMS)
    held = {(i, "ab"[i % 2], i % 3, i % 7) for i in range(40)}
    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "_copies", lambda self, program: Copies())
        with program.open(path=tmp_path / "db") as db:
            with db.transaction() as tx:
                tx.insert("Sale", sorted(held))
            engine_of(db).checkpoint()
    for _ in range(3):
        with program.open(path=tmp_path / "db") as db:
            assert set(db.relation("ByDay").rows()) == by_day(held)
            for _ in range(3):
                operations = changes(rng, held, 9)
                held = applied(held, operations)
                with db.transaction() as tx:
                    tx.delete("Sale", operations[0].rows)
                    tx.insert("Sale", operations[1].rows)
                assert set(db.relation("ByDay").rows()) == by_day(held)
            engine_of(db).checkpoint()


def test_a_second_rule_of_the_head_comes_and_goes() -> None:
    rng = random.Random(5)
    held: set[Sale] = set()
    db = tidelog.compile(HEAD + SUMS).open()
    rule = 'ByDay("rest", d, 0, 0, (0, 0)) :- Sale(_, _, d, _).'
    for number in range(12):
        operations = changes(rng, held, 9)
        held = applied(held, operations)
        with db.transaction() as tx:
            tx.delete("Sale", operations[0].rows)
            tx.insert("Sale", operations[1].rows)
            if number % 3 == 1:
                tx.add_rules(rule)
            if number % 3 == 2:
                tx.remove_rules(rule)
        others = {("rest", day, 0, 0, (0, 0)) for _, _, day, _ in held} if number % 3 == 1 else set()
        assert set(db.relation("ByDay").rows()) == by_day(held) | others
    db.close()


def test_another_rule_takes_the_place_of_the_first() -> None:
    db = tidelog.compile(HEAD + SUMS).open()
    with db.transaction() as tx:
        tx.insert("Sale", [(1, "a", 1, 5), (2, "a", 1, 7)])
    other = SUMS.split("\n", 1)[1].replace("g.sum_of(|t| t.1)", "g.count_distinct()")
    with db.transaction() as tx:
        tx.remove_rules(SUMS.split("\n", 1)[1])
        tx.add_rules(other)
        tx.insert("Sale", [(3, "b", 1, 1)])
    assert set(db.relation("ByDay").rows()) == {("a", 1, 2, 7, (1, 5)), ("b", 1, 1, 1, (3, 1))}
    with db.transaction() as tx:
        tx.delete("Sale", [(2, "a", 1, 7)])
    assert set(db.relation("ByDay").rows()) == {("a", 1, 1, 5, (1, 5)), ("b", 1, 1, 1, (3, 1))}
    db.close()


def test_an_explanation_shows_the_members() -> None:
    db = tidelog.compile(HEAD + SUMS).open()
    with db.transaction() as tx:
        tx.insert("Sale", [(1, "a", 1, 5), (2, "a", 1, 7), (3, "b", 1, 7)])
    text = str(db.explain("ByDay", ("a", 1, 12, 7, (1, 5))))
    assert 'Sale(1, "a", 1, 5)' in text
    assert 'Sale(2, "a", 1, 7)' in text
    assert '"b"' not in text
    db.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_many_facts_at_once_are_those_of_a_set(threads: int) -> None:
    rng = random.Random(6)
    sales = [(i, rng.choice("abc"), rng.randrange(9), rng.randrange(99)) for i in range(4 * MANY_FACTS)]
    with tidelog.compile(HEAD + SUMS).open(threads=threads) as db:
        with db.transaction() as tx:
            tx.insert("Sale", [*sales, *sales[:99]])
        assert len(db.relation("Sale")) == len(sales)
        assert sales[7] in db.relation("Sale")
        with db.transaction() as tx:
            tx.delete("Sale", sales[1:])
        assert set(db.relation("Sale").rows()) == {sales[0]}
        assert set(db.relation("ByDay").rows()) == by_day({sales[0]})
