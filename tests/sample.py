"""A few of many cases, others every day: for tests that are too slow to run all of them in `make test`.

Day n takes the cases n·k, n·k + 1, ... of k at a time, round and round, so that each has its turn within a few days. A
failure can be repeated: every run ends with the day that it took, and `TIDELOG_SAMPLE=20773` takes that day again;
`all` takes everything. With `CI` set, as on a build machine, the day is always `FIXED`: a change is not refused because
of the date.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")
VARIABLE = "TIDELOG_SAMPLE"
FIXED = "20773"


def day() -> str:
    """Returns the number of the requested day, or `all`; by default today's, and a fixed one where `CI` is set."""
    if asked := os.environ.get(VARIABLE):
        return asked
    return FIXED if os.environ.get("CI") else str(datetime.now(UTC).date().toordinal() - 719163)


def todays(cases: Sequence[T], count: int) -> list[T]:
    """Returns the cases of the day."""
    if day() == "all":
        return list(cases)
    start = int(day()) * count
    return [cases[place % len(cases)] for place in range(start, start + min(count, len(cases)))]
