"""The lines of rows that came after a commit: in order, as bytes, and all from the first new one on."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tidelog.engine.local.queries import later_lines
from tidelog.engine.local.queries.later_lines import LaterLines
from tidelog.engine.local.storage.versions import Change

LINES = 400


def change(commit: int, used: int, inserted: list[int]) -> Change:
    nothing = np.empty(0, dtype=np.int32)
    return Change(commit, used, np.array(inserted, dtype=np.int32), nothing, np.empty((0, 4), dtype=np.int64))


@pytest.mark.parametrize("few", [0, 5, 1 << 15])
@pytest.mark.parametrize("seed", range(20))
def test_the_set_has_the_lines_of_all_changes(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later_lines, "_FEW", few)
    chance = random.Random(seed)
    first = used = chance.randrange(LINES // 2)
    later, expected = LaterLines(), set[int]()
    everything = np.arange(LINES)
    assert not later
    assert not later.has(everything).any()
    for commit in range(1, 8):
        changes = []
        for _ in range(chance.randrange(1, 3)):
            reused = chance.sample(range(used), chance.randrange(min(used, 10) + 1))
            new = range(used, used + chance.randrange(10))
            inserted = [*reused, *new]
            chance.shuffle(inserted)
            changes.append(change(commit, used, inserted))
            used += len(new)
            expected.update(line for line in inserted if line < first)
        later.add(changes)
        assert set(everything[later.has(everything)].tolist()) == expected | set(range(first, LINES))
        present = np.ones(chance.choice([LINES, first, used]), dtype=np.bool_)
        later.remove_from(present)
        assert set(np.flatnonzero(present).tolist()) == set(range(first)) - expected
