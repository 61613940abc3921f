"""The members and the rows of one group of a monotone stratum: the best of each key, and the members that make it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.engine.local.encoding.words import Values, is_its_word
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.monotone.ranked_rows import RankedRows
from tidelog.engine.local.strata.monotone.value_order import key_of
from tidelog.rules.analysis.monotone import Best


class BestRows:
    """`members` are all members, `group` the rows that were the best of their keys when they were inserted."""

    def __init__(self, best: Best, rows: Mapping[str, RankedRows], values: Values) -> None:
        self.name = best.relation
        self.members_name = best.members
        self.type = best.type
        self.group = rows[best.relation]
        self.members = rows[best.members]
        self.keys = tuple(range(best.keys))
        self._made_of = (*self.keys, best.value)
        # Without duplicates, a member has nothing but what makes the row.
        self._is_member = best.value == best.keys
        self.smallest = best.smallest
        self._key = key_of(best.order)
        self._decode = None if is_its_word(best.type) else values.decoder(best.type)

    def of(self, member: Row) -> Row:
        """Returns the row of the group that a member makes."""
        return member if self._is_member else (*member[: len(self.keys)], member[-1])

    def value(self, row: Row) -> Any:
        """Returns the value of a row of the group, or of a member."""
        return row[-1] if self._decode is None else self._decode(row[-1])

    def is_better(self, row: Row, other: Row) -> bool:
        one, two = self.value(row), self.value(other)
        if self._key is not None:
            one, two = self._key(one), self._key(two)
        return bool(one < two if self.smallest else two < one)

    def best_of(self, key: Row) -> Row | None:
        """Returns the best present row of a key."""
        return self._best(row for row, _ in self.group.find(self.keys, key, new=True))

    def best_of_all(self) -> set[Row]:
        """Returns the best present row of every key."""
        found: dict[Row, Row] = {}
        for row in self.group.ranks:
            key = row[:-1]
            if key not in found or self.is_better(row, found[key]):
                found[key] = row
        return {*found.values()}

    def candidate_of(self, key: Row) -> Row | None:
        """Returns the best row that the members of a key would make."""
        return self._best(self.of(member) for member, _ in self.members.find(self.keys, key, new=True))

    def levels(self, row: Row) -> list[int]:
        """Returns the ranks of the members that make this row."""
        if self._is_member:
            return [self.members.ranks[row]] if row in self.members.ranks else []
        return [rank for _, rank in self.members.find(self._made_of, row, new=True)]

    def _best(self, rows: Iterable[Row]) -> Row | None:
        found: Row | None = None
        for row in rows:
            if found is None or self.is_better(row, found):
                found = row
        return found
