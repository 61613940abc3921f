"""Tables of pipelines, and the state of a database on Spark, on an object store (`tests.object_store`).

The tasks of the state run in this process, because Spark itself would need its own connector (`hadoop-aws`) to read the
store for DataFrames. So what is tested is all that Tidelog does there by itself: manifests, state files, kept changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import tidelog
from tests.engine.spark.small_epochs import _run_here
from tests.object_store import BUCKET, object_store
from tests.pipeline.folder import REACH, Pipe, closure
from tidelog.diagnostics.errors import DataError, TidelogError
from tidelog.engine.spark.session import LazySession

pytest.importorskip("moto.server", reason='needs a stand-in for S3: pip install "moto[server]"')

PROGRAM = tidelog.compile(REACH)


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with object_store() as endpoint:
        yield endpoint


def edges(*rows: tuple[int, str, str]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(("id", "src", "dst"), row, strict=True)) for row in rows])


def test_delta_tables_on_a_store_are_followed_and_written(store: str, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    source, target = f"s3://{BUCKET}/delta/edges", f"s3://{BUCKET}/delta/reach"
    feed = {"delta.enableChangeDataFeed": "true"}
    deltalake.write_deltalake(source, edges((1, "a", "b"), (2, "b", "c")), configuration=feed)
    pipe = Pipe(
        tmp_path,
        REACH,
        'program = "program.dl"\nstate = "state"\n'
        f'[changes.Edge]\nformat = "delta"\npath = "{source}"\n'
        f'[outputs.Reach]\nformat = "delta"\npath = "{target}"\n',
    )

    def written() -> list[tuple[str, str]]:
        rows = deltalake.DeltaTable(target).to_pyarrow_table().to_pylist()
        return sorted((row["src"], row["dst"]) for row in rows)

    pipe.run()
    assert written() == sorted(closure([("a", "b"), ("b", "c")]))
    deltalake.DeltaTable(source).delete("id = 1")
    deltalake.write_deltalake(source, edges((3, "c", "a")), mode="append")
    (step,) = pipe.run()
    assert (step.read, written()) == (2, sorted(closure([("b", "c"), ("c", "a")])))
    assert deltalake.DeltaTable(target).version() == 2
    with PROGRAM.open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", deltalake.DeltaTable(source))
        assert db.relation("Reach").rows() == written()


def test_iceberg_tables_on_a_store_are_followed_and_written(store: str, tmp_path: Path) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog")
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"s3://{BUCKET}/iceberg",
        "s3.endpoint": store,
    }
    catalog = catalogs.load_catalog("x", **properties)
    catalog.create_namespace("db")
    table = catalog.create_table("db.edges", schema=edges((1, "a", "b")).schema)
    table.append(edges((1, "a", "b"), (2, "b", "c")))
    options = ", ".join(f'"catalog.{name}" = "{value}"' for name, value in {"name": "x", **properties}.items())

    def place(name: str) -> str:
        return f'format = "iceberg"\noptions = {{table = "{name}", {options}}}\n'

    file = f'program = "program.dl"\nstate = "state"\n[changes.Edge]\n{place("db.edges")}'
    pipe = Pipe(tmp_path, REACH, f"{file}[outputs.Reach]\n{place('db.reach')}")

    def written() -> list[tuple[str, str]]:
        rows = catalog.load_table("db.reach").scan().to_arrow().to_pylist()
        return sorted((row["src"], row["dst"]) for row in rows)

    pipe.run()
    assert written() == sorted(closure([("a", "b"), ("b", "c")]))
    table.delete("id = 1")
    table.append(edges((3, "c", "a")))
    pipe.run()
    assert written() == sorted(closure([("b", "c"), ("c", "a")]))


def test_files_of_the_local_engine_on_a_store_are_refused(tmp_path: Path) -> None:
    file = f'program = "program.dl"\nstate = "state"\n[inputs.Edge]\nformat = "parquet"\npath = "s3://{BUCKET}/edges"\n'
    with pytest.raises(TidelogError, match="s3://"):
        Pipe(tmp_path, REACH, file).run()


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.engine.spark.epoch.run_epoch.run_tasks", _run_here)


def opened(name: str, **options: Any) -> tidelog.Database:
    address = f"s3a://{BUCKET}/{name}"
    return PROGRAM.open("spark", spark=LazySession(), path=address, plans={"Reach": "decomposed"}, **options)


def commit(db: tidelog.Database, inserted: list[tuple[str, str]], deleted: list[tuple[str, str]]) -> None:
    with db.transaction() as tx:
        tx.delete("Edge", deleted)
        tx.insert("Edge", inserted)


@pytest.mark.usefixtures("store", "in_process")
def test_a_state_on_a_store_is_kept_and_found_again() -> None:
    with opened("kept", keep_changes=10) as db:
        commit(db, [("a", "b"), ("b", "c")], [])
        commit(db, [("c", "a")], [])
    with opened("kept", keep_changes=10) as db:
        assert db.report.epoch == 2
        assert set(db.relation("Reach").rows()) == closure([("a", "b"), ("b", "c"), ("c", "a")])
        commit(db, [("c", "d")], [("c", "a")])
        assert set(db.relation("Reach").rows()) == closure([("a", "b"), ("b", "c"), ("c", "d")])
        assert [len(changes) for changes in db.changes_since(1)] == [2, 2]


@pytest.mark.usefixtures("store", "in_process")
def test_a_second_writer_of_a_state_on_a_store_ends_the_first() -> None:
    first = opened("twice")
    commit(first, [("a", "b")], [])
    with opened("twice") as second:
        commit(second, [("b", "c")], [])
        with pytest.raises(TidelogError) as caught:
            commit(first, [("x", "y")], [])
        assert caught.value.code == "E851"
    first.close()
    with opened("twice") as db:
        assert set(db.relation("Reach").rows()) == closure([("a", "b"), ("b", "c")])


@pytest.mark.usefixtures("store", "in_process")
def test_a_commit_that_the_store_refuses_leaves_the_last_one(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened("refused") as db:
        commit(db, [("a", "b")], [])
        with monkeypatch.context() as patch:
            patch.setattr("tidelog.engine.spark.epoch.run_epoch.run_tasks", _fail)
            with pytest.raises(OSError, match="the store is gone"):
                commit(db, [("b", "c")], [])
        assert db.relation("Reach").rows() == [("a", "b")]
        commit(db, [("b", "c")], [])
    with opened("refused") as db:
        assert set(db.relation("Reach").rows()) == closure([("a", "b"), ("b", "c")])
    files = pafs.S3FileSystem(endpoint_override=store)
    found = [info.path for info in files.get_file_info(pafs.FileSelector(f"{BUCKET}/refused", recursive=True))]
    assert [path for path in found if path.endswith(".parquet")]


def _fail(*_: object) -> None:
    raise OSError("the store is gone")


def test_no_bucket_is_an_error_that_names_it(store: str, tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    file = 'program = "program.dl"\nstate = "state"\n[changes.Edge]\nformat = "delta"\npath = "s3://nowhere/edges"\n'
    with pytest.raises(DataError, match="s3://nowhere/edges"):
        Pipe(tmp_path, REACH, file).run()
