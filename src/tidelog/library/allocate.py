"""The extern functions of `allocate`: a cyclic search for free numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidelog.library._runtime.extern import extern
from tidelog.library._runtime.option_result import NONE, option
from tidelog.values.maps import Map
from tidelog.values.sets import Set
from tidelog.values.vec import Vec


@extern
def allocate(taken: Set, wanted: Vec, low: int, high: int) -> Vec:
    return Vec(zip(wanted, _free(taken, low, high)))


@extern
def allocate_opt(taken: Set, wanted: Vec, low: int, high: int) -> Vec:
    free = _free(taken, low, high)
    return Vec((who, option(next(free, None))) for who in wanted)


@extern
def adjust_allocation(taken: Map, wanted: Vec, low: int, high: int) -> Vec:
    free = _free(Set(taken.values), low, high)
    pairs = ((who, taken.get(who) if who in taken else next(free, None)) for who in wanted)
    return Vec((who, number) for who, number in pairs if number is not None)


@extern
def allocate_with_hint(taken: Set, wanted: Vec, low: int, high: int) -> Vec:
    _check(low, high)
    given: set[int] = set()
    found: list[tuple[Any, int]] = []
    start = _largest(taken, low, high, otherwise=low)
    for who, hint in wanted:
        start = start if hint == NONE else hint.x
        offset = 0
        while start in taken or start in given:
            if offset == high - low:
                return Vec(found)
            offset, start = offset + 1, _behind(start, low, high)
        found.append((who, start))
        given.add(start)
        # A number that was found only after a whole round was the last one.
        if offset == high - low:
            break
        start = _behind(start, low, high)
    return Vec(found)


def _free(taken: Set, low: int, high: int) -> Iterator[int]:
    """Yields the free numbers from `low` to `high`, cyclically, beginning after the largest taken one."""
    _check(low, high)
    start = _largest(taken, low, high, otherwise=high)
    for _ in range(high - low + 1):
        start = _behind(start, low, high)
        if start not in taken:
            yield start


def _behind(number: int, low: int, high: int) -> int:
    return low if number == high else number + 1


def _largest(taken: Set, low: int, high: int, *, otherwise: int) -> int:
    """Returns the largest taken number, or the other one if there is none or if it is outside the range."""
    largest: int = taken[len(taken) - 1] if len(taken) else otherwise
    return largest if low <= largest <= high else otherwise


def _check(low: int, high: int) -> None:
    if low > high:
        raise ValueError(f"there are no numbers from {low} to {high} to allocate")
