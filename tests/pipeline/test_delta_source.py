"""Delta tables as starting tables and feeds: every change of rows once, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.pipeline.folder import Pipe, closure
from tidelog.diagnostics.errors import DataError

deltalake = pytest.importorskip("deltalake")

FILE = """
program = "program.dl"
state   = "state"
[inputs.Edge]
format = "delta"
path   = "edges"
[changes.Edge]
format = "delta"
path   = "edges"
[outputs.Reach]
format = "json"
path   = "out/reach"
"""

FEED = {"delta.enableChangeDataFeed": "true"}


def edges(*rows: Sequence[Any]) -> pa.Table:
    schema = pa.schema([("id", pa.int64()), ("src", pa.string()), ("dst", pa.string())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def made(pipe: Pipe, *rows: Sequence[Any], feed: bool = True, **more: Any) -> Any:
    deltalake.write_deltalake(pipe.folder / "edges", edges(*rows), configuration=FEED if feed else None, **more)
    return table(pipe)


def table(pipe: Pipe) -> Any:
    return deltalake.DeltaTable(pipe.folder / "edges")


def add(pipe: Pipe, *rows: Sequence[Any], **more: Any) -> None:
    deltalake.write_deltalake(pipe.folder / "edges", edges(*rows), mode="append", **more)


def expected(pipe: Pipe) -> set[tuple[str, str]]:
    rows = table(pipe).to_pyarrow_table(columns=["src", "dst"]).to_pylist()
    return closure({(row["src"], row["dst"]) for row in rows})


@pytest.mark.parametrize("feed", [True, False], ids=["with-feed", "without-feed"])
@pytest.mark.parametrize("partition", [None, ["src"]], ids=["plain", "partitioned"])
def test_inserts_deletes_and_updates_are_followed(tmp_path: Path, feed: bool, partition: list[str] | None) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"), (2, "b", "c"), (3, "x y", "ü/%"), feed=feed, partition_by=partition)
    (start,) = pipe.run()
    assert (start.read, pipe.summed("reach")) == (3, expected(pipe))
    add(pipe, (4, "c", "a"), (5, "c", "d"))
    table(pipe).delete("src = 'b'")
    pipe.run()
    assert pipe.summed("reach") == expected(pipe)
    table(pipe).update(predicate="id = 4", updates={"dst": "'x y'"})
    table(pipe).update(predicate="id = 5", updates={"id": "50"})
    source = edges((1, "a", "c"), (9, "d", "a")).rename_columns(["id", "src", "dst"])
    merge = table(pipe).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    (step,) = pipe.run()
    assert (step.batch, step.conflicts) == ("1", 0)
    assert pipe.summed("reach") == expected(pipe)
    table(pipe).restore(1)
    pipe.run()
    assert pipe.summed("reach") == expected(pipe)
    deltalake.write_deltalake(tmp_path / "edges", edges((1, "z", "z")), mode="overwrite")
    pipe.run()
    assert pipe.summed("reach") == {("z", "z")}


def test_with_the_feed_an_update_reads_the_changed_rows_only(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, *[(i, "a", str(i)) for i in range(100)])
    pipe.run()
    table(pipe).update(predicate="id = 5", updates={"dst": "'q'"})
    (step,) = pipe.run()
    assert (step.read, step.changes) == (2, {"Reach": (1, 1)})


def test_equal_rows_are_counted(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"), (2, "a", "b"))
    pipe.run()
    table(pipe).delete("id = 1")
    assert pipe.run()[0].changes == {}
    table(pipe).delete("id = 2")
    assert pipe.run()[0].changes == {"Reach": (0, 1)}


def test_compaction_and_vacuum_are_no_changes(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"))
    add(pipe, (2, "b", "c"))
    pipe.run()
    table(pipe).optimize.compact()
    table(pipe).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    (step,) = pipe.run()
    assert (step.read, step.report) == (0, None)
    add(pipe, (3, "c", "d"))
    pipe.run()
    assert pipe.summed("reach") == expected(pipe)


def test_versions_per_batch_can_be_limited(tmp_path: Path) -> None:
    file = FILE.replace('path   = "edges"\n[outputs', 'path = "edges"\noptions = {maxVersionsPerTrigger = 1}\n[outputs')
    pipe = Pipe(tmp_path, file=file)
    made(pipe, (1, "a", "b"))
    pipe.run()
    add(pipe, (2, "b", "c"))
    table(pipe).delete("id = 2")
    add(pipe, (3, "c", "d"))
    assert [(step.batch, step.read) for step in pipe.run()] == [("0", 1), ("1", 1), ("2", 1)]


def test_files_that_were_vacuumed_are_an_error_that_says_how_to_start_again(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"), (2, "b", "c"), feed=False)
    pipe.run()
    table(pipe).delete("id = 1")
    table(pipe).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(DataError, match="no longer exists") as caught:
        pipe.run()
    assert (caught.value.code, "a new `state`" in str(caught.value)) == ("E870", True)


def test_a_log_that_was_cleaned_is_an_error(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"))
    pipe.run()
    add(pipe, (2, "b", "c"))
    add(pipe, (3, "c", "d"))
    table(pipe).create_checkpoint()
    for version in (0, 1):
        (tmp_path / f"edges/_delta_log/{version:020}.json").unlink()
    with pytest.raises(DataError, match="the log of version 1 was deleted") as caught:
        pipe.run()
    assert caught.value.code == "E870"


def test_a_table_that_was_made_again_is_refused(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"))
    pipe.run()
    shutil.rmtree(tmp_path / "edges")
    made(pipe, (1, "a", "c"))
    add(pipe, (2, "b", "c"))
    with pytest.raises(DataError, match="it was dropped and made again") as caught:
        pipe.run()
    assert caught.value.code == "E872"


def test_a_new_column_is_read_where_the_relation_has_it_and_else_ignored(tmp_path: Path) -> None:
    program = """
input relation Edge(src: string, dst: string, note: Option<string>)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y, Some{_}).
"""
    pipe = Pipe(tmp_path, program, FILE)
    made(pipe, (1, "a", "b"))
    pipe.run()
    row = edges((2, "b", "c")).append_column("note", pa.array(["new"])).append_column("other", pa.array([1]))
    deltalake.write_deltalake(tmp_path / "edges", row, mode="append", schema_mode="merge")
    pipe.run()
    assert pipe.summed("reach") == {("b", "c")}
    table(pipe).delete("id = 2")
    pipe.run()
    assert pipe.summed("reach") == set()


def test_a_column_that_changes_its_place_in_files_is_refused(tmp_path: Path) -> None:
    """Column mapping lets a column be dropped or renamed without a change of any file."""
    pipe = Pipe(tmp_path, file=FILE)
    map_columns(made(pipe, (1, "a", "b"), (2, "b", "c")), tmp_path / "edges", {})
    pipe.run()
    assert pipe.summed("reach") == expected_edges({("a", "b"), ("b", "c")})
    map_columns(table(pipe), tmp_path / "edges", {"dst": "other"})
    with pytest.raises(DataError, match="the column `dst` was dropped, renamed or made anew") as caught:
        pipe.run()
    assert caught.value.code == "E872"


def test_mapped_columns_are_found_by_their_names_in_files(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE.replace('"edges"', '"edges"'))
    deltalake.write_deltalake(tmp_path / "edges", edges((1, "a", "b")).rename_columns(["id", "c-1", "c-2"]))
    map_columns(table(pipe), tmp_path / "edges", {"c-1": "src", "c-2": "dst"})
    pipe.run()
    assert pipe.summed("reach") == {("a", "b")}


def test_unknown_features_are_refused_by_name(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"))
    pipe.run()
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["x"], "writerFeatures": ["x"]}
    append_version(tmp_path / "edges", {"protocol": protocol})
    with pytest.raises(DataError, match="the feature `x`, which is not supported") as caught:
        pipe.run()
    assert caught.value.code == "E871"


def test_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="edges: there is no Delta table"):
        Pipe(tmp_path, file=FILE).run()


def test_a_table_of_operations_is_a_feed_of_records(tmp_path: Path) -> None:
    file = FILE.partition("[inputs")[0] + FILE[FILE.index("[changes") :].replace(
        'path   = "edges"', 'path="edges"\nop="op"'
    )
    pipe = Pipe(tmp_path, file=file)
    rows = pa.table({"op": ["+", "+"], "src": ["a", "b"], "dst": ["b", "c"]})
    deltalake.write_deltalake(tmp_path / "edges", rows)
    pipe.run()
    deltalake.write_deltalake(tmp_path / "edges", rows.slice(0, 1).set_column(0, "op", pa.array(["-"])), mode="append")
    pipe.run()
    assert pipe.summed("reach") == {("b", "c")}


def expected_edges(rows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return closure(rows)


def map_columns(now: Any, folder: Path, names: dict[str, str]) -> None:
    """Writes the version that a rename of columns makes: metadata with other names for the columns of files."""
    found = now.metadata()
    schema = json.loads(now.schema().to_json())
    for place, field in enumerate(schema["fields"], 1):
        physical = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
        field["metadata"] = {"delta.columnMapping.id": place, "delta.columnMapping.physicalName": physical}
        field["name"] = names.get(field["name"], field["name"])
    metadata = {
        "id": str(found.id),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {"delta.columnMapping.mode": "name"},
        "createdTime": 0,
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    append_version(folder, {"protocol": protocol}, {"metaData": metadata})


def append_version(folder: Path, *actions: dict[str, Any]) -> None:
    number = max(int(path.stem) for path in (folder / "_delta_log").glob("*.json")) + 1
    lines = [json.dumps(action) for action in ({"commitInfo": {"timestamp": 0, "operation": "TEST"}}, *actions)]
    (folder / f"_delta_log/{number:020}.json").write_text("\n".join(lines) + "\n")
