"""Buckets on disk: what is visible, when a delta becomes part of its base, what is cut how."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.engine.spark.programs import rules_of

from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import (
    TOTAL,
    Bucket,
    Changed,
    Cut,
    Stored,
    changes_table,
    read_changes,
    read_rows,
    write_bucket,
    write_whole,
)
from tidelog.rules.ir import Relation

RELATIONS = rules_of("input relation R(x: u64, name: string)\ninput relation Flag()").relations
VALUES = ["c0", "c1"]


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    directory = StateDirectory(str(tmp_path / "state"))
    directory.make(1)
    return directory


def table_of(rows: list[tuple[int, str]], total: int = 1) -> pa.Table:
    columns = [pa.array([row[0] for row in rows], pa.uint64()), pa.array([row[1] for row in rows], pa.string())]
    return pa.Table.from_arrays([*columns, pa.array([total] * len(rows), pa.int64())], names=[*VALUES, TOTAL])


def rows_in(directory: StateDirectory, bucket: Bucket, relation: Relation = RELATIONS["R"]) -> list[tuple[int, str]]:
    table = read_rows(directory, relation, Stored("label", False, None, (bucket,)))
    return sorted(tuple(row[name] for name in VALUES) for row in table.to_pylist())


def never() -> pa.Table:
    raise AssertionError("the whole bucket was read for a small change")


def test_a_small_change_is_a_delta_over_the_same_base(directory: StateDirectory) -> None:
    rows = [(i, f"n{i}") for i in range(100)]
    base = write_whole(directory, 1, "R", table_of(rows))
    changed = pa.concat_tables([table_of([(7, "n7")], total=0), table_of([(2**64 - 1, "new")])])
    once = write_bucket(directory, 1, "R", base, 100, changed, never)
    assert (once.base, once.base_rows, once.delta_rows, once.rows) == (base.base, 100, 2, 100)
    assert rows_in(directory, once) == sorted([row for row in rows if row[0] != 7] + [(2**64 - 1, "new")])


def test_a_later_change_lies_over_the_earlier_one(directory: StateDirectory) -> None:
    rows = [(i, f"n{i}") for i in range(100)]
    bucket = write_whole(directory, 1, "R", table_of(rows))
    bucket = write_bucket(directory, 1, "R", bucket, 99, table_of([(7, "n7")], total=0), never)
    bucket = write_bucket(directory, 1, "R", bucket, 99, table_of([(8, "n8")], total=0), never)
    bucket = write_bucket(directory, 1, "R", bucket, 99, table_of([(7, "n7")]), never)
    assert bucket.delta_rows == 2
    assert rows_in(directory, bucket) == [row for row in rows if row[0] != 8]


def test_many_small_changes_write_few_rows_each(directory: StateDirectory) -> None:
    rows = {i: f"n{i}" for i in range(1000)}
    bucket = write_whole(directory, 1, "R", table_of(list(rows.items())))
    written, bases = 0, {bucket.base}
    for change in range(300):
        rows[change] = "changed"
        changed = pa.concat_tables([table_of([(change, f"n{change}")], total=0), table_of([(change, "changed")])])
        bucket = write_bucket(directory, 1, "R", bucket, 1000, changed, lambda: table_of(list(rows.items())))
        written += bucket.delta_rows if bucket.delta is not None else bucket.base_rows
        bases.add(bucket.base)
    assert rows_in(directory, bucket) == sorted(rows.items())
    # Two rows a change: after 31 changes the deltas have 2 + 4 + … + 62 rows, as many as the base.
    assert written == 300 // 32 * (992 + 1000) + sum(range(2, 2 * (300 % 32) + 1, 2))
    assert len(bases) == 1 + 300 // 32


def test_a_delta_that_grows_large_becomes_part_of_the_base(directory: StateDirectory) -> None:
    bucket = write_whole(directory, 1, "R", table_of([(i, "") for i in range(10)]))
    bucket = write_bucket(directory, 1, "R", bucket, 12, table_of([(10, ""), (11, "")]), never)
    whole = table_of([(i, "") for i in range(13)])
    bucket = write_bucket(directory, 1, "R", bucket, 13, table_of([(12, "")]), lambda: whole)
    assert (bucket.delta, bucket.base_rows, bucket.rows) == (None, 13, 13)


def test_a_bucket_that_becomes_empty_has_no_files(directory: StateDirectory) -> None:
    bucket = write_whole(directory, 1, "R", table_of([(1, "a")]))
    emptied = write_bucket(directory, 1, "R", bucket, 0, table_of([(1, "a")], total=0), lambda: table_of([]))
    assert emptied == Bucket()
    assert rows_in(directory, emptied) == []


def test_a_cut_reads_one_bucket_whether_the_relation_is_stored_that_way_or_not(directory: StateDirectory) -> None:
    relation = RELATIONS["R"]
    rows = [(i, f"n{i}") for i in range(50)]
    one = Stored("label", False, None, (write_whole(directory, 1, "R", table_of(rows)),))
    parts = [read_rows(directory, relation, one, Cut(1, 3, bucket)) for bucket in range(3)]
    assert sum(part.num_rows for part in parts) == 50
    buckets = tuple(write_whole(directory, 1, "R", part) for part in parts)
    three = Stored("label", False, 1, buckets)
    for bucket in range(3):
        assert read_rows(directory, relation, three, Cut(1, 3, bucket)).equals(parts[bucket])
        again = read_rows(directory, relation, three, Cut(0, 3, bucket))
        assert sorted(again["c0"].to_pylist()) == sorted(
            read_rows(directory, relation, one, Cut(0, 3, bucket))["c0"].to_pylist()
        )


def test_a_relation_without_columns_is_there_or_gone(directory: StateDirectory) -> None:
    flag = RELATIONS["Flag"]
    unit = pa.table({TOTAL: pa.array([1], pa.int64())})
    there = write_whole(directory, 1, "Flag", unit)
    assert read_rows(directory, flag, Stored("label", False, None, (there,))).num_rows == 1
    gone = Bucket(0, there.base, 1, write_whole(directory, 1, "Flag", pa.table({TOTAL: pa.array([0])})).base[0], 1)
    assert read_rows(directory, flag, Stored("label", False, None, (gone,))).num_rows == 0


def test_changes_come_back_as_they_were_written(directory: StateDirectory) -> None:
    file = directory.new_name(1, "R", "changes")
    directory.write(file, changes_table(VALUES, table_of([(1, "a")]), table_of([(2, "b"), (3, "c")])))
    found = read_changes(directory, RELATIONS["R"], Changed((file,), 1, 2)).to_pylist()
    assert [(row["c0"], row[TOTAL]) for row in found] == [(1, 1), (2, 0), (3, 0)]


def test_names_are_never_used_twice_and_sweeping_keeps_only_what_is_named(directory: StateDirectory) -> None:
    names = [directory.new_name(1, "a#b::c", "base") for _ in range(3)]
    assert len(set(names)) == 3
    for name in names:
        directory.write(name, table_of([(1, "a")]))
    directory.sweep(1, keep=names[:1])
    assert directory.row_count(names[:1]) == 1
    with pytest.raises(FileNotFoundError):
        directory.row_count(names[1:2])
    directory.sweep(1, keep=())
    assert not (Path(directory.address) / "epoch-1").exists()
