"""An equivalence relation over the pairs that generate it: classes are joined and taken apart, none is derived again.

The rows are all pairs of each class. An inserted pair joins two classes: the rows between them are inserted. A deleted
pair may take a class apart: its members are connected again by the pairs that are left, and the rows between what is no
longer connected are deleted. Both cost the rows that change, and for a deletion the pairs of the class. After changes
of a large part all classes are made again, on whole columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.materialized import Facts, TransformStratum

_NONE = -1
_MANY_VALUES, _LARGE_PART = 1000, 4  # more changed values than this, and than this part of the pairs


class EquivalenceStratum(TransformStratum):
    fixed = "classes"

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        (given,) = rule.atoms
        pairs = self.catalog.stores[self.numbers[given.relation]]
        store = self.catalog.stores[self.numbers[rule.head.relation]]
        if self.is_new:
            return {store.relation: (closure(pairs.columns_of(pairs.present_lines())), _pairs([]))}
        inserted, deleted = (pairs.columns_of(each) for each in (pairs.inserted_lines(), pairs.deleted_lines()))
        touched = len(inserted) + len(deleted)
        if touched > _MANY_VALUES and touched * _LARGE_PART > len(pairs):
            found = _difference(closure(pairs.columns_of(pairs.present_lines())), store.columns_of(store.lines()))
        else:
            found = _Repair(store, pairs).run(inserted, deleted)
        return {store.relation: found} if len(found[0]) or len(found[1]) else {}


@dataclass(slots=True)
class _Repair:
    """The classes that changed pairs touch, before and after an epoch."""

    store: Store
    pairs: Store
    _before: dict[int, int] = field(default_factory=dict)
    _parent: dict[int, int] = field(default_factory=dict)

    def run(self, inserted: Words, deleted: Words) -> tuple[Words, Words]:
        """Returns the rows to insert and to delete."""
        classes: list[list[int]] = []
        for value in dict.fromkeys([*deleted.ravel().tolist(), *inserted.ravel().tolist()]):
            if value in self._before:
                continue
            members = self._members(value)
            for each in members:
                self._before[each] = len(classes)
            self._before.setdefault(value, _NONE)
            classes.append(members)
        broken = {self._before[value] for value in deleted[:, 0].tolist()}
        for number, members in enumerate(classes):
            if number in broken:
                for one in members:
                    for other in self._partners(one):
                        self._join(one, other)
            else:
                for other in members[1:]:
                    self._join(members[0], other)
                if members:
                    self._parent.setdefault(members[0], members[0])
        for one, other in inserted.tolist():
            self._join(one, other)
        values = list(self._before)
        roots: dict[int, int] = {}
        after = {
            value: roots.setdefault(self._find(value), len(roots)) if value in self._parent else _NONE
            for value in values
        }
        return _pairs(_between(values, after, self._before)), _pairs(_between(values, self._before, after))

    def _members(self, value: int) -> list[int]:
        """Returns the class of a value before the epoch; empty if it had none."""
        lines = self.store.bucket((0,), np.array([value]))
        found: list[int] = self.store.columns_of(lines)[:, 1].tolist()
        return found

    def _partners(self, value: int) -> list[int]:
        """Returns what the pairs of this epoch connect a value with."""
        found = self.pairs.rows[self.pairs.bucket((0,), np.array([value]))]
        there = found[found[:, self.pairs.columns + k.META] >> k.STAMP_SHIFT >= 0]
        partners: list[int] = there[:, 1].tolist()
        return partners

    def _find(self, value: int) -> int:
        parent = self._parent
        while (above := parent.setdefault(value, value)) != value:
            parent[value] = parent[above]
            value = above
        return value

    def _join(self, one: int, other: int) -> None:
        self._parent[self._find(one)] = self._find(other)


def closure(pairs: Words) -> Words:
    """Returns all pairs of all classes that pairs generate."""
    if not len(pairs):
        return _pairs([])
    values, places = np.unique(pairs, return_inverse=True)
    left, right = places.reshape(-1, 2).T
    label = np.arange(len(values))
    while True:
        # Every label moves to the least one beside it, and then to the end of its chain.
        least = np.minimum(label[left], label[right])
        made = label.copy()
        np.minimum.at(made, label[left], least)
        np.minimum.at(made, label[right], least)
        while (made[made] != made).any():
            made = made[made]
        made = made[label]
        if np.array_equal(made, label):
            break
        label = made
    order = np.argsort(label, kind="stable")
    _, starts, sizes = np.unique(label[order], return_index=True, return_counts=True)
    size_of, start_of = np.repeat(sizes, sizes), np.repeat(starts, sizes)
    one = np.repeat(order, size_of)
    offsets = np.arange(len(one)) - np.repeat(np.cumsum(size_of) - size_of, size_of)
    other = order[np.repeat(start_of, size_of) + offsets]
    return np.column_stack([values[one], values[other]])


def _between(values: list[int], outer: dict[int, int], inner: dict[int, int]) -> Iterator[tuple[Words, Words]]:
    """Yields sides of pairs that are inside a class of `outer`, and not inside one of `inner`."""
    groups: dict[int, dict[int, list[int]]] = {}
    for value in values:
        if outer[value] != _NONE:
            groups.setdefault(outer[value], {}).setdefault(inner[value], []).append(value)
    for cells in groups.values():
        whole = [np.array(cell, dtype=np.int64) for cell in cells.values()]
        for number, (inside, cell) in enumerate(zip(cells, whole, strict=True)):
            others = [each for place, each in enumerate(whole) if place != number or inside == _NONE]
            if others:
                yield cell, np.concatenate(others)


def _pairs(sides: Iterator[tuple[Words, Words]] | list[tuple[Words, Words]]) -> Words:
    """Returns all pairs of a value of one side and a value of the other."""
    made = [
        np.column_stack([np.repeat(one, len(other)), np.tile(other, len(one))])
        for one, other in sides
    ]
    return np.concatenate(made) if made else np.empty((0, 2), dtype=np.int64)


def _difference(new: Words, old: Words) -> tuple[Words, Words]:
    """Returns the rows that only the first has, and those that only the second has."""
    one, other = (np.ascontiguousarray(each).view("V16").ravel() for each in (new, old))
    _, first, second = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return np.delete(new, first, axis=0), np.delete(old, second, axis=0)
