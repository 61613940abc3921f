"""The scheduler: changed relations → the strata that an epoch visits, in order.

A tiny commit to a large program must not pay for all of its strata. So the epoch does not check each of them: a stratum
that has changed a relation schedules the strata that read it. A stratum whose rules read only rows with some constants
is scheduled if a changed row has one of them: a change of one triple visits the rules about its predicate. Only strata
that depend on more than the presence of rows (on weights, on streams) are checked in every epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import LocalStratum

MANY_ROWS = 20_000  # changed rows of a relation: with more, all strata that read it are visited


class Scheduler:
    """The strata of an engine, and which of them read which relations; `visited` are those of the present epoch."""

    def __init__(self, strata: Sequence[LocalStratum], catalog: Catalog) -> None:
        self._strata = strata
        self._catalog = catalog
        self._homes = {number: place for place, each in enumerate(strata) for number in each.relation_numbers}
        self._readers: dict[int, _Readers] = {}
        for place, stratum in enumerate(strata):
            picked = stratum.picked_reads
            for number in stratum.reads:
                self._readers.setdefault(number, _Readers()).add(place, picked.get(number, ()))
        self._changed = [place for place, each in enumerate(strata) if each.has_changed]
        self._always_checked = [place for place, each in enumerate(strata) if each.checked_always]
        self.visited: list[LocalStratum] = []

    def forget_removed_rules(self) -> None:
        """Drops the reads of removed rules, once the epoch that removes them is committed."""
        for place in self._changed:
            reads = set(self._strata[place].reads)
            stale = ((number, readers) for number, readers in self._readers.items() if number not in reads)
            for number in [number for number, readers in stale if place in readers.places]:
                self._readers[number].remove(place)
                if not self._readers[number].places:
                    del self._readers[number]
        self._changed = []

    @property
    def read(self) -> Collection[int]:
        """The relations that higher strata read."""
        return self._readers.keys()

    def stratum_of(self, relation: int) -> LocalStratum:
        """Returns the stratum that holds a relation."""
        return self._strata[self._homes[relation]]

    def all(self) -> Iterator[LocalStratum]:
        """Returns every stratum, for the first epoch."""
        self.visited = list(self._strata)
        return iter(self._strata)

    def touched(self, relations: Iterable[int]) -> Iterator[LocalStratum]:
        """Yields the strata that new facts of these relations may change; each is done before the next."""
        self.visited = []
        return self._walk([*{*(self._homes[number] for number in relations), *self._always_checked, *self._changed}])

    def starting_at(self, strata: Iterable[LocalStratum]) -> Iterator[LocalStratum]:
        """Yields these strata, and those that read what they change."""
        self.visited = []
        return self._walk([self._homes[each.relation_numbers[0]] for each in strata])

    def _walk(self, places: list[int]) -> Iterator[LocalStratum]:
        heapify(places)
        last = -1
        while places:
            place = heappop(places)
            if place == last:
                continue
            last = place
            stratum = self._strata[place]
            self.visited.append(stratum)
            yield stratum
            for number in stratum.relation_numbers:
                line = self._catalog.S[number]
                if (line[k.INSERTED_COUNT] or line[k.DELETED_COUNT]) and number in self._readers:
                    for reader in self._readers[number].of_change(self._catalog.stores[number]):
                        # A lower stratum reads it only by a removed rule, whose instances are deleted already.
                        if reader > place:
                            heappush(places, reader)


class _Readers:
    """The strata that read a relation, by their places: some read any row, others rows with a word in a column."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self._any: list[int] = []
        self._by_word: dict[int, dict[int, list[int]]] = {}

    def add(self, place: int, picked: Collection[tuple[int, int]]) -> None:
        self.places.append(place)
        if not picked:
            self._any.append(place)
        for column, word in picked:
            self._by_word.setdefault(column, {}).setdefault(word, []).append(place)

    def remove(self, place: int) -> None:
        """Removes a stratum, if it is there."""
        for places in (self.places, self._any, *(each for words in self._by_word.values() for each in words.values())):
            if place in places:
                places.remove(place)

    def of_change(self, store: Store) -> Iterable[int]:
        """Returns the strata that read a row that the epoch inserted into the store, or deleted from it; one may come
        several times."""
        if not self._by_word or store.line[k.INSERTED_COUNT] + store.line[k.DELETED_COUNT] > MANY_ROWS:
            return self.places
        rows = store.rows[np.concatenate([store.inserted_lines(), store.deleted_lines()])]
        found = list(self._any)
        for column, readers in self._by_word.items():
            for word in set(rows[:, column].tolist()):
                found += readers.get(word, ())
        return found
