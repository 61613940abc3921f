"""The state of an engine as matrices of words, as of one epoch: the content of a checkpoint.

    rows       the lines of a relation's store as they lie in memory (`kernels.layout`), and `free`, the unused ones
    weights    a weighted relation's table: the columns of a row, then its weight
    given      the facts that transactions gave, where a relation's rows do not tell, with their weights
    waiting    the deltas that are due in a delayed relation, one matrix for each later epoch

and the interned values of the words in them.

A `Capture` is read piece by piece while later epochs commit. Before an epoch commits a change of a line, the line's
words as of the captured epoch are copied (the overlay's log has its old numbers), unless they have been read already; a
store that a Bootstrap replaces does not change any more, and is only held. So the writer waits for a piece at most, and
pays for the lines that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.epoch.delays import Delays
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Tables, bag_to_words, words_to_bag
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.types import Type

ROWS, FREE, WEIGHTS, GIVEN, WAITING = "rows", "free", "weights", "given", "waiting"
# The layout of a row; a state of another layout would be misread.
LAYOUT = (
    *(k.META, k.TOTAL, k.COUNT, k.COUNT_SHIFT, k.ROW_EXTRA, k.WIDE_EXTRA),
    *(k.INPUT_BIT, k.TOUCHED_BIT, k.RANK_SHIFT, k.STAMP_SHIFT, k.FREED),
)
# The layout in format 3 of checkpoints; `row_counts.from_words` converts such rows.
LAYOUT_BEFORE = (0, 1, 2, 3, *LAYOUT[-5:])


@dataclass(frozen=True, slots=True)
class PartName:
    """A matrix of a state; `number` counts those of one kind and relation."""

    kind: str
    relation: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class StoreSizes:
    """Numbers that the rows of a store do not tell: how many are present, and the highest rank ever given."""

    live: int
    top: int


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """A state to load. The matrices may be mapped files that nothing else writes to: they become the stores' memory."""

    epoch: int
    parts: Mapping[PartName, Words]
    sizes: Mapping[str, StoreSizes]
    instances: Mapping[str, int]  # of each stratum, by the first of the names of its relations
    damage: Callable[[str], Exception] | None = None  # makes the error for what is found when the rows are indexed

    def bags(self, kind: str) -> dict[str, Bag]:
        """Returns the bags of a kind with one bag per relation."""
        return {name.relation: words_to_bag(words) for name, words in self.parts.items() if name.kind == kind}

    def queues(self) -> dict[str, list[Bag]]:
        """Returns the deltas that are due in delayed relations."""
        waiting = sorted((name.relation, name.number) for name in self.parts if name.kind == WAITING)
        queues: dict[str, list[Bag]] = {}
        for relation, number in waiting:
            bag = words_to_bag(self.parts[PartName(WAITING, relation, number)])
            queues.setdefault(relation, []).append(bag)
        return queues


class Capture:
    """The state of an engine as of the epoch in which it was made; see the module."""

    def __init__(
        self,
        epoch: int,
        catalog: Catalog,
        numbers: Mapping[str, int],
        strata: Sequence[LocalStratum],
        bags: Iterable[tuple[PartName, Bag]],
        pools: Sequence[tuple[Type, Any]],  # the values by their ids, as pools copy them
    ) -> None:
        self.epoch = epoch
        self.instances = {min(stratum.relations): stratum.instances for stratum in strata}
        self.pools = pools
        self._bags = [(name, bag.copy()) for name, bag in bags]
        stores = ((name, catalog.stores[number]) for name, number in numbers.items())
        self._stores = [_CapturedStore(name, store) for name, store in stores if store.line[k.USED]]
        self._by_store = {id(each.store): each for each in self._stores}

    @property
    def sizes(self) -> dict[str, StoreSizes]:
        return {each.name: each.sizes for each in self._stores}

    def stores(self) -> Iterator[_CapturedStore]:
        """Yields the stores one after the other; each is released when the next one is requested."""
        for each in self._stores:
            yield each
            del self._by_store[id(each.store)]
            each.release()

    def bags(self, columns: Mapping[str, int]) -> Iterator[tuple[PartName, Words]]:
        """Yields the other matrices; `columns` has the number of columns of each relation."""
        for name, bag in self._bags:
            yield name, bag_to_words(bag, columns[name.relation])

    def before_commit(self, strata: Iterable[LocalStratum]) -> None:
        """Copies the lines that an epoch is about to change."""
        for stratum in strata:
            for store in stratum.stores():
                known = self._by_store.get(id(store))
                if known is not None:
                    known.put_aside()


class _CapturedStore:
    """The rows of one relation; `piece` reads them from the first to the last."""

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        line = store.line
        self.used = int(line[k.USED])
        self.sizes = StoreSizes(int(line[k.LIVE]), int(line[k.TOP]))
        self.free = store.free_lines()
        # Files have no slim rows.
        self.width = max(store.width, store.columns + k.ROW_EXTRA)
        self._read = 0
        self._known: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
        self._aside: list[tuple[Words, Words]] = []

    @property
    def is_unread(self) -> bool:
        return self._read < self.used

    def piece(self, count: int) -> Words:
        """Copies the next rows, at most so many."""
        start, end = self._read, min(self._read + count, self.used)
        rows = self._as_captured(self.store.rows[start:end].copy())
        for lines, words in self._aside:
            here = (lines >= start) & (lines < end)
            rows[lines[here] - start] = words[here]
        self._read = end
        return rows

    def put_aside(self) -> None:
        """Copies the captured words of the lines that the overlay has changed, before it is committed."""
        store = self.store
        log = store.logged()
        log = log[(log[:, 0] >= self._read) & (log[:, 0] < self.used)]
        if self._known is None:
            self._known = np.zeros(self.used, dtype=np.bool_)
        log = log[~self._known[log[:, 0]]]
        lines = log[:, 0].copy()
        if not len(lines):
            return
        self._known[lines] = True
        words = self._as_captured(store.rows[lines])
        # A line that the epoch has filled was unused.
        log[log[:, 1] < 0, 1:] = (0, 0, k.FREED << k.STAMP_SHIFT)
        words[:, store.columns + k.META] = log[:, 3]
        is_wide = row_counts.is_wide(words, store.columns)
        words[:, store.columns + k.TOTAL :] = row_counts.together(log[:, 1], log[:, 2], wide=is_wide)
        self._aside.append((lines, words))

    def _as_captured(self, rows: Words) -> Words:
        """Converts rows of the store, which may be wide by now, to the captured width; unchanged lines fit."""
        return row_counts.in_width(rows, self.store.columns, self.width)

    def release(self) -> None:
        self._aside = []
        self._known = None


def bags_of(
    weighted: Iterable[str], tables: Tables, strata: Iterable[LocalStratum], delays: Delays
) -> Iterator[tuple[PartName, Bag]]:
    """Yields the bags of a committed state that are in Python memory."""
    for name in weighted:
        yield PartName(WEIGHTS, name), tables[name].weights
    for stratum in strata:
        for name, bag in stratum.given_apart():
            yield PartName(GIVEN, name), bag
    for name, queue in delays.queues():
        for number, bag in enumerate(queue):
            yield PartName(WAITING, name, number), bag


def load_stores(state: CheckpointState, catalog: Catalog, numbers: Mapping[str, int]) -> None:
    """Fills the empty stores with the matrices of rows."""
    nothing: Words = np.empty(0, dtype=np.int64)
    for name, sizes in state.sizes.items():
        free = state.parts.get(PartName(FREE, name), nothing).reshape(-1)
        repeated = None if state.damage is None else partial(state.damage, f"a row of `{name}` is there twice")
        catalog.stores[numbers[name]].adopt(state.parts[PartName(ROWS, name)], free, sizes.live, sizes.top, repeated)
        catalog.resized.add(numbers[name])


def fill_tables(weights: Mapping[str, Bag], catalog: Catalog, numbers: Mapping[str, int], tables: Tables) -> None:
    """Fills the tables: from their weights, or from the loaded stores that they mirror."""
    for name, table in tables.items():
        if table.is_mirror:
            store = catalog.stores[numbers[name]]
            table.replace(dict.fromkeys(map(tuple, store.columns_of(store.lines()).tolist()), 1))
        else:
            table.replace(weights.get(name, {}))
