"""Many facts into empty relations: repeated rows count once, and an epoch that fails leaves nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.engine.local.storage import catalog
from tidelog.engine.local.strata import joins

PROGRAM = """input relation A(x: u64, y: s32)
output relation B(x: u64)
output relation C(q: u64)
B(x) :- A(x, _).
C(100 / x) :- A(x, _).
"""


@pytest.fixture(params=["large", "shared"], autouse=True)
def always(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every first load counts as a large one; in some cases threads share the search for repeated rows."""
    monkeypatch.setattr(joins, "MANY_FACTS", 1)
    monkeypatch.setattr(catalog, "FEW", 0)
    if request.param == "shared":
        monkeypatch.setattr(catalog, "SHARED_FROM", 1)


def test_repeated_rows_count_once() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(1, 60, 5000), rng.integers(-30, 30, 5000)
    large = (1 << 64) - 1
    table = pa.table({"x": pa.array([*x.tolist(), large, large], pa.uint64()), "y": [*y.tolist(), -5, -5]})
    with tidelog.compile(PROGRAM).open(threads=3) as db:
        with db.transaction() as tx:
            tx.insert("A", table)
        expected = {*zip(x.tolist(), y.tolist()), (large, -5)}
        assert sorted(db.relation("A").rows()) == sorted(expected)
        assert len(tx.changes["B"]) == len({row[0] for row in expected})
        with db.transaction() as tx:
            tx.delete("A", sorted(expected)[:-1])
        assert set(db.relation("B").rows()) == {(large,)}


def test_a_failed_load_leaves_nothing_and_can_be_tried_again() -> None:
    running = Running(PROGRAM)
    rows = [(x, 1) for x in range(1, 200)]
    for _ in range(2):
        with pytest.raises(tidelog.EvaluationError, match="division by zero"):
            running.commit({"A": [*rows, (0, 1)]})
        assert running.rows("A") == running.rows("B") == {}
    running.commit({"A": rows})
    assert set(running.rows("A")) == set(rows)
    running.commit({}, {"A": rows})
    running.commit({"A": rows[:3]})
    assert set(running.rows("B")) == {(1,), (2,), (3,)}


def test_a_loaded_database_is_reopened(tmp_path: Path) -> None:
    with tidelog.compile(PROGRAM).open(path=tmp_path / "db") as db, db.transaction() as tx:
        tx.insert("A", [(x, -x) for x in range(1, 100)])
    with tidelog.open(tmp_path / "db") as db:
        assert len(db.relation("B")) == 99
        with db.transaction() as tx:
            tx.delete("A", [(7, -7)])
        assert (7,) not in set(db.relation("B").rows())
