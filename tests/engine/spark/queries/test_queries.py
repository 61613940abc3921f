"""Questions on Spark get the answers that they get locally; tasks run in this process, so that no Spark is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.engine.spark.in_process import NoSpark, run_tasks_here

import tidelog
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.plans import choose_plan
from tidelog.engine.spark.queries import queries

pytest.importorskip("pyspark")

PROGRAM = """
input relation Edge(src: string, dst: string)
input relation Blocked(node: string)
input relation Far(src: string, dst: string)
output relation Reach(src: string, dst: string)
output relation Lonely(node: string)
output relation Degree(node: string, count: bigint)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(y), x != z.
Lonely(x) :- Blocked(x), not Edge(_, x).
Degree(x, n) :- Edge(x, y), var n = y.group_by(x).count_distinct() as bigint.
Far(x, z) :- Far(x, y), Reach(y, z).
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "x"), ("x", "e"), ("q", "r")]
WHOLE = queries.WHOLE_ROWS


@pytest.fixture(params=["whole", "pruned"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tidelog.Database]]:
    """The same database on both engines; `pruned` as if it were large."""
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))
    monkeypatch.setattr(choose_plan, "RECURSIVE_SINGLE_TASK_ROWS", -1)
    monkeypatch.setattr(queries, "WHOLE_ROWS", WHOLE if request.param == "whole" else -1)
    program = tidelog.compile(PROGRAM)
    databases = [program.open(), program.open("spark", spark=NoSpark())]
    for database in databases:
        with database.transaction() as tx:
            tx.insert("Edge", EDGES)
            tx.insert("Blocked", ["x", "z"])
            tx.insert("Far", [("n", "a"), ("n", "q")])
        with database.transaction() as tx:
            tx.delete("Edge", EDGES[3:4])
            tx.insert("Edge", [("c", "e")])
    yield databases
    for database in databases:
        database.close()


@pytest.mark.parametrize(
    ("relation", "row"),
    [("Reach", ("a", "e")), ("Reach", ("a", "b")), ("Lonely", "z"), ("Degree", ("a", 2)), ("Far", ("n", "e"))],
)
def test_a_proof_is_that_of_the_local_engine(both: list[tidelog.Database], relation: str, row: Any) -> None:
    texts = [[str(db.explain(relation, row, shortest=shortest)) for shortest in (False, True)] for db in both]
    assert texts[0] == texts[1]


def test_a_fact_of_a_relation_that_rules_derive_too_is_a_fact(both: list[tidelog.Database]) -> None:
    assert [step.origin for step in both[1].explain("Far", ("n", "a"))] == ["input"]
    assert [len(db.explain("Far", ("n", "b"))) for db in both] == [4, 4]


@pytest.mark.parametrize(
    ("relation", "row"), [("Reach", ("x", "d")), ("Reach", ("a", "q")), ("Lonely", "x"), ("Degree", ("a", 3))]
)
def test_why_a_row_is_not_there_is_said_alike(both: list[tidelog.Database], relation: str, row: Any) -> None:
    texts = [str(db.why_not(relation, row)) for db in both]
    assert texts[0] == texts[1]


def test_a_row_that_is_there_and_one_that_is_not_are_told_apart(both: list[tidelog.Database]) -> None:
    for db in both:
        assert "is there" in str(db.why_not("Reach", ("a", "b")))
        with pytest.raises(tidelog.UsageError, match="E830"):
            db.explain("Reach", ("b", "a"))


@pytest.mark.parametrize(
    "query",
    [
        'Reach("a", x)',
        'Reach("a", x), not Edge("a", x)',
        'Reach(x, "e"), Edge(x, y), y != "e"',
        "Edge(x, y), not Reach(y, _)",
        "Edge(x, y), var n = y.group_by(x).count_distinct()",
        'Reach("nobody", x)',
    ],
)
def test_a_query_has_the_rows_that_it_has_locally(both: list[tidelog.Database], query: str) -> None:
    answers = [db.query(query) for db in both]
    assert answers[0].rows == answers[1].rows


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("Reach($from, x)", {"from": "a"}),
        ("Reach(x, y), y == $end", {"end": "e"}),
        ("Edge(x, _), not Edge($a, x)", {"a": "a"}),
        ("Degree(x, $n)", {"n": 2**70}),
        ("Degree(x, $n)", {"n": 2}),
        ("Edge(x, y), var n = y.group_by(x).count_distinct(), n > $n", {"n": 1}),
    ],
)
def test_parameters_have_the_answers_that_they_have_locally(
    both: list[tidelog.Database], query: str, params: dict[str, Any]
) -> None:
    local, spark = [db.query(query, params=params) for db in both]
    assert (local.columns, local.rows) == (spark.columns, spark.rows)


def test_limits_deadlines_and_tables_work_as_they_do_locally(both: list[tidelog.Database]) -> None:
    for db in both:
        cut = db.query("Reach(x, y)", limit=2)
        assert (len(cut), cut.is_cut) == (2, True)
        assert len(db.query("Reach(x, y)", deadline=60)) == len(db.relation("Reach"))
        assert pa.table(db.relation("Reach")).num_rows == len(db.relation("Reach"))
        with pytest.raises(tidelog.EvaluationError, match="longer than its deadline"):
            db.query("Reach(x, y)", deadline=1e-9)
    local, spark = (dict(db.relations) for db in both)
    assert local == spark


def test_files_and_batches_are_loaded_on_spark(both: list[tidelog.Database], tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("dst,src\n2,1\n3,2\n")
    table = pa.table({"src": ["4", "5"], "dst": ["5", "6"]})
    for db in both:
        with db.transaction() as tx:
            report = tx.load("Edge", tmp_path / "*.csv")
            tx.insert("Edge", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1)))
        assert (report.rows, report.files[0].header) == (2, "name")
        assert db.query("Reach($a, x)", params={"a": "1"}).rows == [("2",), ("3",)]
        assert db.query("Reach($a, x)", params={"a": "4"}).rows == [("5",), ("6",)]
        db.relation("Edge").write(tmp_path / f"{db._locked.engine_name}.parquet")
    first, second = (pyarrow.parquet.read_table(tmp_path / f"{name}.parquet") for name in ("local", "spark"))
    assert first.equals(second)


def test_look_ups_find_rows_by_any_columns(both: list[tidelog.Database]) -> None:
    for columns in ({"src": "a"}, {"dst": "e"}, {"src": "a", "dst": "e"}, {"src": "nobody"}):
        found = [db.relation("Reach").lookup(**columns) for db in both]
        assert found[0] == found[1]
    assert [("a", "e") in db.relation("Reach") for db in both] == [True, True]
    assert [("e", "a") in db.relation("Reach") for db in both] == [False, False]


def test_questions_see_the_last_commit(both: list[tidelog.Database]) -> None:
    for db in both:
        assert db.query('Reach("q", x)').rows == [("r",)]
        with db.transaction() as tx:
            tx.insert("Edge", [("r", "s")])
        assert db.query('Reach("q", x)').rows == [("r",), ("s",)]
        assert len(db.explain("Reach", ("q", "s"))) == 4


def test_a_profile_has_costs_of_strata_and_sizes_of_relations(both: list[tidelog.Database]) -> None:
    local, remote = (db.profile() for db in both)
    assert remote.epoch == local.epoch == 2
    rows = {each.name: each.rows for each in remote.relations}
    assert rows.pop("Degree#members1") == rows["Edge"]  # the local engine reads the members from `Edge`
    assert rows == {each.name: each.rows for each in local.relations}
    (reach,) = (each for each in remote.strata if each.relations == ("Reach",))
    assert (reach.epochs, reach.last.instances > 0) == (2, True)
    assert reach.total.seconds >= reach.last.seconds > 0
    assert all(each.bytes > 0 for each in remote.relations if each.rows)
    assert "Reach" in str(remote)


def test_only_rows_that_can_matter_are_read(both: list[tidelog.Database], monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, int] = {}
    rows_of = queries.Source.read

    def counted(source: queries.Source, relation: str, where: Any) -> Any:
        table = rows_of(source, relation, where)
        read[relation] = table.num_rows
        return table

    monkeypatch.setattr(queries.Source, "read", counted)
    if queries.WHOLE_ROWS == WHOLE:
        both[1].query('Reach("a", x)')
        both[1].query('Reach("b", x)')
        assert read == {"Reach": len(both[1].relation("Reach"))}
        return
    both[1].query('Reach("a", x)')
    assert read == {"Reach": 5}
    both[1].explain("Reach", ("b", "d"))
    assert read["Reach"] == len(both[1].relation("Reach").lookup(src="b"))
    assert "Far" not in read


def test_a_question_that_needs_too_many_rows_is_refused(
    both: list[tidelog.Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "WHOLE_ROWS", -1)
    monkeypatch.setattr(queries, "MOST_ROWS", 4)
    with pytest.raises(tidelog.UsageError, match=r"E832.*`Reach`"):
        both[1].query("Reach(x, y)")
    assert both[1].query('Reach("q", x)').rows == [("r",)]
