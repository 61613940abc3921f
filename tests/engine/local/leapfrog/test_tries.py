"""Tries: sorted pages kept up to date row by row, and the iterators over them."""

from __future__ import annotations

import random
from bisect import bisect_left
from itertools import product

import numpy as np
import pytest

from tidelog.engine.local.kernels import entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.leapfrog import iterators, pages
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store, Words
from tidelog.engine.local.storage.trie import Trie
from tidelog.plan.statistics import Order

Row = tuple[int, ...]
EDGES = (-(1 << 63), -1, 0, 1, (1 << 63) - 1)


def sorted_rows(catalog: Catalog, number: int) -> list[Row]:
    """What the pages of a trie hold, in their order, each row with its line behind it."""
    line = catalog.A[number]
    trie = next(store.arrangements[number] for store in catalog.stores if number in store.arrangements)
    assert isinstance(trie, Trie)
    found: list[Row] = []
    for page, rows, first in trie.directory.array[: int(line[k.PAGE_COUNT])].tolist():
        columns = trie.pages.array[page].reshape(trie.key_count + 1, k.PAGE_ROWS)[:, :rows]
        assert rows
        assert columns[0, 0] == first
        found += map(tuple, columns.T.tolist())
    return found


class Relation:
    """A store with one trie, which is told of every row."""

    def __init__(self, order: tuple[int, ...], rows: list[Row]) -> None:
        self.catalog = Catalog([len(order)])
        self.order = order
        self.store: Store = self.catalog.stores[0]
        self.lines: dict[Row, int] = {}
        for row in rows:
            self._add(row)
        self.store.arrange(Order(order))
        self.number = self.catalog.arrangement(0, Order(order))

    def _add(self, row: Row) -> int:
        self.store.make_room(1)
        words: Words = np.array([row], dtype=np.int64)
        entry_points.insert_facts(self.catalog.S, 0, words, 0)
        line = self.store.find(np.array([*row, 0], dtype=np.int64))
        self.lines[row] = line
        return line

    def insert(self, row: Row) -> None:
        line = self._add(row)
        while not pages.arrange_sorted(self.catalog.S, self.catalog.A, self.number, line):
            self.store.grow_arrangement(self.number)

    def remove(self, row: Row) -> None:
        pages.unarrange_sorted(self.catalog.S, self.catalog.A, self.number, self.lines.pop(row))

    def expected(self) -> list[Row]:
        return sorted((*(row[i] for i in self.order), line) for row, line in self.lines.items())

    def seek(self, slot: int, level: int, word: int, places: Words) -> bool:
        return bool(iterators.seek_lub(self.catalog.A, self.number, level, places, slot, word))

    def key(self, slot: int, level: int, places: Words) -> int:
        return int(iterators.key(self.catalog.A, self.number, level, places, slot))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_trie_is_built_sorted_by_its_columns_whatever_the_words(order: tuple[int, ...]) -> None:
    rng = random.Random(1)
    rows = {(rng.randrange(60), rng.randrange(-5000, 5000)) for _ in range(3000)} | set(product(EDGES, repeat=2))
    relation = Relation(order, list(rows))
    assert sorted_rows(relation.catalog, relation.number) == relation.expected()


def test_a_trie_follows_its_rows() -> None:
    rng = random.Random(2)
    relation = Relation((1, 0), [])
    present: list[Row] = []
    for step in range(6000):
        grows = step < 2500 or 4000 <= step < 4800
        if grows or not present:
            row = (rng.randrange(300), rng.randrange(7))
            if row not in relation.lines:
                relation.insert(row)
                present.append(row)
        else:
            relation.remove(present.pop(rng.randrange(len(present))))
        if step % 500 == 0:
            assert sorted_rows(relation.catalog, relation.number) == relation.expected()
    while present:
        relation.remove(present.pop())
    assert sorted_rows(relation.catalog, relation.number) == []


def test_rows_that_come_in_order_fill_their_pages() -> None:
    relation = Relation((0, 1), [])
    for i in range(4 * k.PAGE_ROWS):
        relation.insert((i, i))
    assert relation.catalog.A[relation.number, k.PAGE_COUNT] == 4


def test_inserting_a_row_again_changes_nothing() -> None:
    relation = Relation((0, 1), [(1, 2)])
    assert pages.arrange_sorted(relation.catalog.S, relation.catalog.A, relation.number, relation.lines[1, 2])
    assert sorted_rows(relation.catalog, relation.number) == relation.expected()


@pytest.mark.parametrize("values", [3, 40, 4000])
def test_seeks_find_the_least_upper_bound_at_every_level(values: int) -> None:
    rng = random.Random(values)
    rows = {(rng.randrange(values), rng.randrange(4), rng.randrange(4000)) for _ in range(4000)}
    relation = Relation((0, 1, 2), list(rows))
    firsts = sorted({row[0] for row in rows})
    places: Words = np.zeros((3, k.ITERATOR_WORDS), dtype=np.int64)
    for _ in range(60):
        assert iterators.open_root(relation.catalog.A, relation.number, places, 0)
        at = 0
        while True:  # ever larger words, as a leapfrog join asks for them
            wanted = firsts[at] + rng.randrange(1, 1 + max(values // 4, 2))
            at = bisect_left(firsts, wanted)
            found = relation.seek(0, 0, wanted, places)
            assert found == (at < len(firsts))
            if not found:
                break
            assert relation.key(0, 0, places) == firsts[at]
            iterators.open_below(relation.catalog.A, relation.number, 1, places, 0, 1)
            seconds = sorted({row[1] for row in rows if row[0] == firsts[at]})
            second = rng.choice(seconds)
            assert relation.seek(1, 1, second, places)
            assert relation.key(1, 1, places) == second
            iterators.open_below(relation.catalog.A, relation.number, 2, places, 1, 2)
            thirds = sorted(row[2] for row in rows if row[:2] == (firsts[at], second))
            walked = [relation.key(2, 2, places)]
            while iterators.next_vertex(relation.catalog.A, relation.number, 2, places, 2):
                walked.append(relation.key(2, 2, places))
            assert walked == thirds


def test_the_largest_word_has_no_next_vertex() -> None:
    relation = Relation((0, 1), [(EDGES[-1], EDGES[-1])])
    places: Words = np.zeros((2, k.ITERATOR_WORDS), dtype=np.int64)
    assert iterators.open_root(relation.catalog.A, relation.number, places, 0)
    assert not iterators.next_vertex(relation.catalog.A, relation.number, 0, places, 0)
    iterators.open_below(relation.catalog.A, relation.number, 1, places, 0, 1)
    assert relation.key(1, 1, places) == EDGES[-1]
