"""Changes and deltas: what they hold and how they can be looked at."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import tidelog
from tests.database.programs import FLAG, REACH, TYPES

EXTREMES = [
    (False, 0, 0, -(2**63), 0, ""),
    (True, 4095, 2**64 - 1, 2**63 - 1, 2**128 - 1, "é\n"),
]


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.compile(REACH).open() as database:
        with database.transaction() as tx:
            tx.insert("Edge", [("a", "b"), ("b", "c")])
        yield database


@pytest.fixture
def changes(db: tidelog.Database) -> tidelog.Changes:
    """Reach loses (a, c) and (b, c) and gains (a, d) and (b, d); Alone does not change."""
    with db.transaction() as tx:
        tx.delete("Edge", [("b", "c")])
        tx.insert("Edge", [("b", "d")])
    return tx.changes


def test_a_delta_gives_sorted_rows_and_iterates_in_value_order_with_weights(changes: tidelog.Changes) -> None:
    delta = changes["Reach"]
    assert delta.inserted == [("a", "d"), ("b", "d")]
    assert delta.deleted == [("a", "c"), ("b", "c")]
    assert list(delta) == [(("a", "c"), -1), (("a", "d"), 1), (("b", "c"), -1), (("b", "d"), 1)]
    assert len(delta) == 4
    assert repr(delta) == "<Delta Reach: +2 -2>"


def test_a_delta_as_a_table_has_a_weight_column(changes: tidelog.Changes) -> None:
    table = changes["Reach"].to_arrow()
    assert table.schema.names == ["src", "dst", "_weight"]
    assert table.schema.field("_weight").type == pa.int64()
    rows = {tuple(row.values()) for row in table.to_pylist()}
    assert rows == {("a", "c", -1), ("b", "c", -1), ("a", "d", 1), ("b", "d", 1)}
    frame = changes["Reach"].to_pandas()
    assert frame[frame._weight == 1].dst.tolist() == ["d", "d"]


def test_an_output_that_did_not_change_has_an_empty_delta_and_is_not_iterated(changes: tidelog.Changes) -> None:
    assert list(changes) == ["Reach"]
    assert len(changes) == 1
    assert "Alone" not in changes
    assert changes["Alone"].inserted == changes["Alone"].deleted == []
    assert list(changes["Alone"]) == []
    assert not changes["Alone"]
    assert changes["Alone"].to_arrow().schema.names == ["name", "_weight"]
    assert repr(changes) == "<Changes Reach: +2 -2>"


def test_a_name_that_is_no_output_is_an_error_with_a_way_out(changes: tidelog.Changes) -> None:
    for name, code, help_ in (
        ("Raech", "E804", "did you mean `Reach`?"),
        ("Edge", "E805", "read it with `db.relation('Edge')`"),
        ("Touched", "E805", "declare it as `output relation Touched(...)`"),
    ):
        with pytest.raises(tidelog.UsageError) as caught:
            changes[name]
        assert (caught.value.code, caught.value.help) == (code, help_)


def test_a_delta_keeps_its_epoch(db: tidelog.Database, changes: tidelog.Changes) -> None:
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b"), ("b", "d")])
    assert changes["Reach"].inserted == [("a", "d"), ("b", "d")]
    assert tx.changes["Reach"].deleted == [("a", "b"), ("a", "d"), ("b", "d")]


def test_the_local_engine_has_no_spark_frames(changes: tidelog.Changes) -> None:
    for name in ("Reach", "Alone"):
        with pytest.raises(tidelog.UsageError, match="Spark session"):
            changes[name].to_spark()


def test_values_of_every_type_come_back_as_they_went_in() -> None:
    with tidelog.compile(TYPES).open() as database:
        with database.transaction() as tx:
            tx.insert("In", EXTREMES)
        assert tx.changes["Out"].inserted == EXTREMES
        assert [tuple(map(type, row)) for row in tx.changes["Out"].inserted] == [tuple(map(type, r)) for r in EXTREMES]
        assert database.relation("Out").rows() == EXTREMES
        with database.transaction() as tx:
            tx.delete("In", EXTREMES[:1])
        assert list(tx.changes["Out"]) == [(EXTREMES[0], -1)]


def test_a_relation_without_columns_changes_like_any_other() -> None:
    with tidelog.compile(FLAG).open() as database:
        with database.transaction() as tx:
            tx.insert("Set", [()])
        assert list(tx.changes["Shown"]) == [((), 1)]
        assert tx.changes["Shown"].inserted == [()]
        assert tx.changes["Shown"].to_arrow().to_pylist() == [{"_weight": 1}]
        assert database.relation("Shown").rows() == [()]
        assert () in database.relation("Shown")
        with database.transaction() as tx:
            tx.delete("Set", [()])
        assert tx.changes["Shown"].deleted == [()]
        assert len(database.relation("Shown")) == 0


def test_a_column_named_weight_is_not_hidden_by_ours() -> None:
    text = "input relation In(_weight: u8)\noutput relation Out(_weight: u8)\nOut(x) :- In(x)."
    with tidelog.compile(text).open() as database:
        with database.transaction() as tx:
            tx.insert("In", [7])
        assert list(tx.changes["Out"]) == [((7,), 1)]
        with pytest.raises(tidelog.UsageError, match="column `_weight` of its own"):
            tx.changes["Out"].to_arrow()
