"""Chosen rows stay chosen and numbered rows keep their numbers; the results are right ones after every epoch."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.storage.test_open_local import engine_of
from tests.souffle.running import compiled

Row = tuple[Any, ...]

MATCHING = """
.decl offer(a: number, b: number)
.input offer
.decl pair(a: number, b: number) choice-domain a, b
.output pair
pair(a, b) :- offer(a, b).
"""
TREE = """
.decl edge(a: number, b: number)
.input edge
.decl tree(a: number, b: number) choice-domain b
.output tree
tree(0, 0).
tree(a, b) :- tree(_, a), edge(a, b), b != 0.
"""
NUMBERED = """
.decl person(name: symbol, town: number)
.input person
.decl id(n: number, name: symbol)
.output id
id(n, name) :- person(name, _), n = autoinc().
"""


def pairs(chance: random.Random, most: int) -> set[Row]:
    return {(chance.randrange(most), chance.randrange(most)) for _ in range(chance.randrange(1, 9))}


def changed(chance: random.Random, held: set[Row], new: Iterable[Row]) -> tuple[set[Row], set[Row]]:
    gone = {row for row in sorted(held) if chance.random() < 0.25}
    return gone, set(new)


def free(row: Row, chosen: set[Row], keys: tuple[int, ...]) -> bool:
    return not any(row[key] == other[key] for other in chosen for key in keys)


@pytest.mark.parametrize("seed", range(6))
def test_a_matching_is_valid_and_maximal_and_keeps_its_pairs(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    held: set[Row] = set()
    before: set[Row] = set()
    database = compiled(MATCHING).open(path=tmp_path / "db")
    for epoch in range(12):
        gone, new = changed(chance, held, pairs(chance, 6))
        with database.transaction() as tx:
            tx.delete("offer", sorted(gone))
            tx.insert("offer", sorted(new))
        held = (held - gone) | new
        chosen = set(map(tuple, database.relation("pair").rows()))
        assert chosen <= held
        assert all(len({row[key] for row in chosen}) == len(chosen) for key in (0, 1))
        assert not [row for row in held - chosen if free(row, chosen, (0, 1))], "a pair could be added"
        assert before & held <= chosen, "a pair that could stay is gone"
        before = chosen
        if epoch % 4 == 3:
            database.close()
            database = tidelog.open(tmp_path / "db")
            assert set(map(tuple, database.relation("pair").rows())) == chosen
    database.close()


def reached(edges: set[Row]) -> set[int]:
    seen, waiting = {0}, [0]
    while waiting:
        node = waiting.pop()
        for a, b in edges:
            if a == node and b not in seen:
                seen.add(b)
                waiting.append(b)
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_a_spanning_tree_stays_one_and_keeps_its_edges(seed: int) -> None:
    chance = random.Random(seed)
    held: set[Row] = set()
    before: set[Row] = {(0, 0)}
    with compiled(TREE).open() as database:
        for _ in range(12):
            gone, new = changed(chance, held, pairs(chance, 7))
            with database.transaction() as tx:
                tx.delete("edge", sorted(gone))
                tx.insert("edge", sorted(new))
            held = (held - gone) | new
            tree = set(map(tuple, database.relation("tree").rows()))
            assert tree - {(0, 0)} <= held
            assert sorted(row[1] for row in tree) == sorted(reached(held)), "each node that is reached, once"
            assert reached(tree) == reached(held)
            still = before & held
            assert {row for row in still if row[0] in reached(still) and row[1]} <= tree
            before = tree


@pytest.mark.parametrize("seed", range(4))
def test_a_row_keeps_its_number_and_no_two_rows_have_one(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    held: set[Row] = set()
    before: dict[int, str] = {}
    database = compiled(NUMBERED).open(path=tmp_path / "db")
    for epoch in range(10):
        gone, new = changed(chance, held, {(f"p{a}", b) for a, b in pairs(chance, 5)})
        with database.transaction() as tx:
            tx.delete("person", sorted(gone))
            tx.insert("person", sorted(new))
        held = (held - gone) | new
        rows = [tuple(row) for row in database.relation("id").rows()]
        numbers = dict(rows)
        assert len(numbers) == len(rows)
        assert sorted(numbers.values()) == sorted(name for name, _ in held), "one number for each instance"
        for name in {name for name, _ in held}:
            had = {number for number, other in before.items() if other == name}
            has = {number for number, other in numbers.items() if other == name}
            assert had <= has or has <= had, "numbers are only added, or only taken"
        before = numbers
        if epoch % 3 == 2:
            if epoch == 5:
                engine_of(database).checkpoint()
            database.close()
            database = tidelog.open(tmp_path / "db")
            assert dict(map(tuple, database.relation("id").rows())) == numbers
    database.close()


def test_a_counter_inside_an_expression_is_unique_all_the_same() -> None:
    text = """
    .decl p(x: symbol)
    .input p
    .decl label(x: symbol, name: symbol)
    .output label
    label(x, cat(x, to_string(autoinc()))) :- p(x).
    .decl plain(n: number, x: symbol)
    .output plain
    plain(autoinc(), x) :- p(x).
    plain(7, "seven").
    """
    with compiled(text).open() as database:
        for name in ("a", "b", "seven", "c"):
            with database.transaction() as tx:
                tx.insert("p", [(name,)])
            rows = sorted(map(tuple, database.relation("plain").rows()))
            assert len({row[0] for row in rows}) == len(rows)
        assert sorted(row[1] for row in rows) == ["a", "b", "c", "seven", "seven"]
        assert len(database.relation("label")) == 4


def test_what_was_chosen_does_not_depend_on_a_failed_epoch() -> None:
    with compiled(MATCHING).open() as database:
        with database.transaction() as tx:
            tx.insert("offer", [(2, 2)])
        with pytest.raises(RuntimeError), database.transaction() as tx:
            tx.insert("offer", [(1, 2)])
            raise RuntimeError
        with database.transaction() as tx:
            tx.insert("offer", [(1, 2), (2, 1)])
        assert database.relation("pair").rows() == [(2, 2)]
