"""The strategy `elastic-paper`: Algorithm 3 of "Towards Elastic Incrementalization", corrected, for comparison.

A row has its iteration (`rank`, exact), and the number of instances found in that round (`count`); its other instances
are not counted, and `total` holds the count again. Update goes through all rounds. Round k joins the rows deleted and
inserted so far with everything, for instances of level k - 1, and, while any row from before round k is deleted, all
rows of the round before, to find other derivations (`kernel`). So it costs a join with every later round even if
nothing happens there, and rows that only change their iteration are renumbered.

The corrections: an inserted negated row deletes and a deleted one inserts, and rediscovery wants negated rows absent in
both epochs; rediscovery counts; rules without a positive literal have a hidden fact; when the rounds end, rows of later
old rounds are deleted; and the strata above get differences of presence.

Both epochs are in the same rows. Before each join the rows that the epoch touched are stamped and numbered as it must
see them: for DELETED as they were, for the other two as they are now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strategies.elastic_paper import kernel as p
from tidelog.maintain.switch import Meter
from tidelog.rules.ir import Rule

# Bits of layout.ACTIVE: DELETED is wave 0 of RETRACT, INSERTED wave 0 of INSERT, REDISCOVERED wave 1 of RETRACT.
IN_UPDATE = {k.KIND_RULE: 0, k.KIND_INSIDE: 1 | 2 | 4, k.KIND_BELOW: 1 | 4, k.KIND_NEGATED: 1 | 4}
REDISCOVERS = 2
WAVES = {p.DELETED: (k.RETRACT, 0), p.INSERTED: (k.INSERT, 0), p.REDISCOVERED: (k.RETRACT, 1)}
# Stamps as the joins of these waves see them: MISSING is seen after the delta of DELETED, NEW before that of INSERTED,
# ROUND after that of REDISCOVERED, and HIDDEN never.
MISSING, NEW, ROUND, HIDDEN = -1, 1, -2, k.PENDING
NO_ROUND = -1


class Rounds:
    """State beside a store: the number of rows of each round, and, during an epoch, the iterations of touched rows."""

    def __init__(self, store: Store) -> None:
        self.line: Words = np.zeros(p.PLACES_FIELDS, dtype=np.int64)
        self._store = store
        self._old, self._new = Growing(np.int64), Growing(np.int64)
        self._by_rank: tuple[Words, Words] | None = None
        self._next_sizes: Words | None = None
        self.sizes: Words = np.bincount(self._ranks(store.lines()))

    def bytes(self) -> int:
        return int(self.sizes.nbytes)

    def make_room(self, count: int) -> None:
        """Makes room for `count` more touched rows, in the store too."""
        self._store.make_room(count)
        line = self.line
        for field, places in ((p.OLD, self._old), (p.NEW, self._new)):
            places.make_room(int(self._store.line[k.LOG_COUNT]) + count)
            line[field] = places.address
        line[p.CAPACITY] = len(self._new)

    @property
    def old(self) -> Words:
        """The iterations of the touched rows in the old epoch."""
        return self._old.array[: int(self._store.line[k.LOG_COUNT])]

    @property
    def new(self) -> Words:
        """The iterations of the touched rows in the new epoch, as far as they are known."""
        return self._new.array[: int(self._store.line[k.LOG_COUNT])]

    def is_any_missing(self, round_: int) -> bool:
        """True if a row from before a round has not been derived again so far."""
        return bool(np.any((self.old < round_) & (self.new == p.NEVER)))

    def untouched(self, rank: int, *, above: bool = False) -> Words:
        """Returns the lines of the rows of a round (or of all after it) that the epoch has not touched."""
        if self._by_rank is None:
            lines = self._store.lines()
            ranks = self._ranks(lines)
            # Radix sort, where ranks are small.
            order = np.argsort(ranks.astype(np.uint16) if ranks.max(initial=0) < 1 << 16 else ranks, kind="stable")
            self._by_rank = lines[order], ranks[order]
        lines, ranks = self._by_rank
        start = int(np.searchsorted(ranks, rank, side="right" if above else "left"))
        end = len(ranks) if above else int(np.searchsorted(ranks, rank, side="right"))
        found = lines[start:end]
        found = found[self._store.rows[found, self._store.columns + k.META] & k.TOUCHED_BIT == 0]
        return np.ascontiguousarray(found)

    def count_untouched(self, rank: int) -> int:
        """Returns the number of rows of a round that the epoch has not touched."""
        return (int(self.sizes[rank]) if rank < len(self.sizes) else 0) - int(np.count_nonzero(self.old == rank))

    def finish(self) -> None:
        """Computes the sizes of the rounds after the epoch, for `commit`."""
        old, new = (np.bincount(each[each != p.NEVER]) for each in (self.old, self.new))
        sizes = np.zeros(max(len(self.sizes), len(old), len(new)), dtype=np.int64)
        for sign, each in ((1, self.sizes), (-1, old), (1, new)):
            sizes[: len(each)] += sign * each
        self._next_sizes = sizes

    def commit(self) -> None:
        if self._next_sizes is not None:
            self.sizes = self._next_sizes
        self.roll_back()

    def roll_back(self) -> None:
        self._next_sizes = self._by_rank = None
        if len(self._old) > 1 << 16:
            self._old, self._new = Growing(np.int64), Growing(np.int64)
            self.line[:] = 0

    def _ranks(self, lines: Words) -> Words:
        ranks: Words = (self._store.rows[lines, self._store.columns + k.META] >> k.RANK_SHIFT) & k.RANK_MASK
        return ranks


class PaperStratum(LocalStratum):
    """A stratum whose rows have their iteration and the count of that iteration."""

    strategy = "elastic-paper"
    whole_in_update = True  # in round 1, to find rows again

    def can_update(self) -> bool:
        """False after rows were loaded whose ranks may differ from their iterations, and after a change of rules."""
        return not self.has_changed and all(
            isinstance(store.beside, Rounds) or not len(store) for store in self.stores()
        )

    def update(self, meter: Meter) -> bool:
        """Runs Algorithm 3; never gives up."""
        self._prepare(IN_UPDATE)
        self._control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        self._round, self._term, self.work = 0, p.DELETED, 0
        for store in self.stores():
            store.line[k.CHANGED] = 1
            store.line[k.BATCH_COUNT] = 0
        self._take_facts()
        self._decide_round()
        while True:
            self._round += 1
            self._join(p.DELETED)
            self._join(p.INSERTED)
            if any(self._rounds(store).is_any_missing(self._round) for store in self.stores()):
                self._rediscover()
            if not self._decide_round():
                break
            self.watch.rounds(self._round, self._recurring)
        self.waves = self._round - 1
        for store in self.stores():
            self._finish(store)
        self._look_at_final_rows()
        return True

    def bootstrap(self) -> None:
        """See `LocalStratum.bootstrap`."""
        self._round = NO_ROUND
        super().bootstrap()
        self.instances = 0
        for store in self.stores():
            used = slice(int(store.line[k.USED]))
            counts = store.counts_of(used)
            store.set_numbers(used, counts, counts)
            self.instances += int(counts.sum())

    def commit(self) -> None:
        fresh = set(self.replaced)
        super().commit()
        for store in self.stores():
            if store.relation in fresh:
                store.beside = Rounds(store)
            elif isinstance(store.beside, Rounds):
                store.beside.commit()

    def roll_back(self) -> None:
        super().roll_back()
        for store in self.stores():
            if isinstance(store.beside, Rounds):
                store.beside.roll_back()

    def _rounds(self, store: Store) -> Rounds:
        if not isinstance(store.beside, Rounds):
            store.beside = Rounds(store)
        return store.beside

    # A round

    def _take_facts(self) -> None:
        """Runs round 0: the input facts of the stratum."""
        for relation, (inserted, deleted) in self.facts.items():
            rounds = self._rounds(self.catalog.stores[relation])
            rounds.make_room(len(inserted) + len(deleted))
            arguments = self.catalog.S, rounds.line, relation
            if p.delete_facts(*arguments, np.ascontiguousarray(deleted)) < 0:
                raise self._broken()
            p.insert_facts(*arguments, np.ascontiguousarray(inserted))

    def _decide_round(self) -> bool:
        """Ends a round: every row with an instance is derived. False if no row has this iteration."""
        is_reached, catalog, scratch = False, self.catalog, self.plans.executor.scratch
        for store in self.stores():
            rounds = self._rounds(store)
            lines = store.touched_lines()
            come = (rounds.new == p.NEVER) & (store.counts_of(lines) > 0)
            rounds.new[come] = self._round
            if come.any():
                self._make_batch(store, lines[come])
                while (full := int(p.arrange_batch(catalog.S, catalog.A, store.relation, scratch))) >= 0:
                    store.grow_arrangement(full)
                store.line[k.TOP] = max(int(store.line[k.TOP]), self._round)
            is_reached |= bool(come.any()) or rounds.count_untouched(self._round) > 0
        return is_reached

    def _join(self, term: int) -> None:
        """Joins the rows deleted (DELETED) or inserted (INSERTED) so far."""
        for store in self.stores():
            rounds = self._rounds(store)
            old, new = rounds.old < self._round, rounds.new != p.NEVER
            if term == p.DELETED:
                stamps = np.where(rounds.old == p.NEVER, HIDDEN, np.where(old & ~new, MISSING, 0))
                self._show(store, stamps, rounds.old)
                self._make_batch(store, store.touched_lines()[stamps == MISSING])
            else:
                stamps = np.where(~new, HIDDEN, np.where(old, 0, NEW))
                self._show(store, stamps, rounds.new)
                self._make_batch(store, store.touched_lines()[stamps == NEW])
        self._run_term(term)

    def _rediscover(self) -> None:
        """Joins the rows of the round before that are in both epochs."""
        marked: list[tuple[Store, Words]] = []
        try:
            for store in self.stores():
                rounds = self._rounds(store)
                old, new = rounds.old < self._round, rounds.new != p.NEVER
                of_round = old & (rounds.new == self._round - 1)
                stamps = np.where(~new, HIDDEN, np.where(of_round, ROUND, np.where(old, 0, NEW)))
                self._show(store, stamps, rounds.new)
                untouched = rounds.untouched(self._round - 1)
                marked.append((store, untouched))
                _restamp(store, untouched, ROUND)
                self._make_batch(store, np.concatenate([store.touched_lines()[of_round], untouched]))
            with self._rules_without_recursion():
                self._run_term(p.REDISCOVERED)
        finally:
            # They are in no log, so no roll back would clear the marks.
            for store, untouched in marked:
                _restamp(store, untouched, 0)

    @contextmanager
    def _rules_without_recursion(self) -> Iterator[None]:
        """Joins rules without recursion as a whole in round 1: all that they read has iteration 0.

        Recursive rules that share a prefix with one of them run too; their instances have a higher level.
        """
        numbers = [
            number
            for number, bytecode in enumerate(self.plans.variants)
            if self._round == 1
            and bytecode.kind == k.KIND_RULE
            and any(set(self.relations).isdisjoint(_read_by(variant.rule)) for variant in bytecode.variants)
        ]
        for number in numbers:
            for relation, keys in self.plans.variants[number].probes:
                self.catalog.stores[relation].arrange(keys)
        self.plans.table[numbers, k.ACTIVE] = REDISCOVERS
        try:
            yield
        finally:
            self.plans.table[numbers, k.ACTIVE] = 0

    def _run_term(self, term: int) -> None:
        self._term = term
        self._control[k.PHASE], self._control[k.WAVE] = WAVES[term]
        self._look(partial(self._running, self._control))
        self._run_in_python(self._control, every=True)

    def _running(self, control: Words) -> Rule | None:
        """Returns the running rule. After round 1 the changes below are joined, but only recursion finds rows."""
        return super()._running(control) if self._round <= 1 else self._recurring()

    def _recurring(self) -> Rule | None:
        """Returns the rule that continues with the rows of this round."""
        inside = [bytecode for bytecode in self.plans.variants if bytecode.kind == k.KIND_INSIDE]
        busy = [bytecode for bytecode in inside if self.catalog.S[bytecode.delta, k.BATCH_COUNT]]
        return next((bytecode.variants[0].rule for bytecode in (*busy, *inside)), None)

    def _rows_to_be(self, store: Store) -> int:
        """See `LocalStratum`. A row with an iteration up to this round has it for good, once the round has deleted."""
        if self._round == NO_ROUND:
            return super()._rows_to_be(store)
        if self._term == p.DELETED:
            return 0
        rounds = self._rounds(store)
        untouched = int(rounds.sizes[: self._round + 1].sum()) - int(np.count_nonzero(rounds.old <= self._round))
        is_there = (rounds.new != p.NEVER) | (store.counts_of(store.touched_lines()) > 0)
        return untouched + int(np.count_nonzero(is_there))

    def _apply(self, control: Words, head: int, out: Words, count: int) -> None:
        if self._round == NO_ROUND:
            super()._apply(control, head, out, count)
            return
        rounds = self._rounds(self.catalog.stores[head])
        arguments = (self.catalog.S, rounds.line, head, out, count, self._round, self._term)
        counted = int(p.count_round(*arguments))
        if counted == p.NO_ROOM:
            rounds.make_room(count)
            counted = int(p.count_round(*arguments))
        if counted < 0:
            raise self._broken()
        self.work += counted

    # Rows

    def _show(self, store: Store, stamps: Words, ranks: Words) -> None:
        """Stamps and numbers the touched rows."""
        lines, place = store.touched_lines(), store.columns + k.META
        bits = store.rows[lines, place] & (k.INPUT_BIT | k.TOUCHED_BIT)
        store.rows[lines, place] = (stamps << k.STAMP_SHIFT) | (ranks << k.RANK_SHIFT) | bits

    def _make_batch(self, store: Store, lines: Words) -> None:
        store.make_queue_room(len(lines))
        p.make_batch(self.catalog.S, store.relation, lines)

    def _finish(self, store: Store) -> None:
        """Deletes rows of later old rounds, and leaves the others as the new epoch has them."""
        rounds = self._rounds(store)
        if np.any(rounds.sizes[self._round + 1 :]):
            late = rounds.untouched(self._round, above=True)
            rounds.make_room(len(late))
            p.log_unreached(self.catalog.S, rounds.line, store.relation, late)
        store.line[k.BATCH_COUNT] = 0
        lines, is_there = store.touched_lines(), rounds.new != p.NEVER
        self._show(store, np.where(is_there, 0, MISSING), np.where(is_there, rounds.new, 0))
        before = store.logged_totals()
        after = store.counts_of(lines)
        store.set_numbers(lines, after, after)
        self.instances += int(after.sum()) - int(before.sum())
        rounds.finish()
        if not store.finish_stratum():
            raise self._broken()
        self._mark_changed(store)


def _restamp(store: Store, lines: Words, stamp: int) -> None:
    place = store.columns + k.META
    store.rows[lines, place] = (stamp << k.STAMP_SHIFT) | (store.rows[lines, place] & k.LOW_MASK)


def _read_by(rule: Rule) -> list[str]:
    return [atom.relation for atom in rule.positives]
