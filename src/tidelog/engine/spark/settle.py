"""A frame → the same rows, computed once and cut from their history; and the settings under which loops of jobs run.

A cut needs both of what Spark has for it. `localCheckpoint` cuts the plan, but not the estimate of its size, which for
a join is the product of its sides: over the rounds of a recursion it becomes a number with millions of digits, and
planning never ends. `persist` knows the true size as soon as the rows are there, and lets go of them when it is told
to, but keeps the whole plan. So a frame is cut, and what was cut is persisted.

The rows are then kept twice until `loaded` says that the second copy is there. In a classic session it drops the first
one, the only place where Tidelog looks behind the DataFrame API; through Connect it stays as long as the frame.
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
    """While open, the session has the settings for loops of small jobs."""
    before = {name: spark.conf.get(name) for name in _IN_LOOPS}
    try:
        for name, value in _IN_LOOPS.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def cut(frame: Any) -> Any:
    """The same rows, which the next job that reads any of them computes and keeps."""
    return frame.localCheckpoint(eager=False).persist()


def loaded(frame: Any) -> None:
    """The rows of a frame that was cut have been computed: one copy of them is enough."""
    plan = getattr(frame, "_jdf", None)
    if plan is not None:
        with suppress(Exception):
            plan.logicalPlan().rdd().unpersist(False)


def release(*frames: Any) -> None:
    """Lets go of what is kept for frames that were cut. If the session is gone, so is that."""
    for frame in frames:
        loaded(frame)
        with suppress(Exception):
            frame.unpersist()
