"""Runs a check over seeds and fails when too few of the cases were small enough for the oracle.

A case whose oracle would need too many rule instances is left out. Without a count, a test over seeds could leave out
all of them and pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tests.oracle.instances import TooLargeError

T = TypeVar("T")
SHARE = 0.75


def over_seeds(seeds: Iterable[int], check: Callable[[int], T], at_least: float = SHARE) -> list[T]:
    """Returns what `check` returned for each seed whose case was small enough; `at_least` this share has to be."""
    asked = 0
    results: list[T] = []
    for seed in seeds:
        asked += 1
        try:
            results.append(check(seed))
        except TooLargeError:
            continue
    assert len(results) >= at_least * asked > 0, f"only {len(results)} of {asked} cases were small enough"
    return results
