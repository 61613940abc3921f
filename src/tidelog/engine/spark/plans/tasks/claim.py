"""Which task does which bucket, where all tasks run on the driver's machine.

Spark hands a task to any of its Python processes, but the engine that holds a bucket's state is in one of them
(`kept.py`): a bucket that meets the wrong process is loaded from files, which takes longer than a small epoch. So tasks
choose. A task first claims the buckets whose engines its process keeps. A bucket that another process keeps it leaves
alone for a moment; what nobody keeps, or nobody has claimed by then, it takes. It goes on until nothing is left, so a
late task costs nothing.

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
    """The buckets that this task does, each claimed before it is given.

    `owners` has for each bucket the id of the process that did it last, `keeps` says whether this process still has
    its engine.
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
    """True when the claim is ours; False when it was made before."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
