"""An engine that never stays with a plan: it plans anew whenever it may, and takes any order for the cheapest."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest import mock

from tidelog.engine.local.execution.plan_cache import PlanCache
from tidelog.engine.local.execution.statistics import StoreStatistics
from tidelog.engine.local.strata import joins


@contextmanager
def changing_plans(seed: int) -> Iterator[None]:
    """In here, the local engines do so, in Bootstrap and in Update."""
    any_of, sizes = random.Random(seed), count()

    def rows(*_: object) -> float:
        return any_of.uniform(1, 100)

    def size_class(*_: object) -> int:
        return next(sizes)

    with (
        mock.patch.object(joins, "REPLAN_WAVE", 0),
        mock.patch.object(joins, "REPLAN_INSTANCES", 0),
        mock.patch.object(PlanCache, "_size_class", size_class),
        mock.patch.object(StoreStatistics, "rows", rows),
        mock.patch.object(StoreStatistics, "bucket", rows),
        mock.patch.object(StoreStatistics, "setup", return_value=0.0),
    ):
        yield
