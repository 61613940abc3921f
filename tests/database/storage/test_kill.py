"""`kill -9` loses nothing that was committed and leaves nothing half done; `make soak` has thousands more."""

from __future__ import annotations

from collections import Counter

from tests.database.storage.kill import server, survives_kills
from tests.oracle.instances import TooLargeError

KILLS = 40


def test_after_forty_kills_the_state_is_that_of_the_last_commit_or_of_the_one_in_flight() -> None:
    seen: Counter[str] = Counter()
    seed = 0
    with server() as running:
        while seen["kills"] < KILLS:
            try:
                survives_kills(running, seed, 8, seen)
            except TooLargeError:
                assert seed < 2 * KILLS
            seed += 1
    assert seen["commits"] > KILLS
    assert seen["in the middle of a checkpoint"] > 0
