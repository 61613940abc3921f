"""NaN is a value like others on Spark, too: found, deleted, proved and told to be a key twice, as on the local engine.

Neither Arrow's comparisons nor the statistics of Parquet count it. Tasks run in this process; no Spark is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engine.spark.in_process import NoSpark, run_tasks_here

import tidelog
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.plans import choose_plan
from tidelog.engine.spark.queries import queries

pytest.importorskip("pyspark")

NAN = float("nan")
PROGRAM = """
input relation Double(x: double)
input relation Single(x: float)
input relation Wide(x: double, n: u32, y: float)
output relation Copy(x: double, n: u32)
output relation Chain(x: double, n: u32)
Copy(x, n) :- Wide(x, n, _).
Chain(x, n) :- Copy(x, n).
Chain(x, n + 1) :- Chain(x, n), n < 5.
"""
WIDE = [(NAN, 1, NAN), (NAN, 2, 1.5), (1.5, 1, NAN), (1.5, 2, 1.5), (2.5, 9, 0.0)]


@pytest.fixture(params=["decomposed", "single task"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tidelog.Database]]:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))
    monkeypatch.setattr(queries, "WHOLE_ROWS", -1)
    monkeypatch.setattr(choose_plan, "RECURSIVE_SINGLE_TASK_ROWS", -1 if request.param == "decomposed" else 1000)
    program = tidelog.compile(PROGRAM)
    databases = [program.open(), program.open("spark", spark=NoSpark())]
    for database in databases:
        with database.transaction() as tx:
            tx.insert("Double", [NAN, 1.5])
            tx.insert("Single", [NAN, 1.5])
            tx.insert("Wide", WIDE)
    yield databases
    for database in databases:
        database.close()


def test_it_is_found_in_one_column_and_in_several(both: list[tidelog.Database]) -> None:
    for name in ("Double", "Single"):
        local, remote = (database.relation(name) for database in both)
        for value in (NAN, 1.5, 2.5):
            assert (value in remote, remote.lookup(x=value)) == (value in local, local.lookup(x=value)), (name, value)
        assert NAN in remote
    local, remote = (database.relation("Wide") for database in both)
    keys = ({"x": NAN}, {"y": NAN}, {"x": NAN, "n": 2}, {"x": NAN, "y": NAN}, {"x": 1.5, "y": NAN}, {"x": NAN, "n": 7})
    assert [len(remote.lookup(**key)) for key in keys] == [2, 2, 1, 1, 1, 0]
    for key in keys:
        assert remote.lookup(**key) == local.lookup(**key), key
    assert [row in remote for row in (*WIDE, (NAN, 1, 1.5))] == [True] * 5 + [False]
    local, remote = (database.relation("Chain") for database in both)
    assert remote.lookup(x=NAN) == local.lookup(x=NAN)
    assert (NAN, 5) in remote


def test_it_is_proved_and_deleted(both: list[tidelog.Database]) -> None:
    local, remote = both
    assert str(remote.explain("Chain", (NAN, 5))) == str(local.explain("Chain", (NAN, 5)))
    for database in both:
        with database.transaction() as tx:
            tx.delete("Wide", WIDE[:2])
            tx.delete("Double", [NAN])
        assert database.relation("Double").rows() == [(1.5,)]
        assert NAN not in database.relation("Double")
        assert database.relation("Chain").lookup(x=NAN) == []


def test_a_functional_relation_has_one_row_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))
    program = tidelog.compile("#[functional = 1]\ninput relation Only(x: double, n: u32)\n")
    said = []
    for database in (program.open(), program.open("spark", spark=NoSpark())):
        with database:
            with database.transaction() as tx:
                tx.insert("Only", [(NAN, 1), (1.5, 1)])
            with pytest.raises(tidelog.EvaluationError) as caught, database.transaction() as tx:
                tx.insert("Only", [(NAN, 2)])
            said.append(str(caught.value))
    assert said[0] == said[1]
    assert "E609" in said[0]
