"""Grouping: a relation with one row for each key of another, updated key by key.

When members of a key are inserted or deleted, the key's group is made from the present members, and the old row is
replaced by the new one. The cost is the members of the touched keys. If the members have weights, so has the group; the
groups of a stream are a stream. The row may have aggregates of the group instead of the group itself
(`aggregates.stratum` maintains those of large groups without reading the members).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.weighted_table import Bag, Row, Tables
from tidelog.engine.local.strata.aggregates.small_group import SumOverflowError, aggregate_whole
from tidelog.engine.local.strata.materialized import Facts, MaterializedStratum
from tidelog.rules.ir import Aggregate, Group, Relation, Variable
from tidelog.values import Group as GroupValue


def _at_once() -> None:
    """Does nothing: the pace of work that nobody watches."""


class Grouping:
    """Makes groups of a rule `G(k, …, g) :- group of H(k, …, value)`.

    Where it `is_lenient`, a sum that does not fit into its type is 0, and `overflow` says so.
    """

    def __init__(self, literal: Group, relations: Mapping[str, Relation], values: Values) -> None:
        self.literal = literal
        self.is_lenient = False
        self.overflow: SumOverflowError | None = None
        self.keys = tuple(range(sum(isinstance(term, Variable) for term in literal.atom.terms)))
        types = [column.type for column in relations[literal.atom.relation].columns]
        self._decoders = [values.decoder(type_) for type_ in types]
        self._encode = values.encoder(literal.variable.type)
        self._encoders = [values.encoder(each.variable.type) for each in literal.aggregates or ()]

    def row(self, members: Iterable[tuple[Row, int]]) -> Row | None:
        """Returns the row for members of one key, with their weights; None where there are none."""
        there = [(row, weight) for row, weight in members if weight > 0]
        if not there:
            return None
        count = len(self.keys)
        first = there[0][0]
        own_key: Any = self.key_values(first)
        start = count + self.literal.finer
        behind = self._decoders[start:]
        own = {row[start:]: weight for row, weight in there}
        items = [([decode(word) for decode, word in zip(behind, words)], weight) for words, weight in own.items()]
        items.sort()
        if self.literal.aggregates is not None:
            parts = self.literal.parts
            values = [each[-1] if parts == 1 else tuple(each[-parts:]) for each, _ in items]
            weights = [weight for _, weight in items] if self.literal.weighted else None
            made = (self._aggregated(each, own_key, values, weights) for each in self.literal.aggregates)
            return (*first[:count], *(encode(value) for encode, value in zip(self._encoders, made)))
        weighted = self.literal.weighted
        pairs = [(values[-1], weight if weighted else 1) for values, weight in items]
        group = GroupValue(own_key[0] if self.literal.plain else own_key, pairs)
        return (*first[:count], self._encode(group))

    def _aggregated(
        self, aggregate: Aggregate, key: tuple[Any, ...], values: Sequence[Any], weights: Sequence[int] | None
    ) -> Any:
        try:
            return aggregate_whole(aggregate, key, values, weights)
        except SumOverflowError as error:
            if not self.is_lenient:
                raise
            self.overflow = error
            return 0

    def key_values(self, row: Row) -> tuple[Any, ...]:
        """Returns the values of the keys of a row, as Python has them."""
        return tuple(decode(word) for decode, word in zip(self._decoders, row[: len(self.keys)]))

    def rows(self, members: Bag, pace: Callable[[], None] = _at_once) -> list[Row]:
        """Returns the rows for all members of a relation; `pace` is called before each."""
        buckets: dict[Row, list[tuple[Row, int]]] = {}
        for row, weight in members.items():
            buckets.setdefault(tuple(row[i] for i in self.keys), []).append((row, weight))
        made = []
        for bucket in buckets.values():
            pace()
            made.append(self.row(bucket))
        return [row for row in made if row is not None]


class GroupStratum(MaterializedStratum):
    """The groups of a set, or of a relation whose weights no rule reads."""

    fixed = "groups"

    @cached_property
    def _grouping(self) -> Grouping:
        (rule,) = self.stratum.rules
        assert rule.group is not None
        return Grouping(rule.group, self.program.relations, self.values)

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        assert rule.group is not None
        grouping = self._grouping
        groups = self.catalog.stores[self.numbers[rule.head.relation]]
        inserted: list[Row] = []
        deleted: list[Words] = []
        pace = self.watch.pace(rule)
        for key in self._touched(rule.group, grouping.keys):
            pace()
            # A new stratum derives all its rows, whatever its store holds from before.
            old = groups.columns_of(groups.bucket(grouping.keys, key)[: 0 if self.is_new else None])
            new = self._row(rule.group, key)
            if [tuple(row) for row in old.tolist()] != ([] if new is None else [new]):
                deleted.append(old)
                inserted += [] if new is None else [new]
        if not deleted:
            return {}
        return {groups.relation: (self.rows_to_words(inserted, groups.columns), np.concatenate(deleted))}

    def _row(self, group: Group, key: Words) -> Row | None:
        """Returns the row of a key with this epoch's changes; None if it has no members."""
        return self._grouping.row(self._members(group, self._grouping.keys, key))

    def _touched(self, group: Group, keys: tuple[int, ...]) -> Words:
        members = self.catalog.stores[self.numbers[group.atom.relation]]
        changed = np.concatenate([members.inserted_lines(), members.deleted_lines()])
        if self.is_new:
            changed = members.present_lines()
        touched: Words = np.unique(members.columns_of(changed)[:, : len(keys)], axis=0)
        return touched

    def _members(self, group: Group, keys: tuple[int, ...], key: Words) -> Iterable[tuple[Row, int]]:
        return [(tuple(row), 1) for row in self._member_words(group, keys, key).tolist()]

    def _member_words(self, group: Group, keys: tuple[int, ...], key: Words) -> Words:
        """Returns the members of a key with this epoch's changes."""
        members = self.catalog.stores[self.numbers[group.atom.relation]]
        found = members.rows[members.bucket(keys, key)]
        there = found[found[:, members.columns + k.META] >> k.STAMP_SHIFT >= 0]
        return there[:, : members.columns]


class WeightedGroupStratum(GroupStratum):
    """The groups of a relation whose weights are read."""

    checked_always = True

    def connect(self, tables: Tables) -> None:
        """Sets the table of its members, before the first epoch."""
        (rule,) = self.stratum.rules
        assert rule.group is not None
        self.table = tables[rule.group.atom.relation]

    def is_touched(self) -> bool:
        return bool(self.table.delta)

    def _touched(self, group: Group, keys: tuple[int, ...]) -> Words:
        touched = {tuple(row[i] for i in keys) for row in self.table.delta}
        return self.rows_to_words(list(touched), len(keys))

    def _members(self, group: Group, keys: tuple[int, ...], key: Words) -> Iterable[tuple[Row, int]]:
        return self.table.find(keys, tuple(key.tolist()), new=True)
