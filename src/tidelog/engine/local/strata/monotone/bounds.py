"""Bounds of the sums of a monotone stratum that kernels compute: whether they stay within their types (`overflow`).

Kernels add words and do not look whether a sum wraps. So the largest cost that any row has, in the columns that sums
read, is noted after each wave; with the largest addends of lower strata, and those that were computed, it must stay
within the type. That is known before a wrapped value has gone on for more than a wave. Addends that are floats must be
finite.

The rounds may compute larger sums than the waves (`overflow`), but a value can only pass into a type that has room for
all values of its own. So each type is bounded by the values and addends of the types that are no larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isinf

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.kernels import best_rows
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Lines
from tidelog.engine.local.strata.monotone.checked_sums import BoundedSum, Place, Typed
from tidelog.engine.local.strata.monotone.kernel_plan import KernelPlan, flip_of
from tidelog.engine.local.strata.monotone.overflow import OutOfRangeError
from tidelog.rules.analysis.expression_direction import numbers_in
from tidelog.rules.analysis.scaled_sums import has_range, number_range
from tidelog.scaled_values import to_units
from tidelog.types import BigIntType, BitType, ScaledType, TupleType, Type, is_word

LEAST, MOST = -(1 << 63), (1 << 63) - 1
Range = tuple[int, int]
_State = tuple[Words, dict[Place, Range], dict[Type, int]]


class Bounds:
    """The largest values since the stratum was derived from scratch. `numbers` are those of all rows and below."""

    def __init__(
        self, plan: KernelPlan, relations: int, catalog: Catalog, numbers: Mapping[str, int], values: Values
    ) -> None:
        self._catalog = catalog
        self._numbers = numbers
        self._values = values
        self._sums = [each for each in plan.sums if has_range(each.type)]
        self._floats = [each for each in plan.sums if each not in self._sums]
        self._falling = sorted({_end(each.type) for each in self._sums if each.falls})
        self._factor = relations * max((len(rule.sums) for rule in plan.monotone.rules), default=0)
        self._columns: Words = np.empty((0, 3), dtype=np.int64)
        self._watched: list[Typed] = []
        self._decoded: list[Typed] = []
        for each in self._sums:
            for typed in (each.cost, *each.inside):
                self._watch(typed)
        for typed in (addend for each in self._floats for addend in each.inside):
            self._watch(typed)
        for best in plan.bests if self._sums else ():
            if has_range(best.type) or isinstance(best.type, TupleType):
                self._watch(((best.members, best.value), best.type))
        self._highest: Words = np.full(len(self._columns), LEAST, dtype=np.int64)
        self._allowed: Words = np.full(len(self._columns), MOST, dtype=np.int64)
        self._ranges: dict[Place, Range] = {}
        self._largest: dict[Type, int] = {}
        self._committed = self._copied()

    def _watch(self, typed: Typed) -> None:
        """Watches a column of all rows, its largest and its least value: in the kernel, if they are words."""
        place, type_ = typed
        if typed in self._watched or typed in self._decoded:
            return
        if not has_range(type_) or not is_word(type_):
            self._decoded.append(typed)
            return
        flip = flip_of(type_, smallest=True)
        both = [[self._numbers[place[0]], place[1], mask] for mask in (flip, ~flip)]
        self._columns = np.concatenate([self._columns, np.array(both, dtype=np.int64)])
        self._watched.append(typed)

    def begin(self, *, is_update: bool) -> None:
        """Reads the addends of this epoch: the inserted rows of lower strata, or all. Raises OutOfRangeError."""
        if not is_update:
            self._highest[:] = LEAST
            self._ranges, self._largest = {}, {}
        for place, type_ in {addend for each in (*self._sums, *self._floats) for addend in each.below}:
            store = self._catalog.stores[self._numbers[place[0]]]
            lines: Words | Lines = store.inserted_lines() if is_update else store.present_lines()
            if len(lines):
                self._note(place, type_, store.columns_of(lines)[:, place[1]])
        self._allowed[:] = MOST
        for each in self._sums:
            least, most = self._added(each)
            if least < 0 or most > _end(each.type):
                raise OutOfRangeError
            if self._is_in_kernel(each):
                allowed = _end(each.type) - most + flip_of(each.cost[1], smallest=True)
                at = 2 * self._watched.index(each.cost)
                self._allowed[at] = min(self._allowed[at], allowed)

    def look(self) -> None:
        """Notes the values of the batch. Raises OutOfRangeError if a sum may run over its type."""
        if len(self._columns):
            best_rows.watch_batch(self._catalog.S, self._columns, self._highest)
            if (self._highest > self._allowed).any():
                raise OutOfRangeError
        for place, type_ in self._decoded:
            store = self._catalog.stores[self._numbers[place[0]]]
            if store.line[k.BATCH_COUNT]:
                self._note(place, type_, store.columns_of(store.batch_lines())[:, place[1]])
        for each in self._sums:
            if not self._is_in_kernel(each):
                least, most = self._added(each)
                if least < 0 or self._range(each.cost)[1] + most > _end(each.type):
                    raise OutOfRangeError

    def require(self, steps: int) -> None:
        """Raises OutOfRangeError if the rounds might overflow a type.

        `steps` is the number of best rows, or the highest rank: one of them bounds the steps to any value of the rounds.
        """
        for end in self._falling:
            largest = max(self._added(each)[1] for each in self._sums if each.falls and _end(each.type) <= end)
            highest = max((most for type_, most in self._all_highest() if _end(type_) <= end), default=0)
            if max(highest, 0) + (steps + 2) * self._factor * max(largest, 0) > end:
                raise OutOfRangeError

    def commit(self) -> None:
        self._committed = self._copied()

    def roll_back(self) -> None:
        highest, ranges, largest = self._committed
        self._highest[:] = highest
        self._ranges, self._largest = dict(ranges), dict(largest)

    def _copied(self) -> _State:
        return self._highest.copy(), dict(self._ranges), dict(self._largest)

    def _note(self, place: Place, type_: Type, words: Words) -> None:
        """Notes the values of a column. Raises OutOfRangeError if an addend is infinite."""
        if has_range(type_) and is_word(type_):
            numbers = words.view(np.uint64) if isinstance(type_, BitType) else words
            self._widen(place, int(numbers.min()), int(numbers.max()))
            return
        values = self._values.decode(np.unique(words), type_)
        if has_range(type_) or isinstance(type_, BigIntType):
            integers = [to_units(value, type_) for value in values] if isinstance(type_, ScaledType) else values
            self._widen(place, min(integers), max(integers))
        elif isinstance(type_, TupleType):
            for number, own in (each for value in values for each in numbers_in(value, type_)):
                self._largest[own] = max(number, self._largest.get(own, number))
        elif self._is_added(place) and any(isinf(value) for value in values):
            raise OutOfRangeError

    def _is_in_kernel(self, each: BoundedSum) -> bool:
        """True if one comparison with the largest word of the cost tells that there is room."""
        return not each.inside and each.cost in self._watched

    def _is_added(self, place: Place) -> bool:
        return any(place == own for each in self._floats for own, _ in (*each.below, *each.inside))

    def _widen(self, place: Place, least: int, most: int) -> None:
        known = self._ranges.get(place, (least, most))
        self._ranges[place] = min(least, known[0]), max(most, known[1])

    def _range(self, typed: Typed) -> Range:
        """Returns the least and the largest value of a column, as far as it was watched; 0 if there is none."""
        place, type_ = typed
        if typed not in self._watched:
            return self._ranges.get(place, (0, 0))
        at = 2 * self._watched.index(typed)
        most, least = self._highest[at : at + 2].tolist()
        flip = flip_of(type_, smallest=True)
        return (0, 0) if most == LEAST and least == LEAST else (~least - flip, most - flip)

    def _all_highest(self) -> Iterator[tuple[Type, int]]:
        for place, type_ in (*self._watched, *self._decoded):
            if has_range(type_):
                yield type_, self._range((place, type_))[1]
        yield from self._largest.items()

    def _added(self, each: BoundedSum) -> Range:
        """Returns the least addend, and what all addends are at most together."""
        ranges = [(each.constant, each.constant)]
        ranges += [self._ranges.get(place, (0, 0)) for place, _ in each.below]
        ranges += map(self._range, each.inside)
        return min(least for least, _ in ranges), sum(most for _, most in ranges)


def _end(type_: Type) -> int:
    return number_range(type_)[1]
