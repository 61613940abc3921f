"""The scheduler: changed relations → the strata that an epoch visits, in order.

A tiny commit to a large program must not pay for all of its strata. So the epoch does not check each of them: a stratum
that has changed a relation schedules the strata that read it. Only strata that depend on more than the presence of rows
(on weights, on streams) are checked in every epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.strata.joins import LocalStratum


class Scheduler:
    """The strata of an engine, and which of them read which relations; `visited` are those of the present epoch."""

    def __init__(self, strata: Sequence[LocalStratum], catalog: Catalog) -> None:
        self._strata = strata
        self._catalog = catalog
        self._homes = {number: place for place, each in enumerate(strata) for number in each.relation_numbers}
        self._readers: dict[int, list[int]] = {}
        for place, stratum in enumerate(strata):
            for number in stratum.reads:
                self._readers.setdefault(number, []).append(place)
        self._changed = [place for place, each in enumerate(strata) if each.has_changed]
        self._always_checked = [place for place, each in enumerate(strata) if each.checked_always]
        self.visited: list[LocalStratum] = []

    def forget_removed_rules(self) -> None:
        """Drops the reads of removed rules, once the epoch that removes them is committed."""
        for place in self._changed:
            reads = set(self._strata[place].reads)
            for number in [each for each, readers in self._readers.items() if place in readers and each not in reads]:
                self._readers[number].remove(place)
                if not self._readers[number]:
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
                if line[k.INSERTED_COUNT] or line[k.DELETED_COUNT]:
                    for reader in self._readers.get(number, ()):
                        # A lower stratum reads it only by a removed rule, whose instances are deleted already.
                        if reader > place:
                            heappush(places, reader)
