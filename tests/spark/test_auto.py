"""`engine="auto"`: each stratum where it is expected to be faster; what it derives does not depend on where."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import tidelog
from tidelog.engine.spark.choose import Chooser, Plan
from tidelog.engine.spark.place import DRIVER_ROWS, JOB_SECONDS, Places
from tidelog.engine.spark.separate import separate

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
    with tidelog.compile(REACH).open("auto") as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 2), (2, 3)])
        assert len(db.relation("Reach")) == 3


class Told(Places):
    here = True

    def is_here(self, *_: Any) -> tuple[bool, str]:
        return self.here, "so says the test"


@pytest.mark.spark
def test_strata_move_between_epochs_and_nothing_else_changes(spark: Any) -> None:
    program = tidelog.compile(REACH)
    with program.open("auto", spark=spark) as db, program.open() as local:
        engine: Any = db._session._engine
        rng = random.Random(2)
        here = iter([True, False, False, True, True, False])
        places = []

        told = Told(lambda: 2)
        engine._chooser._places = told
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


# The choice


def places(workers: int = 4) -> Places:
    return Places(lambda: workers)


def test_what_is_small_is_here_and_what_is_large_is_not() -> None:
    assert places().is_here(STRATUM, "single task", True, 1000, 1000)[0]
    assert not places().is_here(STRATUM, "decomposed", False, 1_000_000, 1_000_000)[0]
    assert not places().is_here(STRATUM, "single task", True, DRIVER_ROWS + 1, 1)[0]


def test_the_faster_place_is_taken() -> None:
    known = places()
    for _ in range(2):
        known.note(STRATUM, "driver", 100, 0.5)
        known.note(STRATUM, "decomposed", 100, 0.4)
    assert known.is_here(STRATUM, "decomposed", False, 10_000, 100) == (False, "500 ms here, 400 ms there")
    for _ in range(5):
        known.note(STRATUM, "driver", 120, 0.01)
    assert known.is_here(STRATUM, "decomposed", False, 10_000, 100)[0]


def test_a_place_that_was_not_measured_is_tried_when_it_should_be_better() -> None:
    known = places()
    known.note(STRATUM, "driver", 100_000, 10 * JOB_SECONDS)
    assert known.is_here(STRATUM, "decomposed", True, 1_000_000, 100_000)[0], "the first one also loads kernels"
    known.note(STRATUM, "driver", 100_000, 10 * JOB_SECONDS)
    assert not known.is_here(STRATUM, "decomposed", False, 1_000_000, 100_000)[0]
    assert known.is_here(STRATUM, "single task", True, 1_000_000, 100_000)[0], "one task is no faster than this process"
    for alone in (places(workers=1), Places(lambda: 4, lambda: False)):
        for _ in range(2):
            alone.note(STRATUM, "driver", 100_000, 10 * JOB_SECONDS)
        assert alone.is_here(STRATUM, "decomposed", False, 1_000_000, 100_000)[0], "no tasks, or no session yet"
    far = places()
    for _ in range(2):
        far.note(STRATUM, "decomposed", 1_000_000, 3.0)
    assert far.is_here(STRATUM, "decomposed", False, 1_000_000, 100)[0], "a small change after a large one"
    assert not far.is_here(STRATUM, "decomposed", False, 1_000_000, 500_000)[0]


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
    rules = separate(tidelog.compile(REACH).stages.rules).rules
    segment = Chooser(rules, None, places()).choose({"Edge": 10})
    assert segment is not None
    assert segment.plan is Plan.DRIVER
    assert {"Reach", "Ends"} <= set(segment.relations)
