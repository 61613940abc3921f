"""An equivalence relation is that of its pairs after every change, whether classes are repaired or all made again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tests.souffle.running import compiled
from tidelog.library._runtime.equivalence_closure import EquivalenceClosure

PROGRAM = """
.decl link(a: symbol, b: symbol)
.input link
.decl same(a: symbol, b: symbol) eqrel
.output same
same(a, b) :- link(a, b).
.decl alone(a: symbol)
.output alone
alone(a) :- same(a, _), 1 = count : { same(a, _) }.
"""
Pairs = set[tuple[str, str]]


def closed(pairs: Pairs) -> Pairs:
    (rows,) = EquivalenceClosure(lambda a, b: (a, b))(pairs)
    assert len(set(rows)) == len(rows)
    return set(rows)


def brute(pairs: Pairs) -> Pairs:
    found = pairs | {(b, a) for a, b in pairs} | {(v, v) for pair in pairs for v in pair}
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def chosen(chance: random.Random, values: int, count: int) -> Pairs:
    return {(f"v{chance.randrange(values)}", f"v{chance.randrange(values)}") for _ in range(count)}


def test_the_closure_is_the_least_equivalence_relation() -> None:
    for seed in range(20):
        pairs = chosen(random.Random(seed), 6, seed % 7)
        assert closed(pairs) == brute(pairs)


@pytest.mark.parametrize("seed", range(5))
def test_classes_are_joined_and_taken_apart(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    held: Pairs = set()
    shown: Pairs = set()
    database = compiled(PROGRAM).open(path=tmp_path / "db")
    for epoch in range(20):
        gone = {pair for pair in sorted(held) if chance.random() < 0.2}
        new = chosen(chance, 12, chance.randrange(6))
        with database.transaction() as tx:
            tx.delete("link", sorted(gone))
            tx.insert("link", sorted(new))
        held = (held - gone) | new
        expected = closed(held)
        assert set(map(tuple, database.relation("same").rows())) == expected
        sizes = [a for a, _ in expected]
        assert {row[0] for row in database.relation("alone").rows()} == {a for a in sizes if sizes.count(a) == 1}
        shown = (shown - set(map(tuple, tx.changes["same"].deleted))) | set(map(tuple, tx.changes["same"].inserted))
        assert shown == expected, "the changes do not add up"
        if epoch % 7 == 6:
            database.close()
            database = tidelog.open(tmp_path / "db")
    database.close()


def test_many_changes_at_once() -> None:
    chance = random.Random(1)
    first, second = chosen(chance, 3000, 1200), chosen(chance, 3000, 1200)
    with compiled(PROGRAM).open() as database:
        for new, gone in ((first, set()), (second, first), (first, set()), (set(), first | second)):
            with database.transaction() as tx:
                tx.delete("link", sorted(gone))
                tx.insert("link", sorted(new))
            pairs = set(map(tuple, database.relation("link").rows()))
            assert set(map(tuple, database.relation("same").rows())) == closed(pairs)


def test_one_pair_touches_no_other_class() -> None:
    with compiled(PROGRAM).open() as database:
        with database.transaction() as tx:
            tx.insert("link", [(f"a{n}", f"b{n}") for n in range(2000)])
        with database.transaction() as tx:
            tx.insert("link", [("a1", "a2")])
        assert tx.report is not None
        (report,) = [each for each in tx.report.strata if each.relations == ("same",)]
        assert report.instances == 8
        with database.transaction() as tx:
            tx.delete("link", [("a1", "a2")])
        assert len(tx.changes["same"].deleted) == 8


def test_a_failed_epoch_leaves_the_classes() -> None:
    text = PROGRAM + ".decl q(n: number)\n.output q\nq(1 / strlen(a)) :- same(a, _).\n"
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("link", [("a", "b")])
        tx = database.transaction()
        with pytest.raises(tidelog.TidelogError), tx:
            tx.insert("link", [("b", "c"), ("", "x")])
        with database.transaction() as tx:
            tx.insert("link", [("c", "d")])
        assert set(map(tuple, database.relation("same").rows())) == closed({("a", "b"), ("c", "d")})


def test_clauses_and_facts_of_an_equivalence_relation_change() -> None:
    text = """
    .decl link(a: number, b: number)
    .input link
    .decl same(a: number, b: number) eqrel
    .input same
    .output same
    same(1, 2).
    same(a, b) :- link(a, b).
    """
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("same.facts", [(2, 3)])
            tx.insert("link", [(7, 8)])
        assert len(database.relation("same")) == 9 + 4
        with database.transaction() as tx:
            tx.add_rules("same(a, b + 1) :- link(a, b).")
        assert len(database.relation("same")) == 9 + 9
        with database.transaction() as tx:
            tx.remove_rules("same(1, 2).")
        assert len(database.relation("same")) == 4 + 9
