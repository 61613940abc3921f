"""Sequences of words and of values: after any changes they are what a sorted list is."""

from __future__ import annotations

import bisect
import random
from typing import Any

import numpy as np
import pytest

from tidelog.engine.local.strata.aggregates.scan_tree import ScanTree
from tidelog.engine.local.strata.aggregates.sorted_pages import SortedPages

LOWEST = -(1 << 63)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 192, 193, 3000])
def test_oracle_a_scan_tree_is_a_sorted_list(width: int, size: int) -> None:
    rng = random.Random(size)
    held = sorted(_entry(rng, width) for _ in range(size))
    tree = ScanTree(np.array(held, dtype=np.int64).reshape(size, width))
    for number in range(2000):
        # First it grows, so that pages are split, then it shrinks, so that they are given back.
        if held and rng.random() < (0.3 if number < 1000 else 0.75):
            gone = held.pop(rng.randrange(len(held)))
            assert tree.remove(np.array([gone]))
        else:
            entry = _entry(rng, width)
            bisect.insort(held, entry)
            tree.insert(np.array([entry]))
        assert len(tree) == len(held)
        if held:
            assert (tuple(tree.first()), tuple(tree.last())) == (held[0], held[-1])
            wanted = (rng.choice(held)[0], LOWEST)[:width]
            assert tuple(tree.first_from(list(wanted))) == held[bisect.bisect_left(held, wanted)]


def _entry(rng: random.Random, width: int) -> tuple[int, ...]:
    return tuple(rng.choice((rng.randrange(-20, 20), LOWEST, -LOWEST - 1)) for _ in range(width))


def test_a_scan_tree_takes_many_entries_at_once_and_gives_its_pages_back() -> None:
    rng = np.random.default_rng(1)
    tree = ScanTree(np.empty((0, 1), dtype=np.int64))
    words = rng.permutation(20_000)[:, None]
    for _ in range(5):
        tree.insert(words)
        assert (len(tree), tree.first(), tree.last()) == (20_000, [0], [19_999])
        size = tree.bytes
        assert tree.remove(words[::-1])
        assert len(tree) == 0
    assert tree.bytes == size


def test_what_is_not_there_cannot_be_removed() -> None:
    tree, pages = ScanTree(np.array([[1], [3]])), SortedPages([1, 3])
    assert not tree.remove(np.array([[2]]))
    assert not pages.remove(2)
    assert not pages.remove(4)
    assert (len(tree), len(pages)) == (2, 2)


@pytest.mark.parametrize("kind", ["numbers", "texts", "pairs"])
def test_oracle_sorted_pages_are_a_sorted_list_and_their_text(kind: str) -> None:
    rng = random.Random(kind)

    def value() -> Any:
        number = rng.randrange(400)
        return {"numbers": number, "texts": f"t{number}", "pairs": (number // 50, f"{number}")}[kind]

    held = sorted(value() for _ in range(1500))
    pages = SortedPages(rng.sample(held, len(held)))
    for number in range(3000):
        if held and rng.random() < (0.3 if number < 1500 else 0.8):
            assert pages.remove(held.pop(rng.randrange(len(held))))
        else:
            made = value()
            bisect.insort(held, made)
            pages.insert(made)
        if held:
            assert (pages.first(), pages.last(), len(pages)) == (held[0], held[-1], len(held))
            wanted = rng.choice(held)
            assert pages.first_from(wanted) == wanted
        if number % 50 == 0:
            assert pages.joined(0, ", ", str) == ", ".join(map(str, held))
            assert pages.joined(1, "", repr) == "".join(map(repr, held))
