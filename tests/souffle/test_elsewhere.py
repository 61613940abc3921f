"""Programs in Soufflé's language on Spark, with `engine="auto"`, and in pipelines: the same rows as in one process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.pipeline.folder import Pipe

PROGRAM = """
.type Place = [x: number, y: number]
.type Thing = Town {name: symbol} | Bridge {long: number}
.decl road(a: symbol, b: symbol, n: number)
.input road
.decl trip(a: symbol, b: symbol)
.output trip
trip(a, b) :- road(a, b, _).
trip(a, c) :- trip(a, b), road(b, c, _).
.decl one_way(a: symbol, b: symbol)
.output one_way
one_way(a, b) :- trip(a, b), !trip(b, a).
.decl shortest(a: symbol, n: number, roads: number)
.output shortest
shortest(a, n, m) :- road(a, _, _), n = min k : { road(a, _, k) }, m = count : { road(a, _, _) }.
.decl thing(t: Thing, p: Place)
thing($Town(a), [strlen(a), n]) :- shortest(a, n, _).
thing($Bridge(n), [n, n]) :- road(_, _, n), n > 3.
.decl far(name: symbol, n: number)
.output far
far(a, y) :- thing($Town(a), [_, y]), y > 2.
far("bridge", n) :- thing($Bridge(n), _).
.decl same(a: symbol, b: symbol) eqrel
.output same
same(a, b) :- road(a, b, n), n = 1.
"""
OUTPUTS = ("trip", "one_way", "shortest", "far", "same")
TOWNS = ("ulm", "bonn", "kiel", "jena")

PIPELINE = """
program = "program.dl"
state   = "state"
[inputs.road]
format = "csv"
path   = "data"
[changes.road]
format = "json"
path   = "feed"
op     = "op"
[outputs.trip]
format = "json"
path   = "out/trip"
[outputs.shortest]
format = "json"
path   = "out/shortest"
[outputs.same]
format = "json"
path   = "out/same"
"""


def rows_of(database: Any) -> dict[str, list[Any]]:
    return {name: database.relation(name).rows() for name in OUTPUTS}


def history(engine: str, path: Path | None, **options: Any) -> None:
    """Changes facts and clauses in epochs; after each, the rows are those of a new database in this process."""
    chance = random.Random(3)
    program = tidelog.compile(PROGRAM)
    held: set[Any] = set()
    new_clause = "trip(a, a) :- road(a, _, _).\n"
    database = program.open(engine, path=path, **options)
    try:
        for epoch in range(4):
            gone = {row for row in sorted(held) if chance.random() < 0.4}
            new = {(chance.choice(TOWNS), chance.choice(TOWNS), chance.randrange(1, 6)) for _ in range(5)}
            held = (held - gone) | new
            with database.transaction() as tx:
                tx.delete("road", sorted(gone))
                tx.insert("road", sorted(new))
                if epoch == 2:
                    tx.add_rules(new_clause)
            text = PROGRAM + (new_clause if epoch >= 2 else "")
            with tidelog.compile(text).open() as fresh:
                with fresh.transaction() as tx:
                    tx.insert("road", sorted(held))
                assert rows_of(database) == rows_of(fresh)
            if path is not None and epoch == 1:
                database.close()
                database = tidelog.open(path, engine=engine, **options)
    finally:
        database.close()


@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: Any) -> None:
    history("spark", tmp_path / "db", spark=spark)


@pytest.mark.spark
def test_on_either_engine(spark: Any) -> None:
    history("auto", None, spark=spark)


def fed(folder: Path, engine: str, **options: Any) -> dict[str, set[tuple[Any, ...]]]:
    """Returns what the changes of a pipeline add up to, after a start and two batches."""
    folder.mkdir()
    pipe = Pipe(folder, PROGRAM, PIPELINE, engine)
    pipe.table("a,b,n\nulm,bonn,1\nbonn,kiel,4\n")
    pipe.run(**options)
    pipe.feed({"op": "+", "a": "kiel", "b": "ulm", "n": 2}, {"op": "-", "a": "ulm", "b": "bonn", "n": 1})
    pipe.run(**options)
    pipe.feed({"op": "+", "a": "jena", "b": "ulm", "n": 1}, {"op": "+", "a": "ulm", "b": "bonn", "n": 5})
    pipe.run(**options)
    return {name: pipe.summed(name) for name in ("trip", "shortest", "same")}


def expected() -> dict[str, set[tuple[Any, ...]]]:
    with tidelog.compile(PROGRAM).open() as database:
        with database.transaction() as tx:
            tx.insert("road", [("bonn", "kiel", 4), ("kiel", "ulm", 2), ("jena", "ulm", 1), ("ulm", "bonn", 5)])
        return {name: set(database.relation(name).rows()) for name in ("trip", "shortest", "same")}


def test_a_pipeline_in_this_process(tmp_path: Path) -> None:
    assert fed(tmp_path / "local", "local") == expected()


@pytest.mark.spark
def test_a_pipeline_on_spark(tmp_path: Path, spark: Any) -> None:
    assert fed(tmp_path / "spark", "spark", spark=spark) == expected()
