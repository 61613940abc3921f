"""`engine="auto"`: each stratum where it is expected to be faster; what it derives does not depend on where."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.engine.spark.epoch.test_stopped import ENDLESS

import tidelog
from tidelog.database.transactions import writes
from tidelog.engine.spark.epoch.cancellation import Cancellation
from tidelog.engine.spark.plans.choose_plan import Chooser, Plan
from tidelog.engine.spark.plans.placement import DRIVER_ROWS, JOB_SECONDS, Placement
from tidelog.engine.spark.plans.split_inputs import split_inputs
from tidelog.engine.spark.session import LazySession

REACH = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
output relation Ends(a: u32, n: u64)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Ends(x, n) :- Reach(x, y), var n = y.group_by(x).count_distinct().
"""
STRATUM = ("Reach",)


class NoSession:
    """A session that nobody may ask anything of, except where it runs and to note what its jobs are called."""

    sparkContext = Mock()  # noqa: N815

    class conf:  # noqa: N801
        @staticmethod
        def get(name: str, default: Any = None) -> Any:
            return {"spark.master": "local[2]"}.get(name, default)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


def test_a_small_database_needs_no_job(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open("auto", spark=NoSession(), path=tmp_path / "state") as db, program.open() as local:
        rng = random.Random(1)
        for _ in range(6):
            came = [(rng.randrange(12), rng.randrange(12)) for _ in range(6)]
            went = [(rng.randrange(12), rng.randrange(12)) for _ in range(12)]
            seen = []
            for each in (db, local):
                with each.transaction() as tx:
                    tx.delete("Edge", went)
                    tx.insert("Edge", came)
                assert tx.report is not None
                seen.append({name: sorted(tx.changes[name]) for name in ("Reach", "Ends")})
                if each is db:
                    assert {stratum.place for stratum in tx.report.strata} <= {"driver"}
            assert seen[0] == seen[1]
    with program.open("auto", spark=NoSession(), path=tmp_path / "state") as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(50, 51)])
        assert (50, 51) in db.relation("Reach")


def test_without_a_session_none_is_made_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> Any:
        raise AssertionError("a session was made")

    monkeypatch.setattr("tidelog.engine.spark.session.local_session", refuse)
    monkeypatch.setattr("tidelog.engine.spark.session.active_session", lambda: None)
    with tidelog.compile(REACH).open("auto") as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 2), (2, 3)])
        assert len(db.relation("Reach")) == 3


class Told(Placement):
    here = True

    def runs_in_driver(self, *_: Any) -> tuple[bool, str]:
        return self.here, "so says the test"


@pytest.mark.spark
def test_strata_move_between_epochs_and_nothing_else_changes(spark: Any) -> None:
    program = tidelog.compile(REACH)
    with program.open("auto", spark=spark) as db, program.open() as local:
        engine: Any = db._locked._engine
        rng = random.Random(2)
        here = iter([True, False, False, True, True, False])
        places = []

        told = Told(lambda: 2)
        engine._chooser._placement = told
        for told.here in here:
            came = [(rng.randrange(15), rng.randrange(15)) for _ in range(8)]
            went = [(rng.randrange(15), rng.randrange(15)) for _ in range(16)]
            seen = []
            for each in (db, local):
                with each.transaction() as tx:
                    tx.delete("Edge", went)
                    tx.insert("Edge", came)
                seen.append({name: sorted(tx.changes[name]) for name in ("Reach", "Ends")})
                if each is db:
                    assert tx.report is not None
                    places.append({stratum.place for stratum in tx.report.strata})
            assert seen[0] == seen[1]
        assert places[0] == places[3] == {"driver"}
        assert "driver" not in places[1] | places[5]


# What is written


@pytest.mark.spark
def test_frames_go_in_and_out(spark: Any) -> None:
    with tidelog.compile(REACH).open("auto", spark=spark) as db:
        with db.transaction() as tx:
            tx.insert("Edge", spark.createDataFrame([(1, 2), (2, 3)], "a int, b int"))
        assert sorted(map(tuple, tx.changes["Reach"].to_spark().select("a", "b").collect())) == [(1, 2), (1, 3), (2, 3)]
        with db.transaction() as tx:
            tx.delete("Edge", db.relation("Edge").to_spark().where("a = 1"))
        assert db.relation("Reach").rows() == [(2, 3)]


@pytest.mark.spark
def test_many_rows_are_cleared_without_a_row_in_python(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with tidelog.compile(REACH).open("auto", spark=spark) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 2), (2, 3), (3, 4)])
        engine: Any = db._locked._engine
        for at_once, asked in ((1_000_000, "table"), (2, "frame")):
            seen = Mock(wraps=getattr(engine, asked))
            monkeypatch.setattr(writes, "CLEARED_AT_ONCE", at_once)
            monkeypatch.setattr(engine, asked, seen)
            monkeypatch.setattr(engine, "rows", None)
            with db.transaction() as tx:
                tx.clear("Edge")
                tx.insert("Edge", [(1, 2), (7, 8), (8, 9)])
            seen.assert_called_once_with("Edge")
            monkeypatch.undo()
            assert db.relation("Reach").rows() == [(1, 2), (7, 8), (7, 9), (8, 9)]


# What ends an epoch


def when_it_counts(db: tidelog.Database, action: Callable[[], object]) -> threading.Thread:
    """Does something, in another thread, when the epoch is in its rounds."""
    is_counting = threading.Event()
    db._locked.on_progress(lambda _, round_: is_counting.set() if round_ else None)
    thread = threading.Thread(target=lambda: is_counting.wait(600) and action())
    thread.start()
    return thread


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_an_epoch_in_this_process_ends_when_it_is_told_to(is_cancelled: bool) -> None:
    with tidelog.compile(ENDLESS).open("auto", spark=NoSession(), deadline=600) as db:
        assert not db.cancel(), "no epoch runs"
        with db.transaction() as tx:
            tx.insert("Other", [1])
        told: list[bool] = []
        ends = when_it_counts(db, (lambda: told.append(db.cancel())) if is_cancelled else interrupt)
        with pytest.raises((tidelog.EvaluationError, KeyboardInterrupt)) as caught, db.transaction() as tx:
            tx.insert("Start", [0])
        ends.join()
        if is_cancelled:
            assert told == [True]
            assert getattr(caught.value, "code", None) == "E608"
            assert "(stratum Count)" in str(caught.value)
        else:
            assert caught.type is KeyboardInterrupt
        db._locked.on_progress(None)
        with db.transaction() as tx:
            tx.insert("Other", [2])
        assert (db.report.epoch, db.relation("Seen").rows(), len(db.relation("Count"))) == (2, [(1,), (2,)], 0)


def test_an_epoch_ends_that_was_cancelled_between_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine in this process is not in an epoch of its own yet, and has heard nothing."""
    with tidelog.compile(ENDLESS).open("auto", spark=NoSession(), deadline=600) as db:
        monkeypatch.setattr("tidelog.engine.spark.plans.tasks.run_in_driver.run_bucket", lambda *_: db.cancel())
        with pytest.raises(tidelog.EvaluationError, match="cancelled"), db.transaction() as tx:
            tx.insert("Start", [0])
        monkeypatch.undo()
        with db.transaction() as tx:
            tx.insert("Other", [2])
        assert (db.report.epoch, db.relation("Seen").rows()) == (1, [(2,)])


def test_jobs_have_their_tag_in_the_epoch_that_starts_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Mock()
    monkeypatch.setattr("tidelog.engine.spark.session.local_session", lambda: started)
    later = LazySession()
    jobs = Cancellation(later)
    with jobs.running("first"):
        started.sparkContext.addJobTag.assert_not_called()
        later.range(3)
        started.sparkContext.addJobTag.assert_called_once_with("first")
        jobs.cancel_jobs()
        started.sparkContext.cancelJobsWithTag.assert_called_once_with("first")
    started.sparkContext.removeJobTag.assert_called_once_with("first")
    with jobs.running("second"):
        started.sparkContext.addJobTag.assert_called_with("second")


def test_a_job_that_begins_right_after_an_epoch_was_cancelled_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.engine.spark.epoch.cancellation.RETRY_SECONDS", 0.01)
    began = threading.Event()

    def end(label: str) -> None:
        if session.sparkContext.cancelJobsWithTag.call_count == 3:
            began.set()

    session = Mock()
    session.sparkContext.cancelJobsWithTag.side_effect = end
    jobs = Cancellation(session)

    def run() -> None:
        with jobs.running("late"):
            assert jobs.cancel()
            assert began.wait(60)

    with pytest.raises(tidelog.EvaluationError, match="cancelled"):
        run()


def test_an_epoch_that_was_done_is_cancelled_no_more() -> None:
    session = Mock()
    jobs = Cancellation(session)
    with jobs.running("done"):
        pass
    assert not jobs.cancel()
    session.sparkContext.cancelJobsWithTag.assert_not_called()


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_a_session_that_was_stopped_is_told_of(engine: str) -> None:
    session = NoSession()
    with tidelog.compile(REACH).open("auto", spark=session) as db, db.transaction() as tx:
        tx.insert("Edge", [(1, 2)])
    session.sparkContext = Mock(_jsc=None)
    with pytest.raises(tidelog.UsageError, match="the Spark session was stopped"):
        tidelog.compile(REACH).open(engine, spark=session)
    session.sparkContext = Mock()
    with tidelog.compile(REACH).open("auto", spark=session) as db:
        session.sparkContext = Mock(_jsc=None)
        with pytest.raises(tidelog.UsageError, match="the Spark session was stopped"), db.transaction() as tx:
            tx.insert("Edge", [(1, 2)])
        assert db.relation("Edge").rows() == []


@pytest.mark.spark
def test_the_active_session_is_used_as_it_is(spark: Any) -> None:
    with tidelog.compile(REACH).open("auto") as db:
        engine: Any = db._locked._engine
        assert not isinstance(engine._spark, LazySession)


# The choice


def places(workers: int = 4) -> Placement:
    return Placement(lambda: workers)


def test_what_is_small_is_here_and_what_is_large_is_not() -> None:
    assert places().runs_in_driver(STRATUM, "single task", True, 1000, 1000)[0]
    assert not places().runs_in_driver(STRATUM, "decomposed", False, 1_000_000, 1_000_000)[0]
    assert not places().runs_in_driver(STRATUM, "single task", True, DRIVER_ROWS + 1, 1)[0]


def test_the_faster_place_is_taken() -> None:
    known = places()
    for _ in range(2):
        known.note(STRATUM, "driver", 100, 0.5)
        known.note(STRATUM, "decomposed", 100, 0.4)
    assert known.runs_in_driver(STRATUM, "decomposed", False, 10_000, 100) == (
        False,
        "500 ms in this process, 400 ms on Spark",
    )
    for _ in range(5):
        known.note(STRATUM, "driver", 120, 0.01)
    assert known.runs_in_driver(STRATUM, "decomposed", False, 10_000, 100)[0]


def test_a_place_that_was_not_measured_is_tried_when_it_should_be_better() -> None:
    known = places()
    known.note(STRATUM, "driver", 100_000, 10 * JOB_SECONDS)
    assert known.runs_in_driver(STRATUM, "decomposed", True, 1_000_000, 100_000)[0], "the first one also loads kernels"
    known.note(STRATUM, "driver", 100_000, 10 * JOB_SECONDS)
    assert not known.runs_in_driver(STRATUM, "decomposed", False, 1_000_000, 100_000)[0]
    assert known.runs_in_driver(STRATUM, "single task", True, 1_000_000, 100_000)[0], (
        "one task is no faster than this process"
    )
    for alone in (places(workers=1), Placement(lambda: 4, lambda: False)):
        for _ in range(2):
            alone.note(STRATUM, "driver", 100_000, 10 * JOB_SECONDS)
        assert alone.runs_in_driver(STRATUM, "decomposed", False, 1_000_000, 100_000)[0], "no tasks, or no session yet"
    far = places()
    for _ in range(2):
        far.note(STRATUM, "decomposed", 1_000_000, 3.0)
    assert far.runs_in_driver(STRATUM, "decomposed", False, 1_000_000, 100)[0], "a small change after a large one"
    assert not far.runs_in_driver(STRATUM, "decomposed", False, 1_000_000, 500_000)[0]


def test_changes_of_another_size_are_scaled() -> None:
    known = places()
    known.note(STRATUM, "driver", 100, 0.01)
    assert known.expected(STRATUM, "driver", 100) is None
    known.note(STRATUM, "driver", 100, 0.01)
    assert known.expected(STRATUM, "driver", 100) == 0.01
    assert known.expected(STRATUM, "driver", 1) == 0.01
    assert known.expected(STRATUM, "driver", 100 * 16) == pytest.approx(0.16)
    assert known.expected(("Other",), "driver", 100) is None


def test_strata_in_this_process_are_one_segment() -> None:
    rules = split_inputs(tidelog.compile(REACH).stages.rules).rules
    segment = Chooser(rules, None, places()).choose({"Edge": 10})
    assert segment is not None
    assert segment.plan is Plan.DRIVER
    assert {"Reach", "Ends"} <= set(segment.relations)
