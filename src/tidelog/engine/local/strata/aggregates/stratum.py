"""A stratum of aggregates: small groups are recomputed when they change, large ones have a state that is updated.

A state is built when its group is first touched, from the present members: so a database that was opened, or loaded in
a task, pays only for the groups that change. It holds values and no ids, so it does not matter when ids are freed. A
failed epoch undoes its changes of the states one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.aggregates.group_state import Done, GroupState, Shape
from tidelog.engine.local.strata.group_by import GroupStratum
from tidelog.engine.local.strata.materialized import Facts
from tidelog.rules.ir import Group

KEPT_FROM = 32
"""A group with so many members gets a state, and loses it when it has less than a quarter of them."""

REBUILD_FROM = 0.5
"""From this share of a group on, a change rebuilds the state instead of updating it."""


@dataclass(frozen=True, slots=True)
class _Change:
    """The members of a group that this epoch inserted and deleted."""

    inserted: Words
    deleted: Words


class AggregateStratum(GroupStratum):
    """The aggregates of the groups of a set."""

    @cached_property
    def _states(self) -> dict[Row, GroupState]:
        return {}

    @cached_property
    def _done(self) -> dict[Row, Done | None]:
        """Returns the changes that this epoch made to states; None for a state that it built."""
        return {}

    @cached_property
    def _shape(self) -> Shape:
        (rule,) = self.stratum.rules
        assert rule.group is not None
        assert rule.group.aggregates is not None
        value = self.program.relations[rule.group.atom.relation].columns[-1].type
        return Shape(rule.group.aggregates, value, self.values, finer=rule.group.finer > 0)

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        assert rule.group is not None
        self._changes = self._by_key(rule.group) if self._states else {}
        with self.guarded(rule), self.costs.measured(rule):
            return super().derive()

    def commit(self) -> None:
        super().commit()
        for key in self._done:
            state = self._states.get(key)
            if state is not None and state.size < KEPT_FROM // 4:
                del self._states[key]
        self._done.clear()

    def roll_back(self) -> None:
        super().roll_back()
        for key, done in self._done.items():
            if done is None:
                del self._states[key]
            else:
                self._states[key].undo(done)
        self._done.clear()

    def _row(self, group: Group, key: Words) -> Row | None:
        words = tuple(key.tolist())
        state = self._states.get(words)
        if state is None:
            return self._made(group, key, words)
        change = self._changes[words]
        is_large = len(change.inserted) + len(change.deleted) > REBUILD_FROM * state.size
        done = None if is_large else state.change(change.inserted, change.deleted)
        if done is None:
            # The change is large, or a function of the program gave another value, so that an entry is not found.
            del self._states[words]
            return self._made(group, key, words)
        self._done[words] = done
        return (*words, *state.results()) if state.size else None

    def _made(self, group: Group, key: Words, words: Row) -> Row | None:
        """Returns the row of a group without a state; builds the state if the group is large."""
        grouping = self._grouping
        members = self._member_words(group, grouping.keys, key)
        if len(members) < KEPT_FROM:
            return grouping.row([(tuple(row), 1) for row in members.tolist()])
        state = GroupState(self._shape, grouping.key_values(words), members)
        self._states[words] = state
        self._done[words] = None
        return (*words, *state.results())

    def _by_key(self, group: Group) -> Mapping[Row, _Change]:
        """Returns the inserted and deleted members, by their keys."""
        store = self.catalog.stores[self.numbers[group.atom.relation]]
        count = len(self._grouping.keys)
        inserted = _split(store.columns_of(store.inserted_lines()), count)
        deleted = _split(store.columns_of(store.deleted_lines()), count)
        none = np.empty((0, store.columns), dtype=np.int64)
        return {key: _Change(inserted.get(key, none), deleted.get(key, none)) for key in {*inserted, *deleted}}


def _split(rows: Words, count: int) -> dict[Row, Words]:
    """Splits rows by their first columns."""
    if not len(rows):
        return {}
    if not count:
        return {(): rows}
    keys, codes = np.unique(rows[:, :count], axis=0, return_inverse=True)
    order = np.argsort(codes.reshape(-1), kind="stable")
    ends = np.searchsorted(codes.reshape(-1)[order], np.arange(1, len(keys)))
    return dict(zip(map(tuple, keys.tolist()), np.split(rows[order], ends)))
