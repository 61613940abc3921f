"""`tidelog.progress()` and the log of slow epochs."""

from __future__ import annotations

import logging

import pytest

import tidelog
from tests.database.queries.test_explain import opened
from tidelog.database.transactions import progress
from tidelog.database.transactions.progress import Step

CHAIN = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
output relation Last(a: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Last(y) :- Reach(_, y), not Edge(y, _).
"""
EDGES: list[object] = [(n, n + 1) for n in range(200)]


def test_a_callback_is_called_for_the_strata_of_each_commit() -> None:
    steps: list[Step] = []
    with opened(CHAIN) as db:
        with tidelog.progress(steps.append), db.transaction() as tx:
            tx.insert("Edge", EDGES)
        assert {"Reach", "Last"} <= {name for step in steps for name in step.relations}
        assert all(1 <= step.stratum <= step.strata for step in steps)
        assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
        seen = len(steps)
        with db.transaction() as tx:
            tx.delete("Edge", EDGES[:1])
        assert len(steps) == seen


def test_an_exception_in_a_callback_rolls_the_commit_back() -> None:
    def stop(step: Step) -> None:
        raise RuntimeError("enough")

    with opened(CHAIN) as db:
        with pytest.raises(RuntimeError, match="enough"), tidelog.progress(stop), db.transaction() as tx:
            tx.insert("Edge", EDGES)
        assert len(db.relation("Edge")) == 0
        with db.transaction() as tx:
            tx.insert("Edge", EDGES)
        assert len(db.relation("Last")) == 1


def test_a_line_is_printed_only_for_long_commits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(CHAIN) as db:
        with tidelog.progress(), db.transaction() as tx:
            tx.insert("Edge", EDGES[:2])
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(progress, "_SILENT", 0.0)
        with tidelog.progress(), db.transaction() as tx:
            tx.insert("Edge", EDGES)
        assert "stratum 1 of " in capsys.readouterr().err


def test_a_slow_epoch_is_logged_with_its_slowest_strata(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(CHAIN) as db, caplog.at_level(logging.INFO, "tidelog"):
        with db.transaction() as tx:
            tx.insert("Edge", EDGES[:2])
        assert "took" not in caplog.text
        monkeypatch.setattr(progress, "_SLOW", 0.0)
        with db.transaction() as tx:
            tx.insert("Edge", EDGES)
        assert "epoch 2 took" in caplog.text
        assert "Reach" in caplog.text


def test_something_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(tidelog.UsageError, match="cannot be called"), tidelog.progress("bar"):  # type: ignore[arg-type]
        pass
