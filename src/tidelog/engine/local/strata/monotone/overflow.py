"""Sums of fixed width in a monotone recursion: whether they stay within their types.

A sum that overflows its type gets worse all at once, so the recursion is not monotone there. The sums that are
computed are checked one by one. But the rounds of the recomputation also compute others, over values that are surpassed
in the end, and the result is defined by the rounds; so there has to be room for these, too.

Under `min`, no best value of any round is further than the highest seen value plus one addend for every key and
relation on its path: a path that visits a key twice is not better than without the detour, since no addend is negative. Nor is it
further than one addend for every step up to the highest rank: ranks fall along some derivation of every final row, so
the rounds have come to rest by then.
Under `max`, every value of the rounds is surpassed by a final one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import isinf
from typing import Any

from tidelog.engine.local.encoding.words import Values, is_its_word
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.rules.analysis.expression_direction import numbers_in
from tidelog.rules.analysis.monotone import Monotone, MonotoneRule, WatchedSum
from tidelog.rules.analysis.scaled_sums import has_range, number_range
from tidelog.rules.ir import Rule
from tidelog.scaled_values import to_units
from tidelog.types import ScaledType, Type


class OutOfRangeError(Exception):
    """A sum has overflowed its type, or might in the rounds: then the rounds define the result."""


class Room:
    """Bounds of the sums of one stratum since it was derived from scratch."""

    def __init__(self, monotone: Monotone, relations: int, values: Values) -> None:
        sums = [each for rule in monotone.rules for each in rule.sums if each.falls]
        ends = [number_range(each.type)[1] for each in sums if has_range(each.type)]
        self._end = min(ends, default=None)
        self._sums = relations * max((len(rule.sums) for rule in monotone.rules), default=0)
        self._values = values
        self._highest = 0
        self._largest = 0

    def note(self, values: Iterable[Any], type_: Type) -> None:
        """Notes that members have these values."""
        if self._end is not None:
            numbers = (number for value in values for number, _ in numbers_in(value, type_))
            self._highest = max(self._highest, max(numbers, default=0))

    def require(self, keys: int) -> None:
        """Raises OutOfRangeError if the rounds might overflow a type."""
        if self._end is not None and self._highest + (keys + 2) * self._sums * self._largest > self._end:
            raise OutOfRangeError

    def with_parts(
        self, each: MonotoneRule, emit: Callable[[Row, int], None]
    ) -> tuple[Rule, Callable[[Row, int], None]]:
        """Returns the rule with the parts of its sums behind its head's columns, and an `emit` that checks them."""
        if not each.sums:
            return each.rule, emit
        head = each.rule.head
        width = len(head.terms)
        parts = tuple(part for one in each.sums for part in (one.cost, *one.addends))
        rule = replace(each.rule, head=replace(head, terms=(*head.terms, *parts)))
        checks = []
        place = width
        for one in each.sums:
            end = place + 1 + len(one.addends)
            checks.append(self._check(one, place, end))
            place = end

        def look(row: Row, level: int) -> None:
            for check in checks:
                check(row)
            emit(row[:width], level)

        return rule, look

    def _check(self, one: WatchedSum, start: int, end: int) -> Callable[[Row], None]:
        """Returns the check of one sum."""
        decoders = [self._number_decoder(part.type) for part in (one.cost, *one.addends)]
        if not has_range(one.type):

            def check_float(row: Row) -> None:
                if any(isinf(decode(word)) for decode, word in zip(decoders[1:], row[start + 1 : end])):
                    raise OutOfRangeError

            return check_float
        limit = number_range(one.type)[1]
        if end == start + 2 and is_its_word(one.type):

            def check_words(row: Row) -> None:
                added = row[start + 1]
                if added < 0 or row[start] + added > limit:
                    raise OutOfRangeError
                if one.falls and added > self._largest:
                    self._largest = added

            return check_words

        def check(row: Row) -> None:
            cost, *addends = [decode(word) for decode, word in zip(decoders, row[start:end])]
            added = sum(addends)
            if min(addends) < 0 or cost + added > limit:
                raise OutOfRangeError
            if one.falls and added > self._largest:
                self._largest = added

        return check

    def _number_decoder(self, type_: Type) -> Callable[[int], Any]:
        """Returns what makes a number of a word; that of a date, time or decimal is the integer of its unit."""
        decode = self._values.decoder(type_)
        return (lambda word: to_units(decode(word), type_)) if isinstance(type_, ScaledType) else decode
