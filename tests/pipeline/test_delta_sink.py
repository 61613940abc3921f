"""Delta tables as outputs: the relation as a table, one version per epoch, each exactly once."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from tests.pipeline.folder import REACH, Pipe, closure
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline.lake.delta_sink import DeltaSink
from tidelog.pipeline.sinks import Sinks

deltalake = pytest.importorskip("deltalake")

FILE = """
program = "program.dl"
state   = "state"
[inputs.Edge]
format = "csv"
path   = "data"
[changes.Edge]
format = "json"
path   = "feed"
op     = "op"
[outputs.Reach]
format = "delta"
path   = "out/reach"
"""


def edge(op: str, src: str, dst: str) -> dict[str, str]:
    return {"op": op, "src": src, "dst": dst}


def started(folder: Path, file: str = FILE, program: str = REACH) -> Pipe:
    pipe = Pipe(folder, program, file)
    pipe.table("src,dst\na,b\nb,c\n")
    return pipe


def table(pipe: Pipe, name: str = "reach") -> Any:
    return deltalake.DeltaTable(pipe.folder / "out" / name)


def rows(pipe: Pipe, name: str = "reach") -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table(pipe, name).to_pyarrow_table().to_pylist())


def feed_sums(pipe: Pipe) -> Counter[tuple[Any, ...]]:
    """The rows that the table's own change data feed adds up to."""
    sums: Counter[tuple[Any, ...]] = Counter()
    for row in pa.table(table(pipe).load_cdf(starting_version=0)).to_pylist():
        sign = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}[row["_change_type"]]
        sums[row["src"], row["dst"]] += sign
    return Counter({row: count for row, count in sums.items() if count})


def test_the_table_has_the_relation_and_a_version_for_each_epoch(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    assert (set(rows(pipe)), table(pipe).version()) == (closure({("a", "b"), ("b", "c")}), 1)
    pipe.feed(edge("+", "c", "d"), edge("-", "a", "b"))
    pipe.run()
    pipe.feed(edge("+", "c", "d"))
    pipe.run()  # nothing changes
    pipe.feed(edge("+", "d", "e"))
    pipe.run()
    now = closure({("b", "c"), ("c", "d"), ("d", "e")})
    assert (rows(pipe), table(pipe).version()) == (sorted(now), 3)
    assert feed_sums(pipe) == Counter(now)
    changed = pa.table(table(pipe).load_cdf(starting_version=2, ending_version=2))
    assert len(changed) == 4, "a version has the changes of its epoch and no others"


def test_other_tools_read_the_table(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    pipe.feed(edge("-", "a", "b"), edge("+", "c", "d"))
    pipe.run()
    expected = sorted(closure({("b", "c"), ("c", "d")}))
    assert pl.read_delta(str(tmp_path / "out/reach")).sort("src", "dst").rows() == expected
    connection = duckdb.connect()
    connection.register("reach", table(pipe).to_pyarrow_dataset())
    assert connection.sql("SELECT src, dst FROM reach ORDER BY ALL").fetchall() == expected


def test_the_output_of_one_pipeline_is_the_feed_of_another(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    (tmp_path / "next").mkdir()
    program = (
        "input relation Reach(src: string, dst: string)\noutput relation Loop(x: string)\nLoop(x) :- Reach(x, x).\n"
    )
    file = """
program = "program.dl"
state = "state"
[changes.Reach]
format = "delta"
path = "../out/reach"
[outputs.Loop]
format = "delta"
path = "out/loop"
"""
    follower = Pipe(tmp_path / "next", program, file)
    follower.run()
    for change, loops in (("+", ["a", "b", "c"]), ("-", [])):
        pipe.feed(edge(change, "c", "a"))
        pipe.run()
        follower.run()
        assert rows(follower, "loop") == [(x,) for x in loops]


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_version_is_written_once_if_the_run_dies_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    pipe = started(tmp_path)
    pipe.run()
    pipe.feed(edge("+", "c", "a"), edge("-", "a", "b"))
    apply = DeltaSink._apply

    def dying(self: DeltaSink, *arguments: Any) -> None:
        if point == "after":
            apply(self, *arguments)
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaSink, "_apply", dying)
        with pytest.raises(OSError, match="killed"):
            pipe.run()
    assert table(pipe).version() == (2 if point == "after" else 1)
    pipe.run()
    assert (set(rows(pipe)), table(pipe).version()) == (closure({("b", "c"), ("c", "a")}), 2)


def test_changes_that_were_not_committed_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = started(tmp_path)
    pipe.run()
    pipe.feed(edge("+", "c", "a"))
    prepare = Sinks.prepare

    def dying(self: Sinks, *arguments: Any) -> None:
        prepare(self, *arguments)
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Sinks, "prepare", dying)
        with pytest.raises(OSError, match="killed"):
            pipe.run()
    assert table(pipe).version() == 1
    pipe.run()
    assert (set(rows(pipe)), table(pipe).version()) == (closure({("a", "b"), ("b", "c"), ("c", "a")}), 2)


def test_changes_mode_appends_the_changes_with_the_columns_of_delta(tmp_path: Path) -> None:
    pipe = started(tmp_path, FILE + 'mode = "changes"\n')
    pipe.run()
    pipe.feed(edge("-", "a", "b"))
    pipe.run()
    found = table(pipe).to_pyarrow_table().to_pylist()
    kept = sorted((row["src"], row["dst"], row["_change_type"], row["_commit_version"]) for row in found)
    inserted = [("a", "b", "insert", 1), ("a", "c", "insert", 1), ("b", "c", "insert", 1)]
    assert kept == sorted([*inserted, ("a", "b", "delete", 2), ("a", "c", "delete", 2)])
    assert all(row["_commit_timestamp"].tzinfo for row in found)
    pipe = started(tmp_path, FILE + 'mode = "changes"\nchange_columns = "tidelog"\n')
    with pytest.raises(DataError, match="the table has other columns than `Reach`"):
        pipe.run()


def test_a_multiset_has_its_weights(tmp_path: Path) -> None:
    program = """
input multiset Edge(src: string, dst: string)
output multiset Reach(dst: string)
Reach(y) :- Edge(_, y).
"""
    pipe = started(tmp_path, program=program)
    pipe.table("src,dst\na,b\nb,b\nc,d\n")
    pipe.run()
    assert rows(pipe) == [("b", 2), ("d", 1)]
    pipe.feed(edge("-", "a", "b"), edge("-", "c", "d"), edge("+", "e", "f"), edge("+", "g", "f"))
    pipe.run()
    assert rows(pipe) == [("b", 1), ("f", 2)]


def test_a_relation_without_columns_is_a_row_or_none(tmp_path: Path) -> None:
    program = "input relation Edge(src: string, dst: string)\noutput relation Reach()\nReach() :- Edge(_, _).\n"
    pipe = started(tmp_path, program=program)
    pipe.run()
    assert rows(pipe) == [(True,)]
    pipe.feed(edge("-", "a", "b"), edge("-", "b", "c"))
    pipe.run()
    assert rows(pipe) == []


def test_null_values_are_deleted_like_others(tmp_path: Path) -> None:
    program = """
input relation Edge(src: string, dst: Option<string>)
output relation Reach(src: string, dst: Option<string>, x: Option<double>)
Reach(x, y, None) :- Edge(x, y).
"""
    pipe = started(tmp_path, program=program)
    pipe.table('{"src": "a", "dst": null}\n{"src": "a", "dst": "b"}\n', "data/rows.json")
    pipe.write_file(FILE.replace('"csv"', '"json"'))
    (tmp_path / "data/rows.csv").unlink()
    pipe.run()
    assert len(table(pipe).to_pyarrow_table()) == 2
    pipe.feed({"op": "-", "src": "a", "dst": None})
    pipe.run()
    assert rows(pipe) == [("a", "b", None)]


def test_an_output_that_is_added_later_begins_with_all_rows(tmp_path: Path) -> None:
    pipe = started(tmp_path, FILE.partition("[outputs")[0])
    pipe.run()
    pipe.write_file(FILE)
    pipe.run()
    assert set(rows(pipe)) == closure({("a", "b"), ("b", "c")})


def test_a_table_that_was_removed_is_made_again_with_all_rows(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    shutil.rmtree(tmp_path / "out/reach")
    pipe.run()
    assert set(rows(pipe)) == closure({("a", "b"), ("b", "c")})


def test_a_new_state_replaces_the_rows_of_its_own_table(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    shutil.rmtree(tmp_path / "state")
    pipe.table("src,dst\nx,y\n")
    pipe.run()
    assert rows(pipe) == [("x", "y")]


def test_a_table_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    deltalake.write_deltalake(tmp_path / "out/reach", pa.table({"src": ["mine"], "dst": ["too"]}))
    with pytest.raises(DataError, match="the table has rows that are not those of `Reach`") as caught:
        pipe.run()
    assert (caught.value.code, rows(pipe)) == ("E872", [("mine", "too")])


def test_a_table_that_was_made_before_keeps_its_partitions(tmp_path: Path) -> None:
    schema = deltalake.Schema.from_arrow(pa.schema([("src", pa.string()), ("dst", pa.string())]))
    deltalake.DeltaTable.create(tmp_path / "out/reach", schema, partition_by=["src"])
    pipe = started(tmp_path)
    pipe.run()
    pipe.feed(edge("-", "a", "b"))
    pipe.run()
    assert (rows(pipe), table(pipe).metadata().partition_columns) == ([("b", "c")], ["src"])


def test_durations_are_refused_by_name(tmp_path: Path) -> None:
    program = """
input relation Edge(src: string, dst: string)
input relation More(d: Vec<duration>)
output relation Reach(d: Vec<duration>)
Reach(d) :- More(d).
"""
    with pytest.raises(DataError, match="the column `d` of `Reach` has durations, which Delta does not have") as caught:
        started(tmp_path, program=program).run()
    assert caught.value.code == "E871"
