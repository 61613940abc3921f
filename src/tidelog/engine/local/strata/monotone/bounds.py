"""Bounds of the sums of a monotone stratum that kernels compute: whether they stay within their types (`overflow`).

Kernels add words and do not look whether a sum wraps. So the largest cost that any row has, in the columns that sums
read, is noted after each wave; with the largest addends of lower strata it must stay within the type. That is known
before a wrapped value has gone on for more than a wave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import best_rows
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Lines
from tidelog.engine.local.strata.monotone.kernel_plan import KernelPlan, Place, flip_of
from tidelog.engine.local.strata.monotone.overflow import OutOfRangeError
from tidelog.types import BitType, SignedType, Type, integer_range

LEAST, MOST = -(1 << 63), (1 << 63) - 1


class Bounds:
    """The largest words since the stratum was derived from scratch. `numbers` are those of all rows and below."""

    def __init__(self, plan: KernelPlan, relations: int, catalog: Catalog, numbers: Mapping[str, int]) -> None:
        self._sums = plan.sums
        self._catalog = catalog
        self._numbers = numbers
        falling = [each for each in plan.sums if each.falls]
        self._end = min((_end(each.type) for each in falling), default=None)
        self._factor = relations * max((len(rule.sums) for rule in plan.monotone.rules), default=0)
        columns: list[tuple[int, int, int]] = []
        self._types: list[Type] = []
        if plan.sums:
            for each in plan.sums:
                columns.append((numbers[each.cost[0]], each.cost[1], flip_of(each.type, smallest=True)))
                self._types.append(each.type)
            for best in plan.bests:
                if isinstance(best.type, BitType | SignedType):
                    columns.append((numbers[best.members], best.value, flip_of(best.type, smallest=True)))
                    self._types.append(best.type)
        self._columns: Words = np.array(columns, dtype=np.int64).reshape(len(columns), 3)
        self._highest: Words = np.full(len(columns), LEAST, dtype=np.int64)
        self._allowed: Words = np.full(len(columns), MOST, dtype=np.int64)
        self._addends: dict[Place, tuple[int, int]] = {}
        self._committed = (self._highest.copy(), dict(self._addends))

    def begin(self, *, is_update: bool) -> None:
        """Reads the addends of this epoch: the inserted rows of lower strata, or all. Raises OutOfRangeError."""
        if not self._sums:
            return
        if not is_update:
            self._highest[:] = LEAST
            self._addends = {}
        for (name, column), type_ in {addend for each in self._sums for addend in each.addends}:
            store = self._catalog.stores[self._numbers[name]]
            lines: Words | Lines = store.inserted_lines() if is_update else store.present_lines()
            if len(lines):
                least, most = _range(store.columns_of(lines)[:, column], type_)
                known = self._addends.get((name, column), (least, most))
                self._addends[name, column] = min(least, known[0]), max(most, known[1])
        for place, each in enumerate(self._sums):
            least, most = self._added(each.constant, (addend for addend, _ in each.addends))
            if least < 0 or most > _end(each.type):
                raise OutOfRangeError
            self._allowed[place] = _ordered(_end(each.type) - most, each.type)

    def look(self) -> None:
        """Notes the words of the batch. Raises OutOfRangeError if a sum may run over its type."""
        if self._sums:
            best_rows.watch_batch(self._catalog.S, self._columns, self._highest)
            if (self._highest > self._allowed).any():
                raise OutOfRangeError

    def require(self, keys: int) -> None:
        """Raises OutOfRangeError if the rounds might overflow a type; `keys` is the number of best rows."""
        if self._end is None:
            return
        largest = max(
            self._added(each.constant, (addend for addend, _ in each.addends))[1] for each in self._sums if each.falls
        )
        highest = max(
            (_number(word, type_) for word, type_ in zip(self._highest.tolist(), self._types) if word != LEAST),
            default=0,
        )
        if max(highest, 0) + (keys + 2) * self._factor * max(largest, 0) > self._end:
            raise OutOfRangeError

    def commit(self) -> None:
        self._committed = (self._highest.copy(), dict(self._addends))

    def roll_back(self) -> None:
        highest, addends = self._committed
        self._highest[:] = highest
        self._addends = dict(addends)

    def _added(self, constant: int, places: Iterable[Place]) -> tuple[int, int]:
        """Returns the least addend, and what all addends are at most together."""
        ranges = [(constant, constant), *(self._addends.get(place, (0, 0)) for place in places)]
        return min(least for least, _ in ranges), sum(most for _, most in ranges)


def _end(type_: Type) -> int:
    assert isinstance(type_, BitType | SignedType)
    return integer_range(type_)[1]


def _range(words: Words, type_: Type) -> tuple[int, int]:
    """Returns the least and the largest number of a column."""
    numbers = words.view(np.uint64) if isinstance(type_, BitType) else words
    return int(numbers.min()), int(numbers.max())


def _ordered(number: int, type_: Type) -> int:
    """Returns the word, in the order of words, of a number."""
    return number + flip_of(type_, smallest=True)


def _number(word: int, type_: Type) -> int:
    return word - flip_of(type_, smallest=True)
