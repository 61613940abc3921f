"""What an epoch takes from those before it (`R-n`), and what it shows of itself (`Inspect`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Row, Tables, add_weight
from tidelog.maintain.inspect import show_changes
from tidelog.rules.ir import Feed, RuleProgram


class Delays:
    """The deltas of delayed relations that are still to come."""

    def __init__(self, program: RuleProgram, tables: Tables) -> None:
        feeds = [feed for feed in program.feeds if not feed.latest]
        self._waiting: list[tuple[Feed, deque[Bag]]] = [(feed, deque()) for feed in feeds]
        self._sources = {feed.source: tables[feed.source] for feed in feeds}

    def due(self) -> dict[str, Bag]:
        """What the next epoch adds to each delayed relation that changes."""
        return {
            feed.relation: waiting[0] for feed, waiting in self._waiting if len(waiting) == feed.delay and waiting[0]
        }

    def waiting(self) -> Iterator[tuple[str, Bag]]:
        """All that is still to come: the delayed relation, and what will be added to it."""
        return ((feed.relation, bag) for feed, waiting in self._waiting for bag in waiting)

    def queues(self) -> Iterator[tuple[str, list[Bag]]]:
        """For each delayed relation what it gets, in the order of the epochs."""
        return ((feed.relation, list(waiting)) for feed, waiting in self._waiting)

    def resume(self, queues: Mapping[str, list[Bag]]) -> None:
        """Takes over what `queues` gave."""
        for feed, waiting in self._waiting:
            waiting.clear()
            waiting.extend(queues.get(feed.relation, ()))

    def go_on(self, before: Delays) -> dict[str, Bag]:
        """Takes over what is still to come from the delays of the same database with other rules.

        Gives what delayed relations begin with that were not there: their source as of the last commit.
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
        """What a delayed relation holds: its source, less all that is still to come to it."""
        held = dict(self._sources[feed.source].weights)
        for name, bag in self.waiting():
            if name == feed.relation:
                for row, weight in bag.items():
                    add_weight(held, row, -weight)
        return held

    def keep(self) -> None:
        """Notes what this epoch changed; to be called before the tables take it over."""
        for feed, waiting in self._waiting:
            if len(waiting) == feed.delay:
                waiting.popleft()
            waiting.append(dict(self._sources[feed.source].delta))


class Inspector:
    """Calls the functions of `Inspect` for what an epoch changed, unless it `is_silent`. With `take`, that gets the
    rows in their place: each with what its weight has changed by, and its rank."""

    def __init__(self, program: RuleProgram, tables: Tables, values: Values) -> None:
        self.is_silent = False
        self.take: Callable[[str, list[tuple[Row, int, int]]], None] | None = None
        self._program = program
        self._tables = {each.relation: tables[each.relation] for each in program.inspections}
        self._decoders = {
            name: [values.decoder(column.type) for column in program.relations[name].columns] for name in self._tables
        }

    def show(self, epoch: int, store_of: Callable[[str], Store]) -> None:
        """Shows all changes of the epoch, in the order of the program, then of the rows."""
        for inspection in () if self.is_silent else self._program.inspections:
            name = inspection.relation
            rounds = {} if self._program.relations[name].weighted else _ranks(store_of(name))
            changes = [(row, weight, rounds.get(row, 0)) for row, weight in self._tables[name].delta.items()]
            if self.take is not None:
                self.take(name, changes)
                continue
            decoders = self._decoders[name]
            decoded = (
                (tuple(decode(word) for decode, word in zip(decoders, row)), weight, rank)
                for row, weight, rank in changes
            )
            show_changes(inspection, decoded, epoch, self._program.functions.definitions)


def _presence(held: Bag, queue: list[Bag]) -> list[Bag]:
    """What changes of weights come to for a relation that only knows which rows are there."""
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


def _ranks(store: Store) -> dict[Row, int]:
    """The rounds in which the rows that came and left were derived."""
    ranks: dict[Row, int] = {}
    for lines in (store.lines_that_came(), store.lines_that_left()):
        rows = store.rows[lines]
        numbers = (rows[:, store.columns + k.META] >> k.RANK_SHIFT) & k.RANK_MASK
        ranks.update(zip(map(tuple, rows[:, : store.columns].tolist()), numbers.tolist()))
    return ranks
