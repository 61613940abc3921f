"""Copies for queries are given up when a query is cancelled, and made again by the next one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tidelog
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.queries import private_rows
from tidelog.engine.local.storage import arrangement, store, trie
from tidelog.plan.statistics import Order

TEXT = """
input relation Edge(a: u32, b: u32)
output relation Copy(a: u32, b: u32)
Copy(a, b) :- Edge(a, b).
"""
TRIANGLES = "Copy(x, y), Copy(y, z), Copy(x, z)"
LOOK_UPS = "Copy(x, y), Copy(z, y), x < z, x < 60"


def _database() -> Any:
    db = tidelog.compile(TEXT).open()
    with db.transaction() as tx:
        tx.insert("Edge", [(a, (a * 7 + shift) % 101) for a in range(101) for shift in (1, 2, 5)])
    return db


@pytest.mark.parametrize("query", [TRIANGLES, LOOK_UPS])
def test_a_query_that_ends_at_any_look_leaves_nothing_half_copied(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_rows, "_ROWS_AT_ONCE", 100)
    for each in (store, trie, arrangement):
        monkeypatch.setattr(each, "_AT_ONCE", 100)
    expected = _database().query(query).rows
    assert expected
    db = _database()
    with db._locked.reads() as reads:
        private = reads.queries().committed.private
        looks, ended = 0, 0

        def look() -> None:
            nonlocal looks
            looks += 1
            if looks > ended:
                raise EvaluationError("enough", code=Code.CANCELLED)

        while True:
            looks = 0
            try:
                with private.watched(look):
                    found = private.bucket("Copy", (1,), np.array([5]))
                    private.arrange(private["Copy"], Order((1, 0)))
                break
            except EvaluationError:
                ended += 1
        assert ended > 12
        assert len(found) == 3
        assert db.query(query).rows == expected


def test_a_query_that_waits_for_the_copy_of_another_looks_at_its_deadline() -> None:
    db = _database()
    with db._locked.reads() as reads:
        private = reads.queries().committed.private
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            with private._locked():
                held.set()
                assert go_on.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(30)
        with pytest.raises(EvaluationError, match="deadline"):
            db.query(TRIANGLES, deadline=0.1)
        go_on.set()
        thread.join(30)
        assert db.query(TRIANGLES, deadline=30).rows
