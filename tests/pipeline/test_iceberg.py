"""Iceberg tables as starting tables, feeds and outputs, with a catalog in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelog
from tests.pipeline.folder import REACH, Pipe, closure
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline.lake.iceberg_sink import IcebergSink

pytest.importorskip("pyiceberg")
from pyiceberg.catalog import load_catalog
from pyiceberg.types import StringType

SCHEMA = pa.schema([("id", pa.int64()), ("src", pa.string()), ("dst", pa.string())])


def place(folder: Path, table: str) -> str:
    uri, warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
    catalog = f'"catalog.name" = "x", "catalog.type" = "sql", "catalog.uri" = "{uri}"'
    return f'format = "iceberg"\noptions = {{table = "{table}", {catalog}, "catalog.warehouse" = "{warehouse}"}}\n'


def catalog(folder: Path) -> Any:
    found = load_catalog("x", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    found.create_namespace_if_not_exists("db")
    return found


def edges(*rows: Sequence[Any]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


def started(
    folder: Path, *rows: Sequence[Any], output: str = 'format = "json"\npath = "out/reach"\n'
) -> tuple[Pipe, Any]:
    table = catalog(folder).create_table("db.edges", schema=SCHEMA)
    if rows:
        table.append(edges(*rows))
    here = place(folder, "db.edges")
    file = 'program = "program.dl"\nstate = "state"\n'
    return Pipe(folder, REACH, f"{file}[inputs.Edge]\n{here}[changes.Edge]\n{here}[outputs.Reach]\n{output}"), table


def expected(table: Any) -> set[tuple[str, str]]:
    return closure({(row["src"], row["dst"]) for row in table.refresh().scan().to_arrow().to_pylist()})


def test_appends_deletes_and_overwrites_are_followed(tmp_path: Path) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"), (2, "b", "c"))
    assert [(step.batch, step.read) for step in pipe.run()] == [("start", 2)]
    table.append(edges((3, "c", "d")))
    table.append(edges((4, "c", "d"), (5, "d", "a")))
    (step,) = pipe.run()
    assert (step.read, pipe.summed("reach")) == (3, expected(table))
    table.delete("id = 2")
    pipe.run()
    assert pipe.summed("reach") == expected(table)
    table.overwrite(edges((1, "a", "z"), (6, "z", "a")), overwrite_filter="id = 1")
    table.delete("id = 3")
    (step,) = pipe.run()
    assert (step.conflicts, pipe.summed("reach")) == (0, expected(table))
    table.overwrite(edges((7, "q", "q")))
    pipe.run()
    assert pipe.summed("reach") == {("q", "q")}
    assert pipe.run() == []


def test_a_table_without_rows_is_a_beginning(tmp_path: Path) -> None:
    pipe, table = started(tmp_path)
    pipe.run()
    table.append(edges((1, "a", "b")))
    pipe.run()
    assert pipe.summed("reach") == {("a", "b")}


def test_a_table_that_was_made_again_is_refused(tmp_path: Path) -> None:
    pipe, _ = started(tmp_path, (1, "a", "b"))
    pipe.run()
    catalog(tmp_path).drop_table("db.edges")
    catalog(tmp_path).create_table("db.edges", schema=SCHEMA)
    with pytest.raises(DataError, match="dropped and made again") as caught:
        pipe.run()
    assert caught.value.code == "E872"


def test_a_rollback_behind_the_last_snapshot_is_refused(tmp_path: Path) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"))
    first = table.current_snapshot().snapshot_id
    table.append(edges((2, "b", "c")))
    pipe.run()
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    with pytest.raises(DataError, match="the table was rolled back") as caught:
        pipe.run()
    assert caught.value.code == "E870"


def test_a_snapshot_that_expired_is_an_error_that_says_how_to_start_again(tmp_path: Path) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"))
    first = table.current_snapshot().snapshot_id
    pipe.run()
    table.append(edges((2, "b", "c")))
    table.maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(DataError, match="expired") as caught:
        pipe.run()
    assert (caught.value.code, "a new `state`" in str(caught.value)) == ("E870", True)


def test_a_column_that_was_made_anew_is_refused(tmp_path: Path) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"))
    pipe.run()
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("dst")
    with table.update_schema() as update:
        update.add_column("dst", StringType())
    table.append(edges((2, "b", "c")).select(["id", "src", "dst"]))
    with pytest.raises(DataError, match="the column `dst` was dropped, renamed or made anew"):
        pipe.run()


def test_no_table_is_an_error(tmp_path: Path) -> None:
    pipe, _ = started(tmp_path)
    catalog(tmp_path).drop_table("db.edges")
    with pytest.raises(DataError, match="there is no such Iceberg table"):
        pipe.run()


def test_a_table_of_pyiceberg_is_inserted(tmp_path: Path) -> None:
    _, table = started(tmp_path, (1, "a", "b"), (2, "b", "c"))
    table.delete("id = 1")
    db = tidelog.compile(REACH).open()
    with db.transaction() as tx:
        tx.insert("Edge", table)
        tx.insert("Edge", table.scan(row_filter="id = 2"))
    assert db.relation("Reach").rows() == [("b", "c")]


def output(folder: Path, more: str = "") -> str:
    return place(folder, "db.reach") + more


def rows(folder: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in catalog(folder).load_table("db.reach").scan().to_arrow().to_pylist())


def test_an_output_table_has_the_relation(tmp_path: Path) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"), (2, "b", "c"), output=output(tmp_path))
    pipe.run()
    assert rows(tmp_path) == sorted(expected(table))
    for change in (
        lambda: table.append(edges((3, "c", "a"), (4, "x", "y"))),
        lambda: table.delete("id = 2"),
        lambda: table.overwrite(edges((5, "b", "x")), overwrite_filter="id = 3"),
    ):
        change()
        pipe.run()
        assert rows(tmp_path) == sorted(expected(table))
    snapshots = catalog(tmp_path).load_table("db.reach").snapshots()
    assert {each.summary.additional_properties["tidelog.epoch"] for each in snapshots} == {"1", "2", "3", "4"}


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_version_is_written_once_if_the_run_dies_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"), output=output(tmp_path))
    pipe.run()
    table.append(edges((2, "b", "c")))
    apply = IcebergSink._apply

    def dying(self: IcebergSink, *arguments: Any) -> None:
        if point == "after":
            apply(self, *arguments)
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(IcebergSink, "_apply", dying)
        with pytest.raises(OSError, match="killed"):
            pipe.run()
    pipe.run()
    assert rows(tmp_path) == sorted(expected(table))
    assert len(catalog(tmp_path).load_table("db.reach").snapshots()) == 2


def test_changes_mode_appends(tmp_path: Path) -> None:
    pipe, table = started(tmp_path, (1, "a", "b"), output=output(tmp_path, 'mode = "changes"\n'))
    pipe.run()
    table.delete("id = 1")
    pipe.run()
    assert rows(tmp_path) == [("a", "b", "+", 1), ("a", "b", "-", 2)]


def test_a_table_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    other = catalog(tmp_path).create_table("db.reach", schema=pa.schema([("src", pa.string()), ("dst", pa.string())]))
    other.append(pa.table({"src": ["mine"], "dst": ["too"]}))
    pipe, _ = started(tmp_path, (1, "a", "b"), output=output(tmp_path))
    with pytest.raises(DataError, match="the table has rows that are not those of `Reach`"):
        pipe.run()
