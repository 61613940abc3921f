"""Frees interned values that nothing uses any more, so that strings that are inserted and deleted do not fill memory.

Mark and sweep, between epochs: an id is in use while it is in a row of a store, in a table of weights, in a change of a
delayed relation, in the state of a strategy, in changes that a caller still holds, in a rule as a constant, or inside a
struct or collection that is in use (`encoding.words_pool`). All others are freed, also those of a failed epoch. Values
interned inside an epoch are not swept in it.

Readers that decode values are beside all that: which ids are in use, and what the memory of a pool is without the
others, is found out while they read. Only to put that memory in place, nobody may have a commit pinned, and no reader
may have interned a value meanwhile.

A pool is swept when it has at least doubled since its last sweep and has grown by a share of the words to read. So a
sweep costs constant time per interned value, and unused values take no more memory than used values and rows do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding import pool as interning
from tidelog.engine.local.encoding.pool import Pool
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.encoding.words_pool import WordsPool
from tidelog.engine.local.epoch.changes import LocalChanges
from tidelog.engine.local.epoch.delays import Delays
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.versions import Pins
from tidelog.engine.local.storage.weighted_table import Bag, Tables
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.rules.ir import RuleProgram
from tidelog.types import is_word

# To intern a value takes some 200 ns, to look at a word 5 ns, and at a row in Python, or at a small change, 100 ns.
_WORDS_PER_VALUE = 16
_WORDS_PER_PYTHON_ROW = 20
_BLOCK = 1 << 16
# Readers hold the last commit for a millisecond; who holds a commit for longer does not hold up the epoch. Most moments
# without a pin are found while readers may begin; many busy readers leave none, and have to wait for it.
_PATIENCE, _READERS_WAIT, _PAUSE = 0.01, 0.02, 0.0005
_SOON, _STAYS = 8, 3

_Marks = dict[Pool, npt.NDArray[np.bool_]]


class Reclaim:
    """Sweeps the pools of an engine; knows every place that holds words."""

    def __init__(
        self,
        program: RuleProgram,
        numbers: Mapping[str, int],
        catalog: Catalog,
        tables: Tables,
        delays: Delays,
        values: Values,
        strata: Sequence[LocalStratum],
        known: Reclaim | None = None,
    ) -> None:
        """Starts from `known`, the state of the program before a change of rules."""
        self._strata = strata
        self._catalog = catalog
        self._tables = tables
        self._delays = delays
        self._values = values
        self._numbers = numbers
        self._weighted = {name for name, relation in program.relations.items() if relation.weighted}
        self._relations = program.relations
        self._columns: dict[str, list[tuple[int, Pool]]] = {}
        for name, relation in program.relations.items():
            if known is not None and known._relations.get(name) is relation:
                columns = known._columns.get(name, [])
            else:
                types = [column.type for column in relation.columns]
                columns = [(i, values.pool(type_)) for i, type_ in enumerate(types) if not is_word(type_)]
            if columns:
                self._columns[name] = columns
        self._changes: WeakSet[LocalChanges] = WeakSet()

    def go_on(self, before: Reclaim) -> None:
        """Takes the changes that callers still hold from the reclaim before a change of rules."""
        self._changes = before._changes

    def hold(self, changes: LocalChanges) -> None:
        """Protects the values of these changes for as long as a caller holds the changes."""
        if changes.relation.name in self._columns:
            self._changes.add(changes)

    def between_epochs(self) -> None:
        """Sweeps the pools that are due; to be called while no epoch runs."""
        grown = [pool for pool in self._values.pools if len(pool) >= pool.limit]
        if not grown:
            return
        sizes = self._sizes()
        due = [pool for pool in grown if self._is_due(pool, sizes)]
        if due:
            for pool in self._sweep(due):
                pool.limit = self._next_limit(pool, sizes)
            for pool in due:
                if len(pool) >= pool.limit:  # readers were in the way: later, but sooner than after a sweep
                    pool.limit = len(pool) + max((self._next_limit(pool, sizes) - len(pool)) // _SOON, 1)

    def _is_due(self, pool: Pool, sizes: Mapping[Pool, int]) -> bool:
        """True if the pool has grown enough since its last sweep, in relation to the words to read."""
        pool.limit = max(pool.limit, sizes.get(pool, 0) // _WORDS_PER_VALUE)
        return len(pool) >= pool.limit

    @staticmethod
    def _next_limit(pool: Pool, sizes: Mapping[Pool, int]) -> int:
        return len(pool) + max(interning.SMALLEST_SWEEP, len(pool), sizes.get(pool, 0) // _WORDS_PER_VALUE)

    def _sizes(self) -> dict[Pool, int]:
        """Returns, for each pool, how many words may hold its ids: the cost of a sweep."""
        rows = {name: len(self._catalog.stores[self._numbers[name]]) for name in self._columns}
        for name, bag in self._bags():
            rows[name] += len(bag) * _WORDS_PER_PYTHON_ROW
        for changes in self._changes:
            rows[changes.relation.name] += changes.inserted_count() + changes.deleted_count() + _WORDS_PER_PYTHON_ROW
        sizes: dict[Pool, int] = {}
        for name, columns in self._columns.items():
            for _, pool in columns:
                sizes[pool] = sizes.get(pool, 0) + rows[name]
        return sizes

    def _sweep(self, due: Sequence[Pool]) -> list[Pool]:
        """Sweeps the pools, and those whose values contain values of theirs; returns all that were swept: none, if
        readers left no moment for it.
        """
        with self._without_pins() as is_free:
            if not is_free:
                return []
        swept = self._with_holders(due)
        counts = [len(pool) for pool in swept]
        marks: _Marks = {pool: pool.marks() for pool in swept}
        self._mark_rows(marks)
        _mark_inside(marks, self._values)
        sweeps = [pool.prepare_sweep(marked) for pool, marked in marks.items()]
        with self._without_pins() as is_free:
            # Values that a query has interned meanwhile may be inside others.
            if not is_free or [len(pool) for pool in swept] != counts:
                return []
            for sweep in sweeps:
                sweep()
            for stratum in self._strata:
                stratum.values_swept()
        return swept

    @contextmanager
    def _without_pins(self) -> Iterator[bool]:
        """Gives a moment in which no commit is pinned and none can be; False if a reader holds one for too long."""
        pins = self._catalog.pins
        _wait_for_readers(pins, _PATIENCE)
        with pins.turn:
            _wait_for_readers(pins, _READERS_WAIT)
            yield not pins.is_pinned

    def used_directly(self, pools: Sequence[Pool]) -> _Marks:
        """Returns, for each pool, which ids are in use otherwise than inside other values."""
        marks: _Marks = {pool: pool.marks() for pool in pools}
        self._mark_rows(marks)
        return marks

    def _mark_rows(self, marks: _Marks) -> None:
        for name, columns in self._columns.items():
            if any(pool in marks for _, pool in columns):
                for rows in _live_rows(self._catalog.stores[self._numbers[name]]):
                    self._mark(name, rows, marks)
        for name, bag in self._bags():
            self._mark(name, np.array(list(bag), dtype=np.int64).reshape(len(bag), -1), marks)
        for stratum in self._strata:
            for type_, words in stratum.made_words():
                if (pool := self._values.pool(type_)) in marks:
                    marks[pool][words] = True
        for changes in self._changes:
            if not changes.inserted_rows.are_in_store:
                self._mark(changes.relation.name, changes.inserted_words, marks)
            self._mark(changes.relation.name, changes.deleted_words, marks)

    def _with_holders(self, due: Sequence[Pool]) -> list[Pool]:
        """Returns the pools, and the pools of rows that hold ids of theirs, directly or through others."""
        found = list(due)
        others = [pool for pool in self._values.pools if isinstance(pool, WordsPool) and pool not in found]
        known = -1
        while known != len(found):
            known = len(found)
            for pool in others:
                if pool not in found and any(inner in found for inner in pool.inner_pools()):
                    found.append(pool)
        return found

    def _mark(self, name: str, rows: Words, marks: _Marks) -> None:
        for place, pool in self._columns[name]:
            if pool in marks:
                marks[pool][rows[:, place]] = True

    def _bags(self) -> Iterator[tuple[str, Bag]]:
        """Yields the rows in Python memory, of relations with interned columns. (Other tables mirror a store.)"""
        held = [(name, table.weights) for name, table in self._tables.items() if name in self._weighted]
        given = (each for stratum in self._strata for each in stratum.given_apart())
        for name, bag in (*held, *given, *self._delays.waiting()):
            if bag and name in self._columns:
                yield name, bag


def _wait_for_readers(pins: Pins, seconds: float) -> None:
    """Waits until no commit is pinned, or for so many seconds: not at all for who has stayed over several commits."""
    last = monotonic() + seconds
    while (oldest := pins.oldest()) is not None and oldest > pins.commits - _STAYS and monotonic() < last:
        sleep(_PAUSE)


def _mark_inside(marks: _Marks, values: Values) -> None:
    """Marks the values inside marked values, however deep, as far as their pools are to be swept."""
    pending = [(pool, np.flatnonzero(marked)) for pool, marked in marks.items() if isinstance(pool, WordsPool)]
    while pending:
        pool, ids = pending.pop()
        for type_, words in pool.inside(ids):
            inner = None if is_word(type_) else values.pool(type_)
            if inner is None or inner not in marks:
                continue
            fresh = words[~marks[inner][words]]
            marks[inner][fresh] = True
            if isinstance(inner, WordsPool) and len(fresh):
                pending.append((inner, np.unique(fresh)))


def _live_rows(store: Store) -> Iterator[Words]:
    """Yields the rows of a store, block by block."""
    used = int(store.line[k.USED])
    for start in range(0, used, _BLOCK):
        block = store.rows[start : min(start + _BLOCK, used)]
        yield block[block[:, store.columns + k.META] >> k.STAMP_SHIFT != k.FREED]
