"""A few of many cases, others every day: for tests that are too slow to run all of them in `make test`.

Day n takes the cases n·k, n·k + 1, ... of k at a time, round and round, so that each has its turn within a few days and
a failure can be repeated: the day is in the test's name. `TIDELOG_SAMPLE=20773` takes another day, `all` everything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")
VARIABLE = "TIDELOG_SAMPLE"


def day() -> str:
    """The number of the day that is asked for, today's by default, or `all`."""
    return os.environ.get(VARIABLE) or str(datetime.now(UTC).date().toordinal() - 719163)


def todays(cases: Sequence[T], count: int) -> list[T]:
    """The cases of the day."""
    if day() == "all":
        return list(cases)
    start = int(day()) * count
    return [cases[place % len(cases)] for place in range(start, start + min(count, len(cases)))]
