"""Delta and Iceberg feeds on Spark, read, added up and compared by tasks: the same epochs as on the local engine."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.pipeline.folder import REACH_FROM_DELTA, Pipe, closure
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline.spark import site as spark_site

deltalake = pytest.importorskip("deltalake")

pytestmark = pytest.mark.spark

PROGRAM = """
input relation Edge(src: u64, dst: u64, name: string, note: Option<string>)
output relation Reach(src: u64, dst: u64)
Reach(x, y) :- Edge(x, y, _, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _, _).
"""
Edge = tuple[int, int, str | None, int]


def table(rows: list[Edge]) -> pa.Table:
    src, dst, note, more = zip(*rows, strict=True) if rows else ((), (), (), ())
    numbers = [pa.array(each, pa.int64()) for each in (src, dst, more)]
    texts = [pa.array([f"n{x}" for x in src], pa.string()), pa.array(note, pa.string())]
    return pa.table([*numbers[:2], *texts, numbers[2]], ["src", "dst", "name", "note", "more"])


def some(rng: random.Random, count: int) -> list[Edge]:
    return [
        (rng.randrange(12), rng.randrange(12), rng.choice((None, "a", "b")), rng.randrange(3)) for _ in range(count)
    ]


@pytest.fixture(params=["few", "many"])
def in_tasks(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts are read by tasks; the net changes are compared in the driver (few) or by Spark."""
    monkeypatch.setattr(spark_site, "FEW_BYTES", -1)
    monkeypatch.setattr(spark_site, "FEW_ROWS", 1_000_000 if request.param == "few" else -1)


def reached(pipe: Pipe) -> set[tuple[Any, ...]]:
    return pipe.summed("reach")


@pytest.mark.parametrize("has_feed", [True, False])
def test_histories_of_a_delta_table_give_the_epochs_of_the_local_engine(
    tmp_path: Path, spark: Any, in_tasks: None, has_feed: bool
) -> None:
    rng, pipes = random.Random(11), []
    for engine in ("local", "spark"):
        (tmp_path / engine).mkdir()
        pipes.append(Pipe(tmp_path / engine, PROGRAM, REACH_FROM_DELTA.replace('"edges"', '"../edges"'), engine))
    options = {"configuration": {"delta.enableChangeDataFeed": "true"}} if has_feed else {}
    path = tmp_path / "edges"
    deltalake.write_deltalake(path, table(some(rng, 14)), **options)
    for epoch in range(5):
        if epoch:
            deltalake.write_deltalake(path, table(some(rng, 6)), mode="append")
            deltalake.DeltaTable(path).delete(f"src = {rng.randrange(12)} and more = {rng.randrange(3)}")
            deltalake.DeltaTable(path).update({"dst": "dst + 1"}, predicate=f"more = {rng.randrange(3)} and dst < 11")
        if epoch == 3:
            deltalake.DeltaTable(path).optimize.compact()
        for pipe in pipes:
            pipe.run(spark=spark if pipe.engine == "spark" else None)
        here, there = pipes
        rows = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
        assert reached(there) == reached(here) == closure({(each["src"], each["dst"]) for each in rows})
        assert [(step.read, step.conflicts, step.changes) for step in there.steps] == [
            (step.read, step.conflicts, step.changes) for step in here.steps
        ]
        assert copies(there) == copies(here)


def copies(pipe: Pipe) -> Counter[Any]:
    """The copies beyond the first that the feed has noted."""
    from tidelog.compile_program import compile_program
    from tidelog.diagnostics.spans import Source
    from tidelog.pipeline.copies import Copies

    rules = compile_program(Source("<test>", PROGRAM)).rules
    folder = pipe.folder / "state" / "feeds" / "copies"
    return Counter(dict(Copies(folder, rules.relations["Edge"], rules.functions.definitions, 10**6).all()))


def test_a_bad_row_in_a_task_has_the_message_of_the_local_engine(tmp_path: Path, spark: Any, in_tasks: None) -> None:
    said = []
    for engine in ("local", "spark"):
        (tmp_path / engine).mkdir()
        pipe = Pipe(tmp_path / engine, PROGRAM, REACH_FROM_DELTA.replace('"edges"', '"../edges"'), engine)
        if engine == "local":
            deltalake.write_deltalake(tmp_path / "edges", table([(3, 1, None, 0), (4, -5, None, 0)]))
        with pytest.raises(DataError) as raised:
            pipe.run(spark=spark if engine == "spark" else None)
        said.append((raised.value.message, raised.value.code))
        pipe.run(spark=spark if engine == "spark" else None, skip_bad=True)
        assert [step.bad for step in pipe.steps] == [1]
        assert reached(pipe) == {(3, 1)}
    assert said[0] == said[1]
    assert "row 2" in said[0][0]


def test_a_file_that_is_gone_is_named_by_the_task(tmp_path: Path, spark: Any, in_tasks: None) -> None:
    pipe = Pipe(tmp_path, PROGRAM, REACH_FROM_DELTA, "spark")
    deltalake.write_deltalake(tmp_path / "edges", table([(3, 1, None, 0)]))
    for file in (tmp_path / "edges").glob("*.parquet"):
        file.unlink()
    with pytest.raises(DataError, match="no longer exists"):
        pipe.run(spark=spark)


def test_parts_of_an_iceberg_table_travel_without_their_catalog(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog

    from tidelog.lake.iceberg_table import IcebergChanges

    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    catalog = SqlCatalog("default", **properties)
    catalog.create_namespace("db")
    iceberg = catalog.create_table("db.edges", table([]).schema)
    iceberg.append(table([(3, 1, None, 0), (4, 2, "x", 1)]))
    changes = IcebergChanges("db.edges", properties, ["src", "dst"])
    parts = changes.parts(None, changes.start(None))
    assert sum(part.size or 0 for part in parts) > 0
    read = [rows.rows.to_pylist() for part in pickle.loads(pickle.dumps(parts)) for rows in part()]
    assert read == [[{"src": 3, "dst": 1}, {"src": 4, "dst": 2}]]
