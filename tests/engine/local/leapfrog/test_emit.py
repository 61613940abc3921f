"""Two tries that meet at their last level over many pages, and more words than a buffer holds."""

from __future__ import annotations

import random

import pytest

import tidelog
from tidelog.engine.local.kernels.layout import OUT_ROWS, PAGE_ROWS

PROGRAM = """
input relation A(x: u32, y: u32)
input relation B(x: u32, y: u32)
output relation J(y: u32, x: u32)
#[join = "leapfrog"]
J(y, x) :- A(x, y), B(x, y).
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("dense", "sparse"), [(0.7, 0.6), (0.9, 0.02), (0.01, 0.95)])
def test_words_that_meet_over_many_pages(dense: float, sparse: float, threads: int) -> None:
    """With lists of about one length, which are merged, and of very different ones, where the longer is searched."""
    random.seed(1)
    every = [(x, y) for x in range(12) for y in range(6 * PAGE_ROWS)]
    a = {row for row in every if random.random() < dense}
    b = {row for row in every if random.random() < sparse}
    with tidelog.compile(PROGRAM).open(threads=threads) as database:
        with database.transaction() as first:
            first.insert("A", sorted(a))
            first.insert("B", sorted(b))
        assert set(database.relation("J")) == {(y, x) for x, y in a & b}
        if dense == 0.7:
            assert len(a & b) > OUT_ROWS / 2
        gone = set(random.sample(sorted(a), len(a) // 3))
        with database.transaction() as second:
            second.delete("A", sorted(gone))
            second.insert("B", sorted(set(every) - b))
        assert set(database.relation("J")) == {(y, x) for x, y in a - gone}
    assert len(a - gone) > OUT_ROWS or dense < 0.5
