"""Delayed relations (`R-n`): the deltas of earlier epochs that later epochs add to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from tidelog.engine.local.storage.weighted_table import Bag, Tables, add_weight
from tidelog.rules.ir import Feed, RuleProgram


class Delays:
    """The deltas of delayed relations that are due in later epochs."""

    def __init__(self, program: RuleProgram, tables: Tables) -> None:
        feeds = [feed for feed in program.feeds if not feed.latest]
        self._waiting: list[tuple[Feed, deque[Bag]]] = [(feed, deque()) for feed in feeds]
        self._sources = {feed.source: tables[feed.source] for feed in feeds}

    def due(self) -> dict[str, Bag]:
        """Returns the weights that the next epoch adds to each delayed relation that changes."""
        return {
            feed.relation: waiting[0] for feed, waiting in self._waiting if len(waiting) == feed.delay and waiting[0]
        }

    def waiting(self) -> Iterator[tuple[str, Bag]]:
        """Yields the delayed relations with the weights that later epochs add to them."""
        return ((feed.relation, bag) for feed, waiting in self._waiting for bag in waiting)

    def queues(self) -> Iterator[tuple[str, list[Bag]]]:
        """Yields each delayed relation with the weights of the epochs to come, in order."""
        return ((feed.relation, list(waiting)) for feed, waiting in self._waiting)

    def resume(self, queues: Mapping[str, list[Bag]]) -> None:
        """Continues with the result of `queues`."""
        for feed, waiting in self._waiting:
            waiting.clear()
            waiting.extend(queues.get(feed.relation, ()))

    def continue_from(self, before: Delays) -> dict[str, Bag]:
        """Continues with the deltas that are due from the delays of the same database with other rules.

        Returns the first rows of delayed relations that are new: their source as of the last commit.
        """
        known = dict(before.queues())
        weighted = {name for name, table in self._sources.items() if not table.is_mirror}
        for feed, waiting in self._waiting:
            was_weighted = feed.source in before._sources and not before._sources[feed.source].is_mirror
            queue = known.get(feed.relation, [])
            if was_weighted and feed.source not in weighted:
                queue = _presence(before.state(feed), queue)
            waiting.extend(queue)
        return {
            feed.relation: dict(self._sources[feed.source].weights)
            for feed, _ in self._waiting
            if feed.relation not in known
        }

    def state(self, feed: Feed) -> Bag:
        """Returns the rows of a delayed relation: its source, less all weights still waiting."""
        held = dict(self._sources[feed.source].weights)
        for name, bag in self.waiting():
            if name == feed.relation:
                for row, weight in bag.items():
                    add_weight(held, row, -weight)
        return held

    def commit(self) -> None:
        """Notes the changes of this epoch; called before the tables commit them."""
        for feed, waiting in self._waiting:
            if len(waiting) == feed.delay:
                waiting.popleft()
            waiting.append(dict(self._sources[feed.source].delta))


def _presence(held: Bag, queue: list[Bag]) -> list[Bag]:
    """Turns changes of weights into insertions and deletions of rows."""
    changes = []
    for bag in queue:
        change: Bag = {}
        for row, weight in bag.items():
            there = held.get(row, 0) > 0
            add_weight(held, row, weight)
            if there != (held.get(row, 0) > 0):
                change[row] = -1 if there else 1
        changes.append(change)
    return changes
