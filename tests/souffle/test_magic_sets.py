"""Magic sets derive what the outputs ask for, and no output changes by them, whatever the history."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.souffle.running import compiled
from tidelog.diagnostics.errors import ProgramError

Row = tuple[Any, ...]

PROGRAMS = {
    "reach": """
        .decl edge(a: number, b: number)
        .input edge
        .decl start(a: number)
        .input start
        .decl path(a: number, b: number)
        path(a, b) :- edge(a, b).
        path(a, c) :- path(a, b), edge(b, c).
        .decl out(a: number)
        .output out
        out(b) :- start(a), path(a, b).
        out(-a) :- start(b), path(a, b), path(b, a).
    """,
    "same generation": """
        .decl edge(a: number, b: number)
        .input edge
        .decl start(a: number)
        .input start
        .decl same(a: number, b: number)
        same(a, a) :- edge(_, a).
        same(a, b) :- edge(c, a), same(c, d), edge(d, b).
        .decl out(a: number, b: number)
        .output out
        out(a, b) :- start(a), same(a, b).
    """,
    "negation, aggregates and functors": """
        .decl edge(a: number, b: number)
        .input edge
        .decl start(a: number)
        .input start
        .decl up(a: number, n: number)
        up(a, 0) :- edge(a, _).
        up(b, n + 1) :- up(a, n), edge(a, b), n < 4.
        .decl far(a: number)
        far(a) :- up(a, 3).
        .decl hop(a: number, b: number)
        hop(a, b) :- edge(a, b), !far(b).
        hop(a, c) :- hop(a, b), hop(b, c).
        .decl size(a: number, n: number)
        size(a, n) :- edge(a, _), n = count : { hop(a, _) }.
        .decl out(a: number, b: number)
        .output out
        out(a, b) :- start(a), hop(a, b).
        out(a, n) :- start(a), size(a, n).
        out(a, n) :- start(a), up(a + 1, n).
        .decl walk(a: number, b: number)
        walk(a, b) :- edge(a, b), !far(a).
        walk(a, c) :- walk(a, b), edge(b, c), n = count : { hop(b, _) }, n > 1.
        out(a, b + 100) :- start(a), walk(a, b).
        .decl more(a: number)
        .output more
        more(b) :- start(a), walk(a, b), !far(b).
    """,
    "records and constants": """
        .type Pair = [a: number, b: number]
        .decl edge(a: number, b: number)
        .input edge
        .decl start(a: number)
        .input start
        .decl boxed(p: Pair, n: number)
        boxed([a, b], a + b) :- edge(a, b).
        boxed([a, c], n) :- boxed([a, b], n), edge(b, c).
        .decl one(a: number, b: number, c: number)
        one(a, b, 1) :- edge(a, b).
        one(a, a, c) :- start(a), c = a * 2.
        .decl out(n: number, b: number)
        .output out
        out(n, a) :- start(a), edge(a, b), p = [a, b], boxed(p, n).
        out(b, 100 + a) :- start(a), one(a, b, 1).
        out(b, 200 + a) :- start(a), one(b, b, a).
    """,
    "special relations": """
        .decl edge(a: number, b: number)
        .input edge
        .decl start(a: number)
        .input start
        .decl near(a: number, b: number)
        near(a, b) :- edge(a, b), a < b.
        near(a, c) :- near(a, b), near(b, c).
        .decl same(a: number, b: number) eqrel
        same(a, b) :- near(a, b), b - a < 2.
        .decl least(a: number, n: number)
        least(a, b) :- edge(a, b).
        least(a, n) <= least(a, m) :- m < n.
        .decl out(a: number, b: number)
        .output out
        out(a, b) :- start(a), same(a, b).
        out(a, n) :- start(a), least(a, n).
        .decl walk(a: number, b: number)
        walk(a, b) :- edge(a, b), same(a, _).
        walk(a, c) :- walk(a, b), same(b, c).
        out(a, n + 10) :- start(a), walk(a, n).
    """,
}
MAGIC = '.pragma "magic-transform" "*"\n'


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_outputs_are_the_same_after_every_epoch(name: str, seed: int) -> None:
    chance = random.Random(f"{name} {seed}")
    plain, asked = compiled(PROGRAMS[name]), compiled(MAGIC + PROGRAMS[name])
    assert asked.stages.souffle is not None
    assert asked.stages.souffle.restricted
    held: dict[str, set[Row]] = {"edge": set(), "start": set()}
    with plain.open() as whole, asked.open() as demand:
        for _ in range(10):
            new: dict[str, set[Row]] = {
                "edge": {(chance.randrange(7), chance.randrange(7)) for _ in range(chance.randrange(5))},
                "start": {(chance.randrange(7),) for _ in range(chance.randrange(2))},
            }
            gone = {relation: {row for row in sorted(rows) if chance.random() < 0.3} for relation, rows in held.items()}
            for database in (whole, demand):
                with database.transaction() as tx:
                    for relation in held:
                        tx.delete(relation, sorted(gone[relation]))
                        tx.insert(relation, sorted(new[relation]))
            held = {relation: (rows - gone[relation]) | new[relation] for relation, rows in held.items()}
            for relation, rows in demand.report.rows.items():
                found = set(map(tuple, demand.relation(relation).rows()))
                if ".magic." in relation:
                    continue
                expected = set(map(tuple, whole.relation(relation).rows()))
                assert found <= expected, f"{relation} has {rows} rows, some of them wrong"
                if relation in ("out", "more"):
                    assert found == expected


def test_only_what_is_asked_for_is_derived() -> None:
    rows = [(a, a + 1) for a in range(400)]
    sizes = {}
    forward = "\n".join(line for line in PROGRAMS["reach"].splitlines() if "out(-a)" not in line)
    for pragma in ("", MAGIC, MAGIC + '.pragma "magic-transform-exclude" "path"\n'):
        with compiled(pragma + forward).open() as database:
            with database.transaction() as tx:
                tx.insert("edge", rows)
                tx.insert("start", [(390,)])
            assert len(database.relation("out")) == 10
            sizes[pragma] = len(database.relation("path"))
    everything = 400 * 401 // 2
    assert list(sizes.values()) == [everything, 10, everything]


def test_qualifiers_name_the_relations() -> None:
    text = PROGRAMS["same generation"]
    marked = text.replace("same(a: number, b: number)", "same(a: number, b: number) magic")
    unmarked = text.replace("same(a: number, b: number)", "same(a: number, b: number) no_magic")
    for given, restricted in ((marked, {"same"}), (MAGIC + unmarked, set()), (MAGIC + text, {"same"})):
        souffle = compiled(given).stages.souffle
        assert souffle is not None
        assert souffle.restricted == restricted


def test_a_demand_does_not_grow_without_end() -> None:
    text = (
        MAGIC
        + """
    .decl seed(x: number)
    .input seed
    .decl ok(x: number)
    .input ok
    .decl down(x: number)
    down(x) :- seed(x).
    down(x) :- down(x + 1), ok(x).
    .decl out()
    .output out
    out() :- down(0).
    """
    )
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("seed", [(3,)])
            tx.insert("ok", [(2,), (1,), (0,)])
        assert database.relation("out").rows() == [()]
        with database.transaction() as tx:
            tx.delete("ok", [(1,)])
        assert database.relation("out").rows() == []


def test_what_is_restricted_is_neither_queried_nor_used_by_added_clauses() -> None:
    with compiled(MAGIC + PROGRAMS["reach"]).open() as database:
        with pytest.raises(ProgramError, match="only the rows that outputs ask for"):
            database.query("path(1, x)")
        tx = database.transaction()
        with pytest.raises(ProgramError, match="no_magic"), tx:
            tx.add_rules("out(x) :- path(x, x).")
        with database.transaction() as tx:
            tx.insert("edge", [(1, 2)])
            tx.add_rules("out(x) :- edge(x, _).")
        assert database.relation("out").rows() == [(1,)]


def test_a_clause_of_a_whole_relation_is_removed_by_its_text() -> None:
    text = """
    .pragma "magic-transform" "*"
    .decl one(x: number)
    .input one
    .decl two(x: number)
    .input two
    .decl a(x: number)
    a(x) :- one(x).
    .decl c(x: number)
    c(x) :- two(x), a(x), x != 1.
    .decl d(x: number)
    d(x) :- one(x), a(x), !c(x).
    .decl answer(x: number)
    .output answer
    answer(x) :- one(x), d(x).
    """
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("one", [(1,), (2,), (3,)])
            tx.insert("two", [(1,), (2,)])
        assert sorted(database.relation("answer").rows()) == [(1,), (3,)]
        with database.transaction() as tx:
            tx.remove_rules("c(x) :- two(x), a(x), x != 1.")
        assert sorted(database.relation("answer").rows()) == [(1,), (2,), (3,)]
        with database.transaction() as tx:
            tx.add_rules("c(x) :- two(x), a(x), x != 1.")
        assert sorted(database.relation("answer").rows()) == [(1,), (3,)]
