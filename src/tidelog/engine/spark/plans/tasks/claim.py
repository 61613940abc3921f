"""Buckets of a job → tasks, where all tasks run on the driver's machine: a task claims the buckets that it runs.

Spark gives a task to any of its Python processes, but the engine that holds a bucket's state is in one of them
(`engine_cache`). In any other process the bucket is loaded from files, which takes longer than a small epoch. So tasks
choose. A task first claims the buckets whose engines its process keeps. For a moment it does not claim the buckets of
other processes; then it claims whatever is free, until nothing is, so a late task costs nothing.

A claim is a file that can be made only once. It says that a task *has begun*: if the task dies, its buckets are missing
among the answers, and the driver runs those again without claims.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PATIENCE = 0.15
"""Seconds that a bucket waits for the process that keeps its engine; tasks of one job start within a few of these."""

_PAUSE = 0.004


def claimed_buckets(
    folder: str, label: str, owners: Sequence[int | None], keeps: Callable[[int], bool]
) -> Iterator[int]:
    """Yields the buckets of this task, each claimed before.

    `owners` has for each bucket the id of the process that ran it last; `keeps` is True if this process still has its
    engine.
    """
    started = time.monotonic()
    process = os.getpid()
    claims = [Path(folder) / f"claim.{label}.{bucket}" for bucket in range(len(owners))]
    for bucket, owner in enumerate(owners):
        if owner == process and keeps(bucket) and _claim(claims[bucket]):
            yield bucket
    while free := [bucket for bucket, claim in enumerate(claims) if not claim.exists()]:
        is_patient = time.monotonic() - started < PATIENCE
        open_to_me = [bucket for bucket in free if not is_patient or owners[bucket] in (None, process)]
        if not open_to_me:
            time.sleep(_PAUSE)
        elif _claim(claims[open_to_me[0]]):
            yield open_to_me[0]


def _claim(file: Path) -> bool:
    """True if the claim is ours; False if it was made before."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
