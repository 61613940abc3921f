"""Feeds whose batches are ranges of positions: fixed before they are taken, exact for rows that have copies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipeline import ledger
from tests.pipeline.folder import Pipe, closure
from tidelog.diagnostics.errors import DataError, ProgramError
from tidelog.pipeline.batch import Stop
from tidelog.pipeline.copies import Copies
from tidelog.pipeline.run import _Run
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.sources.formats import POSITIONED

FILE = """
program = "program.dl"
state   = "state"
[changes.Edge]
format = "ledger"
path   = "edges"
[outputs.Reach]
format = "json"
path   = "out/reach"
"""

Change = tuple[int, str, str]


@pytest.fixture(autouse=True)
def formats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POSITIONED, "ledger", ledger.ROWS)
    monkeypatch.setitem(POSITIONED, "records", ledger.RECORDS)


def write(pipe: Pipe, *changes: Change, **more: Any) -> None:
    with (pipe.folder / "edges").open("a") as file:
        for sign, src, dst in changes:
            file.write(json.dumps({"sign": sign, "src": src, "dst": dst, **more}) + "\n")


def calls(pipe: Pipe) -> list[tuple[str, Any]]:
    return [tuple(json.loads(line)) for line in (pipe.folder / "edges.calls").read_text().splitlines()]


def started(folder: Path, *changes: Change, file: str = FILE) -> Pipe:
    pipe = Pipe(folder, file=file)
    write(pipe, *changes)
    return pipe


def expected(changes: list[Change]) -> set[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for sign, src, dst in changes:
        counts[src, dst] += sign
    return closure({edge for edge, count in counts.items() if count > 0})


def test_the_first_rows_are_one_epoch_and_later_changes_the_next(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"), (1, "b", "c"))
    (start,) = pipe.run()
    assert (start.batch, start.read, start.changes) == ("start", 2, {"Reach": (3, 0)})
    write(pipe, (-1, "a", "b"), (1, "c", "d"))
    (step,) = pipe.run()
    assert (step.batch, step.read) == ("0", 2)
    assert pipe.summed("reach") == closure({("b", "c"), ("c", "d")})
    assert pipe.run() == []


def test_the_source_is_told_what_is_committed_and_nothing_else(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    pipe.run()
    write(pipe, (1, "b", "c"))
    pipe.run()
    told = [value for call, value in calls(pipe) if call == "acknowledge"]
    assert told == [1, 1, 2]


def test_a_row_stays_until_its_last_copy_is_deleted(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"), (1, "a", "b"), (1, "b", "c"))
    pipe.run()
    write(pipe, (-1, "a", "b"))
    (step,) = pipe.run()
    assert step.changes == {}
    write(pipe, (1, "b", "c"), (1, "a", "b"), (-1, "a", "b"), (-1, "a", "b"))
    pipe.run()
    assert pipe.summed("reach") == {("b", "c")}
    write(pipe, (-1, "b", "c"))
    pipe.run()
    assert pipe.summed("reach") == {("b", "c")}
    write(pipe, (-1, "b", "c"))
    pipe.run()
    assert pipe.summed("reach") == set()


def test_an_update_of_columns_that_the_relation_lacks_changes_nothing(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    pipe.run()
    write(pipe, (-1, "a", "b"), (1, "a", "b"), note="new")
    (step,) = pipe.run()
    assert (step.read, step.changes) == (2, {})


def test_a_batch_that_was_interrupted_is_taken_again_without_later_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    pipe.run()
    write(pipe, (1, "b", "c"), (1, "b", "c"))
    with monkeypatch.context() as patch:
        patch.setattr(Sinks, "prepare", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipe.run()
    write(pipe, (1, "c", "d"))
    assert [(step.batch, step.read) for step in pipe.run()] == [("0", 2), ("1", 1)]
    write(pipe, (-1, "b", "c"))
    pipe.run()
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "c"), ("c", "d")})


def test_copies_of_a_batch_that_was_not_committed_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    pipe.run()
    write(pipe, (1, "a", "b"))
    with monkeypatch.context() as patch:
        patch.setattr(Copies, "committed", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipe.run()  # committed, but the memory of the process is lost
    write(pipe, (1, "a", "b"))
    with monkeypatch.context() as patch:
        patch.setattr("tidelog.pipeline.run.Transaction._commit_with", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipe.run()  # written, but not committed
    pipe.run()
    write(pipe, (-1, "a", "b"), (-1, "a", "b"))
    assert pipe.run()[-1].changes == {}
    write(pipe, (-1, "a", "b"))
    assert pipe.run()[-1].changes == {"Reach": (0, 1)}


def test_first_rows_that_cannot_be_read_again_are_read_from_a_new_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FILE.replace('path   = "edges"', 'path = "edges"\noptions = {forgets = true}')
    pipe = started(tmp_path, (1, "a", "b"), file=file)
    with monkeypatch.context() as patch:
        patch.setattr(Sinks, "prepare", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipe.run()
    write(pipe, (1, "b", "c"))
    assert [(step.batch, step.read) for step in pipe.run()] == [("start", 2)]
    write(pipe, (-1, "a", "b"))
    pipe.run()
    assert pipe.summed("reach") == {("b", "c")}


def test_a_feed_that_is_added_later_begins_with_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = started(tmp_path, (1, "a", "b"), file=FILE.replace("[changes.Edge]", "[inputs.Edge]"))
    pipe.run()
    (tmp_path / "edges").unlink()
    write(pipe, (1, "b", "c"))
    pipe.write_file(FILE.replace('path   = "edges"', 'path = "edges"\noptions = {forgets = true}'))
    with monkeypatch.context() as patch:
        patch.setattr(_Run, "_before_commit", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipe.run()
    write(pipe, (1, "c", "d"))
    assert [(step.batch, step.read) for step in pipe.run()] == [("0", 2)]
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "c"), ("c", "d")})


def test_a_feed_of_records_has_operations(tmp_path: Path) -> None:
    file = FILE.replace('"ledger"', '"records"\nop = "op"\norder = "ts"\nkey = ["src"]')
    pipe = Pipe(tmp_path, file=file)
    write(pipe, (1, "a", "b"), op="+", ts=1)
    write(pipe, (1, "a", "c"), op="u", ts=2)
    assert [(step.batch, step.read) for step in pipe.run()] == [("start", 0), ("0", 2)]
    write(pipe, (1, "a", "c"), op="d", ts=3)
    write(pipe, (1, "z", "c"), op="?", ts=3)
    with pytest.raises(DataError, match="is no operation"):
        pipe.run()
    assert pipe.summed("reach") == {("a", "c")}


def test_rows_that_do_not_fit_are_left_out_and_counted(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"), file=FILE + '[quarantine]\npath = "bad"\n')
    pipe.run()
    write(pipe, (1, "b", None), (1, "b", "c"))  # type: ignore[arg-type]
    (step,) = pipe.run()
    assert (step.read, step.bad, step.changes) == (2, 1, {"Reach": (2, 0)})
    write(pipe, (-1, "b", None))  # type: ignore[arg-type]
    (step,) = pipe.run()
    assert (step.read, step.bad, step.changes) == (1, 0, {})


def test_a_delete_of_an_unknown_row_has_no_effect_and_is_told(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    pipe.run()
    write(pipe, (-1, "x", "y"))
    (step,) = pipe.run()
    assert (step.conflicts, step.changes) == (1, {})
    assert pipe.warnings == ["batch 0: 1 delete of rows that `Edge` does not have; the first: ('x', 'y')"]


def test_a_position_that_is_gone_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    pipe.run()
    (tmp_path / "edges").write_text("")
    with pytest.raises(DataError, match="has lost lines") as caught:
        pipe.run()
    assert caught.value.code == "E870"


def test_settings_that_contradict_a_feed_of_rows_are_refused(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=FILE.replace('path   = "edges"', 'path = "edges"\nkey = ["src"]'))
    with pytest.raises(ProgramError, match="has no `key`"):
        pipe.run()
    pipe.write_file(FILE + '[inputs.Edge]\nformat = "csv"\npath = "data"\n')
    with pytest.raises(ProgramError, match="starts with rows that its feed does not know"):
        pipe.run()
    pipe.write_file(FILE.replace('path   = "edges"', 'path = "edges"\noptions = {atMots = 1}'))
    with pytest.raises(ProgramError, match="no option `atMots`"):
        pipe.run()


def test_stop_ends_a_watching_pipeline(tmp_path: Path) -> None:
    pipe = started(tmp_path, (1, "a", "b"))
    stop = Stop()
    stop.set()
    assert pipe.run(watch=True, stop=stop) == pipe.steps
    assert calls(pipe)[-1] == ("close", None)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.lists(st.tuples(st.sampled_from((1, 1, -1)), st.sampled_from("ab"), st.sampled_from("ab")))))
def test_oracle_sums_of_signs(tmp_path_factory: pytest.TempPathFactory, batches: list[list[Change]]) -> None:
    """However changes are cut into batches, the relation has the rows whose signs add up to more than nothing."""
    pipe = started(tmp_path_factory.mktemp("sums"))
    made: list[Change] = []
    counts: Counter[tuple[str, str]] = Counter()
    pipe.run()
    for batch in batches:
        for sign, src, dst in batch:
            if counts[src, dst] + sign >= 0:
                counts[src, dst] += sign
                made.append((sign, src, dst))
                write(pipe, made[-1])
        pipe.run()
        assert pipe.summed("reach") == expected(made)


@pytest.mark.spark
def test_on_spark_the_same_log_of_batches_is_used(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(tmp_path, file=FILE, engine="spark")
    write(pipe, (1, "a", "b"), (1, "a", "b"))
    assert [(step.batch, step.changes) for step in pipe.run(spark=spark)] == [("start", {"Reach": (1, 0)})]
    write(pipe, (-1, "a", "b"), (1, "b", "c"))
    with monkeypatch.context() as patch:
        patch.setattr(Sinks, "prepare", _fail)
        with pytest.raises(OSError, match="the disk is full"):
            pipe.run(spark=spark)
    write(pipe, (-1, "a", "b"))
    assert [(step.batch, step.read) for step in pipe.run(spark=spark)] == [("0", 2), ("1", 1)]
    assert pipe.summed("reach") == {("b", "c")}
    assert calls(pipe)[-1] == ("close", None)


@pytest.mark.spark
def test_on_spark_streams_of_spark_cannot_be_beside_it(tmp_path: Path, spark: Any) -> None:
    program = "input relation Edge(src: string, dst: string)\ninput relation More(x: string)\n"
    file = FILE.partition("[outputs")[0] + '[changes.More]\nformat = "orc"\npath = "more"\n'
    pipe = Pipe(tmp_path, program, file, "spark")
    with pytest.raises(ProgramError, match="the feed of `More` cannot be beside a feed that has positions"):
        pipe.run(spark=spark)


def _fail(*arguments: Any, **named: Any) -> None:
    raise OSError("the disk is full")
