"""`Inspect` before an aggregate over rows changes nothing: each combination of rows counts, whatever is inspected."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from tests.engine.spark.in_process import NEVER, NoSpark, tasks_here

import tidelog

TEXT = """
#[has_side_effects]
extern function note(x: u32, weight: s64): ()
input relation R(x: u32, y: u32)
input relation Q(x: u32, z: u32)
output relation OfOne(x: u32, n: u64, s: u64)
output relation OfTwo(x: u32, n: u64)
OfOne(x, n, s) :- R(x, y), Inspect note(x, ddlog_weight), (var n, var s) = (count(), sum(y as u64)) by (x).
OfTwo(x, n) :- R(x, _), Q(x, _), Inspect note(x, ddlog_weight), var n = count() by (x).
"""


@pytest.mark.parametrize("way", ["elastic", "recompute", "update", "counting", "spark"])
def test_combinations_count_and_not_the_rows_that_are_inspected(way: str) -> None:
    options: dict[str, Any] = {"engine": "spark", "spark": NoSpark()} if way == "spark" else {"strategy": way}
    noted: Counter[int] = Counter()

    def note(x: int, weight: int) -> tuple[()]:
        noted[x] += weight
        return ()

    program = tidelog.compile(TEXT, externs={"note": note})
    dice = random.Random(3)
    with tasks_here(lambda: NEVER, seed=1), program.open(**options) as database:
        present: dict[str, set[tuple[int, int]]] = {"R": set(), "Q": set()}
        for _ in range(20):
            with database.transaction() as tx:
                for name, rows in present.items():
                    left = set(dice.sample(sorted(rows), min(len(rows), dice.randrange(4))))
                    came = {(dice.randrange(3), dice.randrange(4)) for _ in range(dice.randrange(4))}
                    tx.delete(name, sorted(left))
                    tx.insert(name, sorted(came))
                    present[name] = (rows - left) | came
            keys = sorted({x for x, _ in present["R"]})
            ones = {x: [y for key, y in present["R"] if key == x] for x in keys}
            others = Counter(x for x, _ in present["Q"])
            assert database.relation("OfOne").rows() == [(x, len(ones[x]), sum(ones[x])) for x in keys]
            pairs = {x: len(ones[x]) * others[x] for x in keys if others[x]}
            assert database.relation("OfTwo").rows() == sorted(pairs.items())
            # Both rules are inspected: the weights add up to the combinations of both.
            assert {x: noted[x] for x in noted if noted[x]} == {x: len(ones[x]) + pairs.get(x, 0) for x in keys}
