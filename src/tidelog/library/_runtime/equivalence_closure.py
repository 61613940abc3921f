"""A transformer that the local engine keeps up to date by itself: pairs → the equivalence relation that they generate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EquivalenceClosure:
    """`make` makes a row of the output; the class of a value is all that pairs connect it with, and itself."""

    make: Callable[[Any, Any], Any]

    def __call__(self, pairs: Iterable[Any]) -> tuple[list[Any]]:
        members: dict[Any, list[Any]] = {}
        for one, other in pairs:
            left, right = (members.setdefault(value, [value]) for value in (one, other))
            if left is right:
                continue
            small, large = sorted((left, right), key=len)
            large += small
            for value in small:
                members[value] = large
        classes = {id(each): each for each in members.values()}
        return ([self.make(one, other) for each in classes.values() for one in each for other in each],)
