"""A program in Soufflé's language stays up to date: after any history its rows are those of a batch run."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.souffle.running import SOUFFLE, compiled, run_reference

Row = tuple[Any, ...]

PROGRAMS: dict[str, tuple[str, dict[str, Callable[[random.Random], Row]], tuple[str, ...]]] = {
    "recursion, negation, aggregates": (
        """
        .decl edge(a: number, b: number)
        .input edge
        .decl node(a: number)
        node(a) :- edge(a, _).
        node(b) :- edge(_, b).
        .decl reach(a: number, b: number)
        .output reach
        reach(a, b) :- edge(a, b).
        reach(a, c) :- reach(a, b), edge(b, c).
        .decl apart(a: number, b: number)
        .output apart
        apart(a, b) :- node(a), node(b), !reach(a, b), a < b.
        .decl degree(a: number, n: number, far: number)
        .output degree
        degree(a, n, m) :- node(a), n = count : { edge(a, _) }, m = max b : { reach(a, b) }.
        .decl total(n: number)
        .output total
        total(n) :- n = sum a * b : { edge(a, b) }.
        """,
        {"edge": lambda r: (r.randrange(6), r.randrange(6))},
        ("reach", "apart", "degree", "total"),
    ),
    "records and components": (
        """
        .type Path = [at: number, before: Path]
        .comp Walk { .decl step(a: number, b: number) .input step
                     .decl walk(p: Path, n: number)
                     walk([a, nil], 1) :- step(a, _).
                     walk([b, p], n + 1) :- walk(p, n), p = [a, _], step(a, b), n < 3. }
        .init w = Walk
        .decl ends(a: number, n: number)
        .output ends
        ends(a, n) :- w.walk([a, _], n).
        """,
        {"w.step": lambda r: (r.randrange(4), r.randrange(4))},
        ("ends",),
    ),
    "subsumption": (
        """
        .decl arc(a: number, b: number, c: number)
        .input arc
        .decl cost(a: number, c: number)
        .output cost
        cost(0, 0).
        cost(b, c + d) :- cost(a, c), arc(a, b, d).
        cost(a, c) <= cost(a, d) :- d < c.
        .decl near(a: number)
        .output near
        near(a) :- cost(a, c), c < 5.
        """,
        {"arc": lambda r: (r.randrange(5), r.randrange(5), r.randrange(1, 6))},
        ("cost", "near"),
    ),
    "equivalence": (
        """
        .decl link(a: number, b: number)
        .input link
        .decl same(a: number, b: number) eqrel
        .output same
        same(a, b) :- link(a, b).
        same(a + 10, b + 10) :- same(a, b), a < 3, b < 3.
        .decl class(a: number, least: number)
        .output class
        class(a, m) :- same(a, _), m = min b : { same(a, b) }.
        """,
        {"link": lambda r: (r.randrange(7), r.randrange(7))},
        ("same", "class"),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_every_epoch_ends_where_a_batch_run_ends(name: str, seed: int, tmp_path: Path) -> None:
    text, makers, outputs = PROGRAMS[name]
    chance = random.Random(f"{name} {seed}")
    program = compiled(text)
    souffle = program.stages.souffle
    assert souffle is not None
    held: dict[str, set[Row]] = {relation: set() for relation in makers}
    with program.open() as database:
        for _ in range(8):
            with database.transaction() as tx:
                for relation, make in makers.items():
                    stored = souffle.facts[relation]
                    gone = {row for row in held[relation] if chance.random() < 0.3}
                    new = {make(chance) for _ in range(chance.randrange(5))}
                    tx.delete(stored, sorted(gone))
                    tx.insert(stored, sorted(new))
                    held[relation] = (held[relation] - gone) | new
            found = {output: sorted(map(tuple, database.relation(output).rows())) for output in outputs}
            with program.open() as fresh:
                with fresh.transaction() as tx:
                    for relation, rows in held.items():
                        tx.insert(souffle.facts[relation], sorted(rows))
                batch = {output: sorted(map(tuple, fresh.relation(output).rows())) for output in outputs}
            assert found == batch
    if SOUFFLE is not None:
        facts = {
            f"{relation}.facts": "".join("\t".join(map(str, row)) + "\n" for row in rows)
            for relation, rows in held.items()
        }
        expected = run_reference(text, tmp_path, facts)
        ours = {f"{output}.csv": sorted("\t".join(map(str, row)) for row in rows) for output, rows in found.items()}
        assert ours == expected
