"""Readers in other processes see whole epochs while a writer commits; `make campaign` has many more."""

from __future__ import annotations

from collections import Counter

from tests.database.storage.other_readers import read_beside_a_writer


def test_readers_that_refresh_see_whole_epochs_that_are_not_older_than_the_last_acknowledged() -> None:
    seen: Counter[str] = Counter()
    for seed in (1001, 1003) * 10:
        read_beside_a_writer(seed, 2.0, seen)
        if seed == 1003 and min(seen["commits"], seen["reads"]) > 50 and seen["new starts"]:
            break  # on a busy machine two histories are too few
    assert seen["commits"] > 50
    assert seen["reads"] > 50
    assert seen["new starts"] > 0
