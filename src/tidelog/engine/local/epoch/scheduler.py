"""Which strata an epoch has to look at: those with new facts, and those that read what another has changed.

A tiny commit to a large program must not pay for all of its strata. So nobody asks each of them: a stratum that has
changed a relation calls those that read it, in the order of the strata. Only strata that go by more than which rows are
there (by weights, by streams) are asked in every epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.strata.joins import LocalStratum


class Scheduler:
    """The strata of an engine, and who reads whom. `visited` are those that the epoch has come to."""

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
        """Strata no longer read what only rules read that are gone, and need not be asked because of them."""
        for place in self._changed:
            reads = set(self._strata[place].reads)
            for number in [each for each, readers in self._readers.items() if place in readers and each not in reads]:
                self._readers[number].remove(place)
                if not self._readers[number]:
                    del self._readers[number]
        self._changed = []

    @property
    def read(self) -> Collection[int]:
        """The relations that strata above their own read."""
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
                        # A stratum before this one reads it only by a rule that goes, and has given that up already.
                        if reader > place:
                            heappush(places, reader)
