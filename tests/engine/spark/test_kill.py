"""`kill -9` of a driver loses nothing that was committed and leaves nothing half done; `make soak` has many more."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.database.storage.kill import server
from tests.engine.spark.kill import survives_kills, survives_kills_on_spark
from tests.oracle.instances import TooLargeError

pytest.importorskip("pyspark")

KILLS = 16


def test_after_a_kill_the_state_is_that_of_the_last_commit_or_of_the_one_in_flight() -> None:
    seen: Counter[str] = Counter()
    seed = 0
    with server("tests.engine.spark.kill") as running:
        while seen["kills"] < KILLS:
            try:
                survives_kills(running, seed, 8, seen)
            except TooLargeError:
                assert seed < 2 * KILLS
            seed += 1
    assert seen["commits"] > KILLS // 2
    assert seen["in the middle of an epoch"] > 0


@pytest.mark.spark
@pytest.mark.slow
def test_a_driver_with_a_session_of_its_own_is_killed_and_the_next_one_goes_on() -> None:
    seen: Counter[str] = Counter()
    survives_kills_on_spark(2, 2, seen)
    assert seen["commits"] >= 2
