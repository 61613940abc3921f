"""Ordinals: no two values share one, a value keeps its own, and what reads them is right after every epoch."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.storage.test_open_local import engine_of
from tests.souffle.running import compiled
from tidelog.database.database import Database
from tidelog.diagnostics.errors import ProgramError
from tidelog.library._runtime.ordinal_table import OrdinalTable

Row = tuple[Any, ...]

PROGRAM = """
.type Pair = [a: symbol, n: number]
.decl node(x: symbol)
.input node
.decl link(x: symbol, y: symbol)
.input link
.output link
link("z", "a").
link(y, x) :- link(x, y), ord(x) < ord(y).
link(x, z) :- link(x, y), link(y, z), ord(x) > ord(z).
.decl number_of(x: symbol, n: number)
.output number_of
number_of(x, ord(x)) :- node(x).
number_of(x, ord(x)) :- link(x, _) ; link(_, x).
number_of(cat(x, "!"), ord(cat(x, "!"))) :- node(x).
.decl number_of_pair(x: symbol, n: number)
.output number_of_pair
number_of_pair(x, ord(p)) :- node(x), p = [x, strlen(x)].
.decl before(x: symbol, c: number)
.output before
before(x, c) :- node(x), c = count : { node(y), ord(y) < ord(x) }.
.decl last(x: symbol)
.output last
last(x) :- node(x), !later(x).
.decl later(x: symbol)
later(x) :- node(x), node(y), as(x, number) < as(y, number).
"""


def numbers_of(database: Database, name: str = "number_of") -> dict[str, int]:
    rows = [tuple(row) for row in database.relation(name).rows()]
    found = dict(rows)
    assert len(found) == len(rows), "a value has two numbers"
    assert len(set(found.values())) == len(found), "two values share a number"
    assert min(found.values(), default=0) >= 0
    return found


def links(given: set[Row], number: dict[str, int]) -> set[Row]:
    found = {("z", "a"), *given}
    while True:
        new = {(y, x) for x, y in found if number[x] < number[y]}
        new |= {(x, w) for x, y in found for z, w in found if y == z and number[x] > number[w]}
        if new <= found:
            return found
        found |= new


def history(database: Database, chance: random.Random, epochs: int, path: Path | None = None) -> None:
    held: dict[str, set[Row]] = {"node": set(), "link.facts": set()}
    before: dict[str, int] = {}
    for epoch in range(epochs):
        with database.transaction() as tx:
            for name, columns in (("node", 1), ("link.facts", 2)):
                gone = {row for row in sorted(held[name]) if chance.random() < 0.3}
                letters = [tuple(chance.choice("abcdez") for _ in range(columns)) for _ in range(chance.randrange(4))]
                tx.delete(name, sorted(gone))
                tx.insert(name, letters)
                held[name] = (held[name] - gone) | set(letters)
        nodes = {x for (x,) in held["node"]}
        number = numbers_of(database)
        assert all(number[x] == had for x, had in before.items() if x in number), "a value keeps its number"
        assert number.keys() >= nodes | {f"{x}!" for x in nodes}
        assert set(map(tuple, database.relation("link").rows())) == links(held["link.facts"], number)
        order = sorted(nodes, key=number.__getitem__)
        assert dict(map(tuple, database.relation("before").rows())) == {x: place for place, x in enumerate(order)}
        assert [row[0] for row in database.relation("last").rows()] == order[-1:]
        assert numbers_of(database, "number_of_pair").keys() == nodes
        before = number
        if path is not None and epoch % 3 == 2:
            if epoch == 5:
                engine_of(database).checkpoint()
            database.close()
            database = tidelog.open(path)
            assert numbers_of(database) == number
    database.close()


@pytest.mark.parametrize("seed", range(6))
def test_ordinals_are_unique_and_stay_under_a_history(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "db"
    bits = 64 if seed % 2 else 32
    history(compiled(PROGRAM, word_bits=bits).open(path=path), random.Random(seed), 12, path)


def test_ordinals_are_unique_and_stay_on_spark() -> None:
    history(compiled(PROGRAM).open("spark"), random.Random(1), 3)


def test_the_ordinals_of_many_values_are_small_and_unique() -> None:
    text = """
    .decl n(x: number)
    .input n
    .decl named(s: symbol, o: number)
    .output named
    named(s, ord(s)) :- n(x), s = cat("v", to_string(x)).
    """
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("n", [(x,) for x in range(30_000)])
        with database.transaction() as tx:
            tx.delete("n", [(x,) for x in range(5_000)])
            tx.insert("n", [(x,) for x in range(30_000, 31_000)])
        found = numbers_of(database, "named")
        assert len(found) == 26_000
        assert max(found.values()) == 30_999


def test_values_of_the_text_are_first_and_others_by_value() -> None:
    table = OrdinalTable(lambda value, number: (value, number), ("z", "b"))
    (rows,) = table([("c",), ("b",), ("a",)])
    assert rows == [("b", 0), ("a", 1), ("c", 2)]
    (rows,) = table.continued([[("b", 0), ("a", 1), ("c", 2)]], [[("c",), ("z",), ("d",)]])
    assert sorted(rows) == [("c", 2), ("d", 4), ("z", 3)]


def test_a_stratum_of_ordinals_is_incremental() -> None:
    with compiled(PROGRAM).open() as database:
        with database.transaction() as tx:
            tx.insert("node", [("a",)])
        with database.transaction() as tx:
            tx.insert("node", [("b",)])
        assert tx.report is not None
        strategies = {each.strategy for each in tx.report.strata}
        assert "ordinals" in strategies
        assert "transformer" not in strategies
        assert not compiled(PROGRAM).stages.souffle.recomputed  # type: ignore[union-attr]


def test_a_query_asks_for_ordinals_that_the_program_has() -> None:
    with compiled(PROGRAM).open() as database:
        with database.transaction() as tx:
            tx.insert("node", [("a",), ("b",)])
        rows = {(row["x"], row["n"]) for row in database.query("node(x), n = ord(x)").to_dicts()}
        assert rows == {(x, n) for x, n in numbers_of(database).items() if x in "ab"}
        with pytest.raises(ProgramError) as error:
            database.query('node(x), n = ord(cat(x, "?"))')
        assert "ordinals of these values are not in the program's table" in str(error.value)


def test_clauses_are_added_where_their_ordinals_are_in_the_table() -> None:
    text = PROGRAM + ".decl more(x: symbol, n: number)\n.output more\n.decl other(x: symbol)\n.input other\n"
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("node", [("a",), ("b",)])
            tx.insert("other", [("q",)])
            tx.add_rules("more(x, ord(x)) :- node(x).")
        number = numbers_of(database)
        assert numbers_of(database, "more") == {"a": number["a"], "b": number["b"]}
        for clause in ("more(x, ord(x)) :- other(x).", "link(x, x) :- other(x)."):
            with pytest.raises(ProgramError) as error, database.transaction() as tx:
                tx.add_rules(clause)
            assert "no clause of its text asks for them" in str(error.value)
        with database.transaction() as tx:
            tx.remove_rules("more(x, ord(x)) :- node(x).")
            tx.add_rules("link(x, x) :- node(x).")
        assert not database.relation("more").rows()
        assert ("b", "b") in set(map(tuple, database.relation("link").rows()))


def test_symbols_that_their_own_recursion_makes_and_orders_have_hashes() -> None:
    text = """
    .decl p(s: symbol, n: number)
    .output p
    p("a", 0).
    p(t, ord(t)) :- p(s, _), t = cat(s, "a"), strlen(t) < 5, ord(t) != ord(s).
    """
    program = compiled(text)
    assert not program.stages.souffle.ordinals  # type: ignore[union-attr]
    with program.open() as database:
        assert {row[0] for row in database.relation("p").rows()} == {"a", "aa", "aaa", "aaaa"}
