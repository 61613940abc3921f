"""`keep_changes`: the changes of the last epochs stay readable, epoch by epoch, on both engines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.kill import server
from tests.database.transactions.kill_batches import PROGRAM as COUNTED
from tidelog.database.storage import journal
from tidelog.engine import kept_changes

ENGINES = ("local", "auto")
MIXED = """
typedef T = A{x: u8} | B{t: string}
input relation In(n: u32, t: T, maybe: Option<string>)
input multiset Bag(n: u32)
input stream Event(n: u32)
output relation Out(n: u32, t: T, maybe: Option<string>)
output multiset Twice(n: u32)
output stream Seen(n: u32)
Out(n, t, m) :- In(n, t, m).
Twice(n / 2) :- Bag(n).
Seen(n) :- Event(n).
"""
Weighted = dict[str, dict[Any, int]]


def committed(db: tidelog.Database, insert: dict[str, Any], delete: dict[str, Any] | None = None) -> Weighted:
    """Commits, and returns the changes of the commit by relation."""
    with db.transaction() as tx:
        for name, rows in (delete or {}).items():
            tx.delete(name, rows)
        for name, rows in insert.items():
            tx.insert(name, rows)
    return weights(tx.changes)


def weights(changes: tidelog.Changes) -> Weighted:
    return {name: dict(iter(delta)) for name, delta in changes.items()}


def kept(db: tidelog.Database, after: int) -> dict[int, Weighted]:
    return {changes.epoch or 0: weights(changes) for changes in db.changes_since(after)}


def edges(*names: str) -> dict[str, Any]:
    return {"Edge": [(name[0], name[1]) for name in names]}


@pytest.mark.parametrize("engine", ENGINES)
def test_kept_changes_are_those_that_the_commits_returned(engine: str, tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open(engine, path=tmp_path, keep_changes=100) as db:
        given = {
            1: committed(db, edges("ab", "bc")),
            2: committed(db, edges("cd"), edges("ab")),
            3: committed(db, {"Edge": [(f"n{i}", f"n{i + 1}") for i in range(40)]}),
        }
        assert kept(db, -1) == {0: {}, **given}
        assert kept(db, 2) == {3: given[3]}
        assert list(db.changes_since(3)) == []
    with tidelog.open(tmp_path) as db:
        assert kept(db, 0) == given
        given[4] = committed(db, edges("xy"))
        assert kept(db, 1) == {number: given[number] for number in (2, 3, 4)}


@pytest.mark.parametrize("engine", ENGINES)
def test_values_of_all_kinds_and_weights_are_kept(engine: str, tmp_path: Path) -> None:
    program = tidelog.compile(MIXED)
    types = program.types
    with program.open(engine, path=tmp_path, keep_changes=10) as db:
        rows: dict[str, list[Any]] = {
            "In": [(1, types.A(x=2), None), (2, types.B(t="ü"), "m")],
            "Bag": [2, 3, 3],
            "Event": [7],
        }
        given = {1: committed(db, rows), 2: committed(db, {"Bag": [9]}, {"In": rows["In"][:1], "Bag": [3]})}
        assert given[1]["Twice"] == {(1,): 3}
        assert given[1]["Seen"] == {(7,): 1}
        assert kept(db, 0) == given
    with tidelog.open(tmp_path, read_only=True) as reader:
        assert kept(reader, 0) == given


@pytest.mark.parametrize("engine", ENGINES)
def test_a_database_keeps_as_many_epochs_as_it_was_told(engine: str, tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(engine, path=tmp_path, keep_changes=3) as db:
        for number in range(10):
            committed(db, edges(f"a{number}"))
        assert list(kept(db, 7)) == [8, 9, 10]
        with pytest.raises(
            tidelog.UsageError, match="after epoch 6 are gone: the database has those of the epochs 8 to 10"
        ):
            db.changes_since(6)
        with pytest.raises(tidelog.UsageError, match="there is no epoch 11: the last one is 10") as raised:
            db.changes_since(11)
        assert raised.value.code == "E825"
    names = sorted(path.name for path in tmp_path.rglob("changes-*.json"))
    assert names == ([] if engine == "local" else [f"changes-{epoch:012}.json" for epoch in (8, 9, 10)])


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_changes_that_are_kept_no_longer_are_removed(engine: str, tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(engine, path=tmp_path, keep_changes=5, keep_epochs=0) as db:
        sizes = []
        for number in range(40):
            has = number % 2 == 0
            rows = {"Edge": [(f"n{i}", f"m{i}") for i in range(30)]}
            committed(db, rows if has else {}, {} if has else rows)
            sizes.append(sum(1 for path in tmp_path.rglob("*") if path.is_file()))
        assert max(sizes[20:]) <= max(sizes[5:15])
        assert len(kept(db, 35)) == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_changes_are_kept_for_a_time(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_700_000_000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    with tidelog.compile(REACH).open(engine, path=tmp_path, keep_changes="7 days") as db:
        for number in range(10):
            clock[0] += 86400
            committed(db, edges(f"a{number}"))
        found = list(db.changes_since(2))
        assert [changes.epoch for changes in found] == [3, 4, 5, 6, 7, 8, 9, 10]
        assert found[0].committed_at == datetime.fromtimestamp(1_700_000_000 + 3 * 86400, UTC)
        with pytest.raises(tidelog.UsageError, match="are gone"):
            db.changes_since(1)
        clock[0] += 100 * 86400
        committed(db, edges("zz"))
        assert list(kept(db, 10)) == [11]
        clock[0] -= 50 * 86400  # a clock that was set back
        committed(db, edges("yy"))
        assert [changes.committed_at for changes in db.changes_since(10)] == 2 * [
            datetime.fromtimestamp(1_700_000_000 + 110 * 86400, UTC)
        ]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_setting_stays_until_another_one_is_given(engine: str, tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open(engine, path=tmp_path) as db:
        committed(db, edges("ab"))
        with pytest.raises(tidelog.UsageError, match="keeps no changes of earlier epochs") as raised:
            db.changes_since(0)
        assert raised.value.code == "E824"
    with program.open(engine, path=tmp_path, keep_changes="2 epochs") as db:
        assert list(db.changes_since(1)) == []
        committed(db, edges("bc"))
    with program.open(engine, path=tmp_path) as db:
        committed(db, edges("cd"))
        assert list(kept(db, 1)) == [2, 3]
        committed(db, edges("de"))
        assert list(kept(db, 2)) == [3, 4]
    with program.open(engine, path=tmp_path, keep_changes=3) as db:
        assert list(kept(db, 2)) == [3, 4]
        committed(db, edges("ef"))
        assert list(kept(db, 2)) == [3, 4, 5]
    with program.open(engine, path=tmp_path, keep_changes=0) as db, pytest.raises(tidelog.UsageError, match="keeps no"):
        db.changes_since(5)
    with (
        program.open(engine, path=tmp_path, keep_changes=9) as db,
        pytest.raises(tidelog.UsageError, match="none up to"),
    ):
        db.changes_since(4)


@pytest.mark.parametrize(
    "wrong", [-1, 1.5, True, "7", "soon", "0 days", "1.5 epochs", timedelta(0), timedelta(-1), ["7 days"], 1 << 60]
)
def test_a_wrong_setting_is_an_error(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(tidelog.UsageError, match="it must be a number of epochs, or a time") as raised:
        tidelog.compile(REACH).open(path=tmp_path, keep_changes=wrong)
    assert raised.value.code == "E814"


def test_times_are_spelt_in_several_ways() -> None:
    found = [kept_changes.Retention.of(each).seconds for each in ("90 minutes", "1.5 HOURS", timedelta(hours=1.5))]
    assert found == [5400, 5400, 5400]
    assert kept_changes.Retention.of("1 week") == kept_changes.Retention.of("7 days")


def test_a_database_in_memory_keeps_no_changes() -> None:
    with pytest.raises(tidelog.UsageError, match="keeps no changes"):
        tidelog.compile(REACH).open(keep_changes=5)
    with tidelog.compile(REACH).open() as db, pytest.raises(tidelog.UsageError, match="keeps no changes"):
        db.changes_since(0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_reader_reads_up_to_its_own_epoch(engine: str, tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(engine, path=tmp_path, keep_changes=3) as db:
        committed(db, edges("ab"))
        with tidelog.open(tmp_path, read_only=True) as reader:
            committed(db, edges("bc"))
            assert list(kept(reader, 0)) == [1]
            reader.refresh()
            assert list(kept(reader, 0)) == [1, 2]
            slow = reader.changes_since(0)
            for number in range(5):
                committed(db, edges(f"a{number}"))
            with pytest.raises(tidelog.UsageError, match="are gone"):
                list(slow)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_migration_ends_what_is_kept_and_keeps_from_there_on(engine: str, tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(engine, path=tmp_path, keep_changes=10) as db:
        committed(db, edges("ab"))
    changed = tidelog.compile(REACH + "output relation More(x: string)\nMore(x) :- Edge(x, _).")
    with changed.open(engine, path=tmp_path, migrate=True) as db:
        with pytest.raises(tidelog.UsageError, match="are gone"):
            db.changes_since(db.report.epoch - 1)
        after = db.report.epoch
        committed(db, edges("cd"))
        assert list(kept(db, after)) == [after + 1]


def test_the_other_engine_keeps_changes_from_the_conversion_on(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path, keep_changes=10) as db:
        committed(db, edges("ab"))
    for last, engine in ((1, "auto"), (2, "local")):
        with tidelog.open(tmp_path, engine=engine) as db:
            with pytest.raises(tidelog.UsageError, match="are gone"):
                db.changes_since(last - 1)
            committed(db, edges(f"b{last}"))
            assert list(kept(db, last)) == [last + 1]


def test_rules_that_change_have_their_changes_kept(tmp_path: Path) -> None:
    for engine in ENGINES:
        with tidelog.compile(REACH).open(engine, path=tmp_path / engine, keep_changes=10) as db:
            committed(db, edges("ab"))
            with db.transaction() as tx:
                tx.add_rules("Reach(y, x) :- Reach(x, y).")
            assert kept(db, 1) == {2: weights(tx.changes)}
            assert weights(tx.changes)["Reach"][("b", "a")] == 1


def test_a_backup_has_the_kept_changes(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db", keep_changes=10) as db:
        given = committed(db, edges("ab"))
        db.backup(tmp_path / "copy")
    with tidelog.open(tmp_path / "copy") as db:
        assert kept(db, 0) == {1: given}


def test_changes_in_several_parts_are_one_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "PART_BYTES", 5)
    with tidelog.compile(REACH).open(path=tmp_path, keep_changes=2) as db:
        given = {number: committed(db, edges(f"a{number}")) for number in (1, 2, 3)}
        assert kept(db, 1) == {2: given[2], 3: given[3]}


def test_changes_that_are_not_as_they_were_written_are_an_error(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path, keep_changes=5) as db:
        committed(db, edges("ab"))
        engine = db._locked._engine
        engine._journal.connection.execute("UPDATE change SET body = x'00' WHERE place = ?", (1 << 20,))  # type: ignore[union-attr]
        with pytest.raises(tidelog.DataError, match="the changes of epoch 1 are not as they were written"):
            list(db.changes_since(0))
    with tidelog.compile(REACH).open("auto", path=tmp_path / "other", keep_changes=5) as db:
        committed(db, edges("ab"))
        file = tmp_path / "other" / "changes-000000000001.json"
        file.write_text(file.read_text().replace('"inserted": 1', '"inserted": 2'))
        with pytest.raises(tidelog.DataError, match="list of the changes of epoch 1 is not as it was written"):
            list(db.changes_since(0))


def test_an_epoch_that_was_not_kept_ends_what_is_there(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path, keep_changes=5) as db:
        committed(db, edges("ab"))
        committed(db, edges("bc"))
        engine = db._locked._engine
        engine._journal.connection.execute("DELETE FROM change WHERE place >= ?", (2 << 20,))  # type: ignore[union-attr]
    with tidelog.open(tmp_path) as db:
        with pytest.raises(tidelog.UsageError, match="are gone"):
            db.changes_since(1)
        assert list(db.changes_since(2)) == []


def test_after_kills_the_kept_changes_add_up_to_the_relation(tmp_path: Path) -> None:
    dice = random.Random(11)
    program = tidelog.compile(COUNTED)
    with server("tests.database.transactions.kill_batches") as running:
        for seed, engine in enumerate(ENGINES):
            directory, number = tmp_path / engine, 0
            program.open(engine, path=directory, keep_changes="1 hour").close()
            for _ in range(6):
                number = running.run(seed, number, directory, dice.uniform(0, 0.1), after_a_commit=True)
            with tidelog.open(directory) as db:
                for relation in ("Sum", "Batch"):
                    total: Counter[Any] = Counter()
                    for changes in db.changes_since(-1):
                        total.update(dict(iter(changes[relation])))
                    assert {row for row, weight in total.items() if weight} == set(db.relation(relation).rows())
                    assert set(total.values()) <= {0, 1}
                assert len(list(db.changes_since(-1))) == db.report.epoch + 1 > 6


@pytest.fixture
def on_spark(spark: Any, tmp_path: Path) -> Iterator[tidelog.Database]:
    with tidelog.compile(REACH).open("spark", spark=spark, path=tmp_path, keep_changes=2, keep_epochs=0) as db:
        yield db


@pytest.mark.spark
def test_spark_keeps_changes_as_files_that_frames_read(on_spark: tidelog.Database) -> None:
    given = [
        committed(on_spark, edges("ab", "bc")),
        committed(on_spark, edges("cd")),
        committed(on_spark, {}, edges("ab")),
    ]
    second, third = on_spark.changes_since(1)
    assert [weights(second), weights(third)] == given[1:]
    rows = {(row["src"], row["dst"]): row["_weight"] for row in third["Reach"].to_spark().collect()}
    assert rows == given[2]["Reach"]
    with pytest.raises(tidelog.UsageError, match="are gone"):
        on_spark.changes_since(0)
