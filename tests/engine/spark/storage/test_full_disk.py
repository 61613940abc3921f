"""A disk that is full in the middle of an epoch: the epoch fails as a whole, and the next one is right.

Every write of an epoch fails once: each state file, the manifest and the list of changes. The tasks run in this
process, so that their writes are counted, too; nothing here starts Spark.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.spark.small_epochs import _run_here

import tidelog
from tidelog.engine.spark.session import LazySession
from tidelog.engine.spark.storage.directory import StateDirectory

PROGRAM = tidelog.compile("""
    input  relation Edge(src: string, dst: string)
    output relation Reach(src: string, dst: string)
    output multiset Start(src: string)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
    Start(x) :- Edge(x, _).
""")
EPOCHS: list[tuple[list[tuple[str, str]], list[tuple[str, str]]]] = [
    ([("a", "b"), ("b", "c"), ("c", "d")], []),
    ([("d", "a"), ("x", "y")], [("b", "c")]),
    ([("b", "c")], [("c", "d"), ("x", "y")]),
]


class FullDisk:
    """Lets the writes of a directory fail from the one with this number on; counts them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        self.writes = 0
        for name in ("write", "_write_text"):
            patch.setattr(StateDirectory, name, self._limited(getattr(StateDirectory, name)))

    def _limited(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def limited(directory: StateDirectory, name: str, content: Any) -> Any:
            self.writes += 1
            if self.room is not None and self.writes > self.room:
                path = directory._path(name) if isinstance(name, str) and not name.startswith("/") else name
                Path(path).write_bytes(b"PAR1")  # what fitted
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return write(directory, name, content)

        return limited


def commit(db: tidelog.Database, number: int) -> None:
    inserted, deleted = EPOCHS[number]
    with db.transaction() as tx:
        tx.delete("Edge", deleted)
        tx.insert("Edge", inserted)


def failure(db: tidelog.Database, number: int) -> BaseException | None:
    """Commits an epoch; returns the error if it failed."""
    try:
        commit(db, number)
    except (tidelog.TidelogError, OSError) as error:
        return error
    return None


def rows(db: tidelog.Database) -> tuple[Any, ...]:
    return db.relation("Edge").rows(), db.relation("Reach").rows(), db.relation("Start").rows()


@pytest.mark.parametrize("plan", ["decomposed", "single task"])
def test_a_disk_that_is_full_in_an_epoch_leaves_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str
) -> None:
    monkeypatch.setattr("tidelog.engine.spark.epoch.run_epoch.run_tasks", _run_here)
    disk = FullDisk(monkeypatch)
    options: dict[str, Any] = {"path": tmp_path / "state", "plans": {"Reach": plan}, "keep_changes": 10}

    def opened() -> tidelog.Database:
        return PROGRAM.open("spark", spark=LazySession(), **options)

    failures = 0
    with PROGRAM.open() as local:
        db = opened()
        for number in range(len(EPOCHS)):
            before, room = rows(db), 0
            while True:
                disk.room, disk.writes = room, 0
                refused = failure(db, number)
                if refused is None:
                    break
                assert "No space left" in f"{refused} {refused.__cause__}"
                failures += 1
                disk.room = None
                assert (rows(db), db.report.epoch) == (before, number)
                if room % 2:  # and so does a new process
                    db.close()
                    db = opened()
                    assert (rows(db), db.report.epoch) == (before, number)
                room += 1
            disk.room = None
            commit(local, number)
            assert rows(db) == rows(local)
        db.close()
        with opened() as again:
            assert rows(again) == rows(local)
            assert again.report.epoch == len(EPOCHS)
    assert failures > 2 * len(EPOCHS)
