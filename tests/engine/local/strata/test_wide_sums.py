"""Exact sums of integers in two halves, against Python's integers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tidelog.engine.local.strata.aggregates.wide_sums import add_halves, halves_of
from tidelog.types import BitType, SignedType, integer_range

TYPES = [kind(width) for kind in (BitType, SignedType) for width in (1, 8, 31, 32, 33, 63, 64)]


def word(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("result", TYPES, ids=str)
@pytest.mark.parametrize("added", TYPES, ids=str)
def test_sums_are_exact_or_said_to_be_too_large(added: BitType | SignedType, result: BitType | SignedType) -> None:
    rng = random.Random(str((added, result)))
    low, high = integer_range(added)
    least, most = integer_range(result)
    for _ in range(20):
        numbers = [rng.choice([low, high, 0, rng.randint(low, high)]) for _ in range(rng.randint(0, 5))]
        signs = [rng.choice([1, 1, -1]) for _ in numbers]
        old = rng.choice([0, least, most, rng.randint(least, most)])
        sums = [
            [sum(sign * ((word(each) >> half.shift) & half.mask) for each, sign in zip(numbers, signs))]
            for half in halves_of(added)
        ]
        totals = np.array(sums, dtype=np.int64).T.copy()
        words, overflows = add_halves(np.array([word(old)]), totals, result)
        exact = old + sum(sign * each for each, sign in zip(numbers, signs))
        assert bool(overflows[0]) == (not least <= exact <= most)
        assert overflows[0] or int(words[0]) == word(exact)
        if old == 0:
            assert [each.tolist() for each in add_halves(None, totals, result)] == [words.tolist(), overflows.tolist()]
