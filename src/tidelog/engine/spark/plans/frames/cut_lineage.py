"""Cuts the lineage of frames: a frame → the same rows, computed once. Also the settings under which loops of jobs run.

`localCheckpoint` cuts the plan of a frame, but keeps Spark's estimate of its size, which for a join is the product
of its sides: over the rounds of a recursion it becomes a number with millions of digits, and planning never ends.
`persist` knows the true size as soon as the rows are there, but keeps the whole plan. So a frame made by joins is first
persisted and counted, and then cut (`measured`).

Spark keeps the rows of a cut frame until Java's memory is collected, which may be hours later. So a loop that makes a
frame in every round releases frames itself. Through Connect the server drops a frame with the client's object; in a
classic session `release` does, the only place where Tidelog looks behind the DataFrame API.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_IN_LOOPS = {
    # Each shuffle would be a job of its own.
    "spark.sql.adaptive.enabled": "false",
    # A frame that is spread by its hash need not be spread again to be joined on the hash and more.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}


@contextmanager
def loop_settings(spark: Any) -> Iterator[None]:
    """Gives the session the settings for loops of small jobs inside the block."""
    before = {name: spark.conf.get(name) for name in _IN_LOOPS}
    try:
        for name, value in _IN_LOOPS.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def cut(frame: Any) -> Any:
    """Returns the same rows, which the next job that reads any of them computes and keeps."""
    return frame.localCheckpoint(eager=False)


def measured(frame: Any, *totals: Any) -> tuple[Any, list[Any], Any]:
    """Returns the same rows, computed by one job and cut; the frames to release with them; and totals over the rows."""
    counted = frame.persist()
    (found,) = counted.agg(*totals).collect()
    rows = cut(counted)
    return rows, [rows, counted], found


def release(*frames: Any) -> None:
    """Releases the rows that Spark keeps for cut or persisted frames; a stopped session has none."""
    for frame in frames:
        plan = getattr(frame, "_jdf", None)
        with suppress(Exception):
            frame.unpersist()
        if plan is not None and plan.logicalPlan().getClass().getSimpleName() == "LogicalRDD":
            with suppress(Exception):
                plan.logicalPlan().rdd().unpersist(False)
