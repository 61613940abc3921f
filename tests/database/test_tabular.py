"""Relations, deltas and answers as tables of other libraries."""

from __future__ import annotations

from typing import Any

import polars
import pyarrow as pa
import pytest

import tidelog
from tests.database.queries.test_explain import opened
from tidelog.database.database import Database

REACH = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
EDGES: list[object] = [("a", "b"), ("b", "c")]
REACHED = [("a", "b"), ("a", "c"), ("b", "c")]


@pytest.fixture
def db() -> Database:
    return opened(REACH, Edge=EDGES)


def of(db: Database) -> list[Any]:
    """A relation, an answer and a delta with the rows of `REACHED`."""
    return [db.relation("Reach"), db.query("Reach(src, dst)"), tidelog_delta(db)]


def tidelog_delta(db: Database) -> Any:
    with db.transaction() as tx:
        tx.clear("Edge")
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
    return tx.changes["Reach"]


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((row["src"], row["dst"]) for row in table.to_pylist())


def test_arrow_and_polars_take_them_directly(db: Database) -> None:
    for each in of(db):
        assert rows(pa.table(each)) == REACHED
        assert rows(polars.DataFrame(each).to_arrow()) == REACHED
        assert rows(each.to_polars().to_arrow()) == REACHED
        assert sorted(zip(each.to_pandas()["src"], each.to_pandas()["dst"])) == REACHED


def test_duckdb_takes_them_directly(db: Database) -> None:
    duckdb = pytest.importorskip("duckdb")
    for reach in of(db):
        assert duckdb.sql("select count(*) from reach where src = 'a'").fetchall() == [(2,)]
        assert reach is not None


def test_batches_have_at_most_so_many_rows_and_all_of_them(db: Database) -> None:
    for each in of(db):
        batches = list(each.batches(2))
        assert [batch.num_rows for batch in batches] == [2, 1]
        assert rows(pa.Table.from_batches(batches)) == REACHED
        with pytest.raises(tidelog.UsageError, match="`rows` is 0"):
            each.batches(0)


def test_values_that_are_not_plain_go_to_polars(db: Database) -> None:
    text = "input relation A(x: Vec<u8>, y: Option<string>, z: (bool, u8), m: Map<string, u8>)"
    with opened(text, A=[([1, 2], None, (True, 3), {"k": 1})]) as other:
        (row,) = other.relation("A").to_polars().to_dicts()
        assert row["x"] == [1, 2]
        assert row["y"] is None
        assert row["z"] == {"_0": True, "_1": 3}


def test_an_empty_relation_has_its_schema(db: Database) -> None:
    with opened(REACH) as empty:
        assert empty.relation("Reach").to_polars().schema == {"src": polars.String, "dst": polars.String}
        assert pa.table(empty.relation("Reach")).schema.names == ["src", "dst"]


def test_a_relation_given_as_rows_is_still_read_by_position(db: Database) -> None:
    text = "input relation A(x: string, y: string)"
    with opened(text) as other:
        with other.transaction() as tx:
            tx.insert("A", db.relation("Reach"))
        assert other.relation("A").rows() == REACHED


def test_without_polars_the_error_has_the_command(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(tidelog.MissingDependencyError, match="polars is not installed") as caught:
        db.relation("Reach").to_polars()
    assert "pip install" in str(caught.value)


def test_an_answer_renders_as_a_table(db: Database) -> None:
    html = db.query("Reach(x, y)")._repr_html_()
    assert "3 rows of (x, y)" in html
    assert "<td>a</td>" in html
