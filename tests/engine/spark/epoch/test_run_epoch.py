"""What an epoch leaves behind on Spark: files, DataFrames, reports; and what a failed one does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engine.spark.parity import Step, open_on_spark, write
from tests.engine.spark.programs import EDGES, LINEAR

import tidelog
from tidelog.database.database import Database
from tidelog.engine.spark.engine import KEEP_EPOCHS, SparkEngine
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.publish import last_manifest

pytestmark = pytest.mark.spark

CHAIN = [(i, i + 1) for i in range(30)]

DIVISION = (
    EDGES
    + """
output relation Reach(x: u32, y: u32)
output relation Ratio(x: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Ratio(x / y) :- Reach(x, y).
"""
)


def files_in(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*.parquet") if file.is_file()}


def files_named(path: Path) -> set[str]:
    """The state files that the manifest names."""
    manifest = last_manifest(StateDirectory(str(path)))
    assert manifest is not None
    return set(manifest.files)


@pytest.fixture
def chain(spark: Any, tmp_path: Path) -> Iterator[Database]:
    """The closure of a chain, decomposed, with its state in `tmp_path/state`."""
    path = str(tmp_path / "state")
    with open_on_spark(LINEAR, spark, path=path, plans={"Reach": "decomposed"}, buckets=2) as database:
        write(database, ({"Edge": CHAIN}, {}))
        yield database


def test_small_epochs_write_small_files_and_old_ones_go(chain: Database, tmp_path: Path) -> None:
    state = tmp_path / "state"
    base = {name for name in files_named(state) if "Reach.base." in name}
    assert len(base) == 2
    named = []
    for number in range(KEEP_EPOCHS + 3):
        write(chain, ({"Edge": [(100 + number, 200)]}, {}))
        named.append(files_named(state))
    assert base <= named[-1], "the base was written again for changes of one row"
    assert named[-1] <= files_in(state)
    left = {name for name in files_in(state) if ".changes." not in name}
    assert left == {name for names in named[-KEEP_EPOCHS - 1 :] for name in names if ".changes." not in name}
    assert not any(name.startswith("epoch-2/") and ".changes." in name for name in files_in(state))


def test_the_first_load_writes_each_row_once(chain: Database, tmp_path: Path) -> None:
    files = files_in(tmp_path / "state")
    assert not {name for name in files if "Reach.changes." in name}
    assert len({name for name in files if "Reach.base." in name}) == 2


def test_a_data_frame_outlives_the_epoch_it_was_made_in(chain: Database) -> None:
    frame = chain.relation("Reach").to_spark()
    write(chain, ({}, {"Edge": CHAIN[:15]}))
    assert frame.count() == 465
    assert len(chain.relation("Reach")) == 120


def test_changes_can_be_read_after_closing_a_database_without_a_directory(spark: Any) -> None:
    with open_on_spark(LINEAR, spark) as database:
        tx = write(database, ({"Edge": [(1, 2), (2, 3)]}, {}))
        engine = database._locked._engine
        assert isinstance(engine, SparkEngine)
        state = Path(engine._directory.address)
        assert files_named(state)
    assert not state.exists()
    assert tx.changes["Reach"].inserted == [(1, 2), (1, 3), (2, 3)]
    with pytest.raises(tidelog.UsageError, match="closed"):
        tx.changes["Reach"].to_spark()


@pytest.mark.parametrize("plan", ["single task", "frames"])
def test_a_failure_in_a_task_is_the_same_error_and_leaves_the_last_epoch(spark: Any, tmp_path: Path, plan: str) -> None:
    state = tmp_path / "state"
    with (
        tidelog.compile(DIVISION).open() as local,
        open_on_spark(DIVISION, spark, path=str(state), plans={"Reach": "decomposed", "Ratio": plan}) as remote,
    ):
        errors = []
        for database in (local, remote):
            write(database, ({"Edge": [(6, 3), (3, 2)]}, {}))
            with pytest.raises(tidelog.EvaluationError) as caught:
                write(database, ({"Edge": [(9, 0)]}, {"Edge": [(6, 3)]}))  # one failing row: tasks have no order
            errors.append((caught.value.message, caught.value.code, caught.value.help))
        assert errors[0] == errors[1]
        assert not (state / "epoch-2").exists(), "the failed epoch left files"
        steps: list[Step] = [({"Edge": [(2, 1)]}, {}), ({}, {"Edge": [(3, 2)]})]
        for step in steps:
            expected, found = write(local, step), write(remote, step)
            assert list(expected.changes["Ratio"]) == list(found.changes["Ratio"])
            assert local.relation("Reach").rows() == remote.relation("Reach").rows()
        assert remote.report.epoch == 3


def test_rows_of_every_kind_in_one_transaction_apply_in_call_order(spark: Any) -> None:
    with open_on_spark(EDGES, spark) as database:
        with database.transaction() as tx:
            tx.insert("Edge", spark.createDataFrame([(1, 1), (2, 2), (3, 3)], "x int, y long"))
            tx.delete("Edge", [(1, 1)])
            tx.delete("Edge", spark.sql("select 2L as y, cast(2 as decimal(10, 0)) as x union all select 9, 9"))
            tx.insert("Edge", pa.table({"x": [2, 2], "y": [2, 2]}))
        assert database.relation("Edge").rows() == [(2, 2), (3, 3)]
        with database.transaction() as tx:
            tx.insert("Edge", spark.createDataFrame([(3, 3)], "x int, y int"))
            tx.delete("Edge", spark.createDataFrame([(1, 1)], "x int, y int"))
        assert tx.report is None, "nothing changed, so there is no epoch"


def test_frames_have_the_types_that_spark_reads_from_parquet(spark: Any) -> None:
    text = """
    input relation R(ab: u8, aB: u16, c: u32, d: u64, e: s8, f: s64, g: bool, h: string, i: u128, _total: bit<40>)
    input relation Flag()
    """
    row = (255, 65535, 2**32 - 1, 2**64 - 1, -128, -(2**63), True, "ä", 2**128 - 1, 2**40 - 1)
    with open_on_spark(text, spark) as database:
        write(database, ({"R": [row], "Flag": [()]}, {}))
        frame = database.relation("R").to_spark()
        types = "smallint int bigint decimal(20,0) tinyint bigint boolean string string decimal(20,0)"
        assert [type_ for _, type_ in frame.dtypes] == types.split()
        assert [name for name, _ in frame.dtypes] == ["ab", "aB", "c", "d", "e", "f", "g", "h", "i", "_total"]
        (found,) = frame.collect()
        assert (*(int(value) if i in (3, 8, 9) else value for i, value in enumerate(found)),) == row
        flags = database.relation("Flag").to_spark()
        assert (flags.columns, flags.count()) == ([], 1)
        with database.transaction() as tx:
            tx.delete("R", frame)
        assert len(database.relation("R")) == 0
        with database.transaction() as tx:
            tx.delete("Flag", flags)
        assert database.relation("Flag").rows() == []


def test_a_report_says_where_and_how_and_why(chain: Database) -> None:
    write(chain, ({"Edge": [(500, 1)]}, {}))
    (stratum,) = chain.report.strata
    assert (stratum.relations, stratum.place, stratum.strategy) == (("Reach",), "decomposed", "update")
    assert stratum.reason == "the stratum is small; it is requested by `plans=`; 1 of 2 buckets"
    assert chain.report.rows == {"Edge": 31, "Reach": 495}
    assert (chain.report.inserted, chain.report.deleted) == (30, 0)


def test_membership_looks_into_the_right_bucket(chain: Database) -> None:
    reach = chain.relation("Reach")
    assert all((x, 30) in reach for x in range(30))
    assert (30, 0) not in reach
