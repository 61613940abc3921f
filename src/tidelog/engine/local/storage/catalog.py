"""The catalog of an engine's relations: the tables S and A that kernels read, and the stores behind their lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import numpy as np

from tidelog.engine.local.kernels import finish_epoch
from tidelog.engine.local.kernels.layout import ARRANGEMENT_FIELDS, STORE_FIELDS, USED
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.engine.local.storage.store import FEW, Store, Words
from tidelog.engine.local.storage.versions import Pins
from tidelog.plan.statistics import Order

MOST_AT_ONCE = 1 << 29  # rows whose places and hashes a word can multiply (`finish_epoch.mark_repeated`)
LARGEST_SPARE_LOG = 1 << 19  # entries, of 32 bytes
SHARED_FROM = 1 << 16
"""From so many rows on, all threads look for repeated ones."""


class Threads(Protocol):
    """Threads that share work (`execution.threads.ThreadPool`)."""

    threads: int

    def run(self, part: Callable[[int], int]) -> list[int]: ...


class Catalog:
    """The tables S and A, with a line for each relation and each arrangement that any plan needs.

    Behind the n lines of the relations S has n more, for the stores that a Bootstrap is about to replace, and a last
    one for scratch.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self.pins = Pins()
        self.S: Words = np.zeros((2 * len(columns) + 1, STORE_FIELDS), dtype=np.int64)
        self.A: Words = np.zeros((0, ARRANGEMENT_FIELDS), dtype=np.int64)
        self._arrangements: dict[tuple[int, tuple[int, ...] | Order], int] = {}
        self.stores = [Store(self, relation, width) for relation, width in enumerate(columns)]
        self._read_by: dict[int, set[tuple[int, ...]]] = {}
        self._uses: dict[tuple[int, tuple[int, ...]], int] = {}
        self.resized: set[int] = set()  # relations whose memory has changed outside an epoch
        self._scratches: dict[int, Store] = {}
        self._unused: list[int] = []
        self._spare_log: Growing[np.int64] | None = None
        self.thread_pool: Threads | None = None
        self.version = 0  # changes whenever a store has lost arrangements, or another store has taken its place
        self.unfinished: list[Callable[[], None]] | None = None  # what is left to do of the commit under way
        self.spare_seconds = 0.0  # that Bootstraps of the present epoch have left for preparing Updates

    def known_arrangement(self, relation: int, keys: tuple[int, ...]) -> int:
        """Returns the line in A for an arrangement by these columns; -1 if nobody has asked for it."""
        return self._arrangements.get((relation, keys), -1)

    def note_read_by(self, relation: int, keys: tuple[int, ...]) -> None:
        """Notes that readers look up by these columns: later commits keep the arrangement, also after a Bootstrap."""
        self._read_by.setdefault(relation, set()).add(keys)

    def note_use(self, relation: int, columns: tuple[int, ...]) -> int:
        """Counts a look-up by columns that are not arranged; returns how many there were."""
        uses = self._uses[relation, columns] = self._uses.get((relation, columns), 0) + 1
        return uses

    def read_by(self, relation: int) -> Collection[tuple[int, ...]]:
        """Returns the columns by which readers look up rows of a relation."""
        return self._read_by.get(relation, ())

    def add(self, columns: Sequence[int]) -> list[int]:
        """Adds empty stores for more relations; returns their numbers: free lines first, then new ones.

        Only between epochs: the lines of replaced stores move.
        """
        self.version += 1
        numbers = [self._unused.pop() for _ in range(min(len(self._unused), len(columns)))]
        count = len(columns) - len(numbers)
        if count:
            before = len(self.stores)
            lines: Words = np.zeros((2 * (before + count) + 1, STORE_FIELDS), dtype=np.int64)
            lines[:before] = self.S[:before]
            self.S = lines
            for store in self.stores:
                store.line = lines[store.relation]
            self._scratches.clear()
            numbers += range(before, before + count)
            self.stores += [Store(self, before + place, 0) for place in range(count)]
        for number, width in zip(numbers, columns, strict=True):
            self.stores[number] = Store(self, number, width)
            self.resized.add(number)
        return numbers

    def give_back(self, numbers: Iterable[int]) -> None:
        """Frees the lines of removed relations."""
        self.version += 1
        for number in numbers:
            self.stores[number] = Store(self, number, 0)
            self._read_by.pop(number, None)
            self._uses = {key: count for key, count in self._uses.items() if key[0] != number}
            self._unused.append(number)

    def arrangement(self, relation: int, keys: tuple[int, ...] | Order) -> int:
        """Returns the line in A for an arrangement by these columns, or for a trie; it need not be built yet."""
        known = self._arrangements.get((relation, keys))
        if known is None:
            known = self._arrangements[relation, keys] = len(self._arrangements)
            if known >= len(self.A):
                self.A = np.concatenate([self.A, np.zeros((len(self.A) + 8, ARRANGEMENT_FIELDS), dtype=np.int64)])
        return known

    def finish_commits(self) -> None:
        """Does what the stores have left to do of the commit under way."""
        unfinished, self.unfinished = self.unfinished, None
        for finish in unfinished or ():
            finish()

    def take_log(self, log: Growing[np.int64]) -> Growing[np.int64]:
        """Returns the larger of an empty log and the spare one, which stays as the other."""
        spare = self._spare_log
        if spare is None or len(spare) <= len(log):
            return log
        self._spare_log = None
        return spare

    def keep_log(self, log: Growing[np.int64]) -> None:
        """Keeps the memory of one log, if it is not too large: to find as much again costs as much as an Update."""
        if len(log) <= LARGEST_SPARE_LOG and (self._spare_log is None or len(log) > len(self._spare_log)):
            self._spare_log = log

    def shadow(self, relation: int) -> int:
        """Returns the line of S of a relation's replaced store."""
        return relation + len(self.stores)

    def replace(self, relation: int) -> Store:
        """Replaces the relation's store by an empty one; returns the old store, which moves to the shadow line."""
        self.version += 1
        old = self.stores[relation]
        old.index()
        old.detach()
        self.S[self.shadow(relation)] = old.line
        self.stores[relation] = Store(self, relation, old.columns)
        return old

    def facts_of(self, relation: int) -> Words:
        """Returns the lines of input facts in the store that `replace` has replaced."""
        lines = np.empty(FEW, dtype=np.int64)
        if not self.S[self.shadow(relation), USED]:
            return lines[:0]
        while (count := int(finish_epoch.list_facts(self.S, self.shadow(relation), lines))) > len(lines):
            lines = np.empty(count, dtype=np.int64)
        return lines[:count]

    def restore(self, relation: int, old: Store) -> None:
        """Undoes `replace`."""
        self.version += 1
        self.stores[relation] = old
        old.attach()

    def close(self) -> None:
        """Frees the memory of all relations; the catalog cannot be used after this."""
        self.stores.clear()
        self._scratches.clear()

    def net_rows(self, relation: int, rows: Words, signs: Words) -> tuple[Words, Words]:
        """Reduces inserts (+1) and deletes (-1), in order, to the facts to insert and the facts to delete."""
        self.stores[relation].index()
        if not len(self.stores[relation]) and FEW < len(rows) < MOST_AT_ONCE and rows.shape[1] and signs.min() > 0:
            return self._distinct(rows), rows[:0]
        scratch = self._scratch(rows.shape[1], len(rows))
        verdict = np.zeros(len(rows), dtype=np.int64)
        finish_epoch.net_operations(self.S, scratch.relation, relation, rows, signs, verdict)
        return rows[verdict > 0], rows[verdict < 0]

    def _distinct(self, rows: Words) -> Words:
        """Returns each of the rows once; all threads share a large number of them."""
        repeated = np.zeros(len(rows), dtype=np.uint8)
        slots = np.zeros(2 * len(rows), dtype=np.int32)
        pool = self.thread_pool
        if pool is None or pool.threads == 1 or len(rows) < SHARED_FROM:
            count = int(finish_epoch.mark_repeated(rows, slots, 0, 1, repeated))
        else:
            finish_epoch.mark_repeated.load()
            threads = pool.threads
            count = sum(pool.run(lambda me: int(finish_epoch.mark_repeated(rows, slots, me, threads, repeated))))
        return rows[repeated == 0] if count else rows

    def _scratch(self, columns: int, rows: int) -> Store:
        """Returns an empty store in the last line of S, with room for so many rows; one for few rows is used again."""
        if rows > FEW:
            scratch = Store(self, len(self.S) - 1, columns)
            scratch.make_row_room(rows)
            return scratch
        kept = self._scratches.get(columns)
        if kept is None:
            kept = self._scratches[columns] = Store(self, len(self.S) - 1, columns)
            kept.make_row_room(FEW)
            kept.detach()
        else:
            kept.empty()
        return kept
