"""A frame → the same rows, computed once and cut from their history; and the settings under which loops of jobs run.

Spark keeps the rows of a cut frame (`localCheckpoint`) until Java's memory is collected, which may be hours later. A
loop that makes a frame in every round has to say when one is done with. Through Connect the server drops it with the
client's object; in a classic session `release` tells it, the only place where Tidelog looks behind the DataFrame API.
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
    return frame.localCheckpoint(eager=False)


def release(*frames: Any) -> None:
    """Lets go of what was kept for frames that `cut` made. If the session is gone, so is that."""
    for frame in frames:
        plan = getattr(frame, "_jdf", None)
        if plan is not None:
            with suppress(Exception):
                plan.logicalPlan().rdd().unpersist(False)
