"""`tx.load`, rows that come in batches, and `write`: files and lazy tables in and out."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import tidelog
from tests.database.queries.test_explain import opened
from tidelog.database.database import Database

TEXT = """
input relation Edge(src: string, n: u32)
input relation Host(id: u32, name: string) primary key (h) h.id
input multiset Seen(id: u32)
input relation Nested(id: u32, tags: Vec<string>)
output relation Out(src: string, n: u32)
Out(s, n) :- Edge(s, n).
"""
ROWS = [("a", 1), ("b", 2)]
TABLE = pa.table({"src": ["a", "b"], "n": [1, 2]})


@pytest.fixture
def db() -> Database:
    return opened(TEXT)


def loaded(db: Database, path: Any, relation: str = "Edge", **options: Any) -> list[tuple[Any, ...]]:
    with db.transaction() as tx:
        tx.load(relation, path, **options)
    return db.relation(relation).rows()


def write(path: Path) -> Path:
    """Writes `TABLE` in the format of the name."""
    name, text = path.name, "src,n\na,1\nb,2\n"
    if name.endswith(".csv"):
        path.write_text(text)
    elif name.endswith(".tsv"):
        path.write_text(text.replace(",", "\t"))
    elif name.endswith(".csv.gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".csv.zst"):
        with pa.OSFile(str(path), "wb") as raw, pa.CompressedOutputStream(raw, "zstd") as packed:
            packed.write(text.encode())
    elif name.endswith((".jsonl", ".ndjson")):
        path.write_text('{"src": "a", "n": 1}\n["b", 2]\n')
    elif name.endswith(".jsonl.zst"):
        with pa.OSFile(str(path), "wb") as raw, pa.CompressedOutputStream(raw, "zstd") as packed:
            packed.write(b'{"src": "a", "n": 1}\n["b", 2]\n')
    elif name.endswith(".parquet"):
        pyarrow.parquet.write_table(TABLE, path)
    elif name.endswith(".feather"):
        pyarrow.feather.write_feather(TABLE, path)
    else:
        with pa.OSFile(str(path), "wb") as raw, pa.ipc.new_stream(raw, TABLE.schema) as stream:
            stream.write_table(TABLE)
    return path


@pytest.mark.parametrize(
    "ending",
    ["csv", "tsv", "csv.gz", "csv.zst", "jsonl", "ndjson", "jsonl.zst", "parquet", "feather", "arrow"],
)
def test_each_format_is_loaded(db: Database, tmp_path: Path, ending: str) -> None:
    assert loaded(db, write(tmp_path / f"any name.{ending}")) == ROWS


def test_a_pattern_and_a_list_name_several_files(db: Database, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,1\n")
    (tmp_path / "two.csv").write_text("n,src\n2,b\n")
    (tmp_path / "three.tsv").write_text("c\t3\n")
    with db.transaction() as tx:
        report = tx.load("Edge", str(tmp_path / "*.csv"))
    assert [(each.path.name, each.rows, each.header) for each in report.files] == [
        ("one.csv", 1, "none"),
        ("two.csv", 1, "name"),
    ]
    assert report.rows == 2
    assert str(report).endswith("two.csv: 1 row, header by name")
    assert loaded(db, [tmp_path / "one.csv", str(tmp_path / "t*.tsv")]) == [*ROWS, ("c", 3)]


def test_a_folder_of_parquet_and_another_format_than_the_name_tells(db: Database, tmp_path: Path) -> None:
    (tmp_path / "parts.parquet").mkdir()
    write(tmp_path / "parts.parquet" / "part-0.parquet")
    assert loaded(db, tmp_path / "parts.parquet") == ROWS
    (tmp_path / "data.txt").write_text("c,3\n")
    assert loaded(db, tmp_path / "data.txt", format="csv") == [*ROWS, ("c", 3)]


def test_columns_of_a_parquet_file_may_count_by_position(db: Database, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE.rename_columns(["from", "number"]), tmp_path / "x.parquet")
    with pytest.raises(tidelog.DataError, match="have a column `from`"):
        loaded(db, tmp_path / "x.parquet")
    assert loaded(db, tmp_path / "x.parquet", header="position") == ROWS


def test_a_header_by_position_is_said(db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "e.csv").write_text("from,count\na,1\n")
    with caplog.at_level(logging.INFO, "tidelog"), db.transaction() as tx:
        report = tx.load("Edge", tmp_path / "e.csv")
    assert report.files[0].header == "position"
    assert "header by position" in repr(report)
    assert "header by position" in caplog.text
    assert db.relation("Edge").rows() == [("a", 1)]


def test_keyed_relations_multisets_and_nested_values_are_loaded(db: Database, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("id,name\n1,a\n2,b\n")
    assert loaded(db, tmp_path / "h.csv", "Host") == [(1, "a"), (2, "b")]
    with pytest.raises(tidelog.TransactionError, match="the key 1 is there"):
        loaded(db, tmp_path / "h.csv", "Host")
    (tmp_path / "s.csv").write_text("1\n1\n2\n")
    loaded(db, tmp_path / "s.csv", "Seen")
    assert db.relation("Seen").weights() == [((1,), 2), ((2,), 1)]
    (tmp_path / "n.jsonl").write_text('{"id": 1, "tags": ["x", "y"]}\n')
    ((number, tags),) = loaded(db, tmp_path / "n.jsonl", "Nested")
    assert (number, list(tags)) == (1, ["x", "y"])


@pytest.mark.parametrize("relation", ["Edge", "Host", "Seen"])
def test_a_load_that_fails_leaves_the_transaction_as_it_was(db: Database, tmp_path: Path, relation: str) -> None:
    first = {"Edge": "a,1\n", "Host": "1,a\n", "Seen": "1\n"}[relation]
    (tmp_path / "1.csv").write_text(first)
    (tmp_path / "2.csv").write_text("oh,no,this\n")
    with db.transaction() as tx:
        tx.insert(relation, [{"Edge": ("z", 9), "Host": (9, "z"), "Seen": (9,)}[relation]])
        with pytest.raises(tidelog.DataError, match=r"2\.csv:1"):
            tx.load(relation, str(tmp_path / "*.csv"))
    assert len(db.relation(relation)) == 1


def test_bad_rows_can_be_left_out_and_are_counted(db: Database, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,n\na,1\nb,x\nc,3\n")
    with db.transaction() as tx:
        report = tx.load("Edge", tmp_path / "e.csv", on_bad_row="skip")
    assert report.files[0].skipped == 1
    assert "1 bad row left out" in str(report)
    assert db.relation("Edge").rows() == [("a", 1), ("c", 3)]


@pytest.mark.parametrize(
    ("path", "options", "error", "said"),
    [
        ("nothing.csv", {}, tidelog.DataError, "there is no such file"),
        ("edgs.csv", {}, tidelog.DataError, "did you mean"),
        ("*.parquet", {}, tidelog.DataError, "no file matches"),
        ("data.txt", {}, tidelog.DataError, "does not say what kind of file it is"),
        (
            "edges.csv",
            {"header": "maybe"},
            tidelog.UsageError,
            "it must be one of 'detect', 'name', 'position', 'none'",
        ),
        ("edges.csv", {"format": "xml"}, tidelog.UsageError, "`format` is 'xml'"),
        ("edges.csv", {"on_bad_row": "drop"}, tidelog.UsageError, "'fail' or 'skip'"),
    ],
)
def test_mistakes_are_named(
    db: Database, tmp_path: Path, path: str, options: Any, error: type[Exception], said: str
) -> None:
    for name in ("edges.csv", "data.txt"):
        (tmp_path / name).write_text("a,1\n")
    with db.transaction() as tx, pytest.raises(error, match=said):
        tx.load("Edge", str(tmp_path / path), **options)


def test_tables_that_come_in_batches_are_inserted_upserted_and_deleted(db: Database, tmp_path: Path) -> None:
    write(tmp_path / "e.parquet")
    batches = TABLE.to_batches(max_chunksize=1)
    tables: list[Callable[[], Any]] = [
        lambda: pa.RecordBatchReader.from_batches(TABLE.schema, iter(batches)),
        lambda: pyarrow.dataset.dataset(tmp_path / "e.parquet"),
        lambda: pyarrow.dataset.dataset(tmp_path / "e.parquet").scanner(),
        lambda: polars.scan_parquet(tmp_path / "e.parquet"),
        lambda: polars.DataFrame({"n": [1, 2], "src": ["a", "b"]}).lazy(),
    ]
    for rows in tables:
        with db.transaction() as tx:
            tx.insert("Edge", rows())
        assert tx.changes["Out"].inserted == ROWS
        with db.transaction() as tx:
            tx.delete("Edge", rows())
        assert tx.changes["Out"].deleted == ROWS
    with db.transaction() as tx:
        tx.upsert("Host", polars.DataFrame({"id": [1, 1], "name": ["a", "b"]}).lazy())
    assert db.relation("Host").rows() == [(1, "b")]


def test_a_file_given_as_rows_is_told_about_load(db: Database) -> None:
    for path in ("edges/*.parquet", Path("edges.csv.gz")):
        with db.transaction() as tx, pytest.raises(tidelog.DataError) as caught:
            tx.insert("Edge", path)
        assert f'`tx.load("Edge", {str(path)!r})` reads a file' in str(caught.value)


def test_a_bad_row_of_a_later_batch_is_counted_from_the_first(db: Database) -> None:
    schema = pa.schema({"src": pa.string(), "n": pa.int64()})
    batches = [pa.record_batch({"src": ["a"], "n": [1]}, schema), pa.record_batch({"src": ["b"], "n": [-1]}, schema)]
    with db.transaction() as tx, pytest.raises(tidelog.DataError, match="row 2, column `n` of `Edge`"):
        tx.insert("Edge", pa.RecordBatchReader.from_batches(schema, batches))
    assert len(db.relation("Edge")) == 0


def test_categories_of_polars_and_arrow_are_texts(db: Database) -> None:
    """They used to raise a bare ArrowNotImplementedError."""
    kinds = [polars.Categorical, polars.Enum(["a", "b"])]
    frames: list[Any] = [polars.DataFrame({"src": polars.Series(["a", "b"], dtype=k), "n": [1, 2]}) for k in kinds]
    frames.append(TABLE.set_column(0, "src", TABLE["src"].dictionary_encode()))
    frames.append(TABLE.set_column(0, "src", TABLE["src"].cast(pa.large_string()).dictionary_encode()))
    frames.append(TABLE.to_pandas().astype({"src": "category"}))
    for frame in frames:
        with db.transaction() as tx:
            tx.clear("Edge")
            tx.insert("Edge", frame)
        assert db.relation("Edge").rows() == ROWS
    missing = polars.DataFrame({"src": polars.Series(["a", None], dtype=polars.Categorical), "n": [1, 2]})
    with db.transaction() as tx, pytest.raises(tidelog.DataError, match="row 2, column `src` of `Edge`: null"):
        tx.insert("Edge", missing)


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "facts", "jsonl", "parquet", "arrow", "feather", "csv.gz", "csv.zst", "jsonl.gz"]
)
def test_a_relation_and_an_answer_are_written_and_loaded_again(db: Database, tmp_path: Path, ending: str) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [*ROWS, ('c, "d"' if ending != "facts" else "c", 3)])
    rows = db.relation("Edge").rows()
    db.relation("Edge").write(tmp_path / f"relation.{ending}")
    db.query("Edge(src, n)").write(str(tmp_path / f"answer.{ending}"))
    for name in ("relation", "answer"):
        with opened(TEXT) as other:
            assert loaded(other, tmp_path / f"{name}.{ending}") == rows
    first = (tmp_path / f"relation.{ending}").read_bytes()
    db.relation("Edge").write(tmp_path / f"relation.{ending}")
    assert (tmp_path / f"relation.{ending}").read_bytes() == first


def test_a_multiset_is_written_with_its_weights_and_a_strange_name_is_refused(db: Database, tmp_path: Path) -> None:
    with db.transaction() as tx:
        tx.insert("Seen", [1, 1, 2])
    db.relation("Seen").write(tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text() == "id\n1\n1\n2\n"
    with pytest.raises(tidelog.UsageError, match="does not say in which format"):
        db.relation("Seen").write(tmp_path / "s.xlsx")
    with pytest.raises(tidelog.UsageError, match="cannot write"):
        db.relation("Seen").write(tmp_path / "no" / "s.csv")
