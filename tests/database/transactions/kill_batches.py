"""A process that delivers batches with ids to a database, each of them twice, until it is killed.

A server process forks a child for each run (`tests.database.storage.kill`). The seed says the engine: even numbers are
the local one, odd ones the files of Spark without a session (`engine="auto"`).
"""

from __future__ import annotations

import os
from pathlib import Path

import tidelog
from tests.database.storage.kill import say, serve
from tidelog.database.storage import checkpoint_policy

PROGRAM = """
input multiset In(batch: u32, row: u32)
output relation Sum(rows: u64)
output relation Batch(batch: u32)
Sum(n) :- In(batch, row), var n = count() by ().
Batch(b) :- In(b, _).
"""
ROWS = 3


def case_of(seed: int) -> tuple[tidelog.Program, str]:
    return tidelog.compile(PROGRAM), ("local", "auto")[seed % 2]


def deliver(db: tidelog.Database, number: int) -> bool:
    """Delivers a batch, and returns whether it was skipped."""
    with db.transaction(batch=("feed", number)) as tx:
        tx.insert("In", [(number, row) for row in range(ROWS)])
    return tx.skipped


def deliver_until_killed(program: tidelog.Program, engine: str, number: int, directory: Path) -> None:
    """Delivers the batches from this number on. Says `done` after each."""
    checkpoint_policy._SECONDS, checkpoint_policy._TIMES_ITS_COST = 0.05, 0
    try:
        db = program.open(engine, path=directory)
        while True:
            deliver(db, number)
            assert deliver(db, number)
            say(f"done {number}")
            number += 1
    except BaseException as error:
        say(f"failed {error!r}")
        os._exit(1)


if __name__ == "__main__":
    serve(deliver_until_killed, case_of)  # type: ignore[arg-type]
