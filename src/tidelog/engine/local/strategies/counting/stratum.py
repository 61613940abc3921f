"""The strategy `counting`: the exact number of rule instances of each row in each iteration; see `kernel`.

Differential dataflow stores these counts, and the elastic paper compares itself with them. A row's rank is the first
iteration in which it has an instance, its count how many it has there, its total how many it has in all; so the three
numbers of the ranked state hold here too, and everything that reads them works unchanged.

Update first applies the changes of lower strata: one join for deleted and one for inserted rows, with the rows of the
stratum valued as before. Then it goes through the iterations upwards, from event to event. In each, the rows that are
deleted or move are joined once with their old rank, and those that are inserted or move once with their new one; every
instance found is counted under the iteration that it has at that moment, so the counts are those of the rows as they
are valued. Bootstrap is the same from nothing. There is no switch: a change that moves many rows to other iterations is
an incremental update, however much it costs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.plan_cache import IN_BOOTSTRAP
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strategies.counting import kernel as c
from tidelog.engine.local.strategies.counting.rows import Counts
from tidelog.maintain.switch import Meter

IN_UPDATE = {k.KIND_RULE: 0, k.KIND_INSIDE: 8, k.KIND_BELOW: 1 | 4, k.KIND_NEGATED: 1 | 4}
REMOVED_IN_UPDATE = {k.KIND_RULE: 1, k.KIND_INSIDE: 0, k.KIND_BELOW: 1, k.KIND_NEGATED: 1}


class CountingStratum(LocalStratum):
    """A stratum with counts per row and iteration beside its stores."""

    strategy = "counting"
    removed_in_update = REMOVED_IN_UPDATE

    def can_update(self) -> bool:
        """False after rows were loaded whose instances are not counted."""
        return all(isinstance(store.beside, Counts) or not len(store) for store in self.stores())

    def update(self, meter: Meter) -> bool:
        """Updates the counts; never gives up."""
        self._prepare(IN_UPDATE)
        self._begin(logging=True)
        for store in self.stores():
            store.line[k.CHANGED] = 1
        for relation, (_, deleted) in self.facts.items():
            self._count_facts(relation, deleted, -1)
        self._join(k.RETRACT, 0, -1)
        for relation, (inserted, _) in self.facts.items():
            self._count_facts(relation, inserted, +1)
        self._join(k.INSERT, 0, +1)
        self._go_through()
        facts = sum(len(inserted) - len(deleted) for inserted, deleted in self.facts.values())
        self.instances += self._born - self._killed + facts
        for store in self.stores():
            store.make_free_room(int(store.line[k.LOG_COUNT]))
            with self.catalog.pins.turning():  # rows that came and went leave the index
                finished = c.finish(self.catalog.S, self.catalog.A, self._counts(store).line, store.relation)
            if finished < 0 or not store.finish_stratum():
                raise self._broken()
            self._mark_changed(store)
        self._look_at_final_rows()
        return True

    def bootstrap(self) -> None:
        """See `LocalStratum.bootstrap`."""
        self._begin(logging=False)
        super().bootstrap()

    def commit(self) -> None:
        super().commit()
        for store in self.stores():
            if isinstance(store.beside, Counts):
                store.beside.commit()

    def roll_back(self) -> None:
        was_bootstrap = bool(self.replaced)
        super().roll_back()
        for store in () if was_bootstrap else self.stores():
            if isinstance(store.beside, Counts):
                store.beside.roll_back()

    def _begin(self, *, logging: bool) -> None:
        self._control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        self._logging = 1 if logging else 0
        self._sign = 0
        self._step_now = -1
        self._counted_at: dict[int, int] = {}
        self._born = self._killed = 0
        self.waves = 0
        for store in self.stores():
            store.line[k.BATCH_COUNT] = 0

    def _counts(self, store: Store) -> Counts:
        if not isinstance(store.beside, Counts):
            store.beside = Counts(store)
        return store.beside

    # Facts and instances

    def _insert_facts(self, relation: int, rows: Words) -> None:
        self._count_facts(relation, rows, +1)

    def _count_facts(self, relation: int, rows: Words, sign: int) -> None:
        counts = self._counts(self.catalog.stores[relation])
        counts.make_step_room(self.top_rank() + 3)
        counts.make_room(len(rows))
        facts = np.ascontiguousarray(rows)
        if c.count_facts(self.catalog.S, counts.line, relation, facts, sign, self._logging) != 0:
            raise self._broken()

    def _apply(self, control: Words, head: int, out: Words, count: int) -> None:
        counts = self._counts(self.catalog.stores[head])
        arguments = (self.catalog.S, counts.line, head, out, count, self._sign, self._logging)
        status = c.count_instances(*arguments)
        if status == k.GROW:
            counts.make_room(count)
            status = c.count_instances(*arguments)
        if status != 0:
            raise self._broken()
        if self._sign > 0:
            self._born += count
        else:
            self._killed += count

    def _join(self, phase: int, wave: int, sign: int) -> None:
        """Joins the batches in this phase and wave; every instance found is born or killed."""
        self._sign = sign
        self._control[k.PHASE], self._control[k.WAVE] = phase, wave
        top = self.top_rank()
        for store in self.stores():
            self._counts(store).make_step_room(top + 3)
        self._look(partial(self._running, self._control))
        self._run_in_python(self._control, every=True)

    def _rows_to_be(self, store: Store) -> int:
        """See `LocalStratum`. Once a step is done, the rows of its iteration are final."""
        if not self._logging or not self._may_kill():
            return len(store)  # rows may move to other iterations, but none is deleted
        if not self.stratum.recursive:
            totals = store.totals_of(store.touched_lines())
            return 0 if self._sign < 0 else len(store) - int(np.count_nonzero(totals == 0))
        limit = self.watch.limits.max_rows or 0
        if len(store) < self._counted_at.get(store.relation, 0):
            return 0
        # All rows are looked at, so not again before there are notably more.
        self._counted_at[store.relation] = len(store) + limit // 8 + 1
        meta = store.rows[: int(store.line[k.USED]), store.columns + k.META]
        stamps, ranks = meta >> k.STAMP_SHIFT, (meta >> k.RANK_SHIFT) & k.RANK_MASK
        is_valued = (stamps == 0) | (stamps == c.MOVING)
        done = self._step_now if self._sign > 0 else self._step_now - 1
        return int(np.count_nonzero(is_valued & (ranks <= done)))

    # Steps

    def _run(self, phase: int, meter: Meter | None, *, logging: bool, before: int = 0) -> int | None:
        """Runs a whole Bootstrap; returns the instances that it met."""
        self._join(phase, 0, +1)
        self._go_through()
        return self._born

    def _go_through(self) -> None:
        """Goes through the iterations with events, upwards."""
        step = -1
        self._control[k.PHASE], self._control[k.WAVE] = k.INSERT, 1
        while True:
            coming = [c.next_step(self._counts(store).line, step + 1) for store in self.stores()]
            step = min((each for each in coming if each >= 0), default=-1)
            if step < 0:
                break
            if not self._logging and self.waves & (self.waves + 1) == 0:
                # A Bootstrap is prepared again after 0, 1, 3, 7 … steps, when its relations have grown.
                self._prepare(IN_BOOTSTRAP, 1)
            self._step(step)
        self.work = self._born + self._killed

    def _step(self, step: int) -> None:
        catalog, leaving = self.catalog, 0
        self._step_now, self._sign = step, -1
        for store in self.stores():
            counts = self._counts(store)
            counts.make_step_room(step + 1)
            store.make_queue_room(int(c.events_of(counts.line, step)))
            leaving += int(c.choose_rows(catalog.S, counts.line, store.relation, step))
        # The batch and its partners, the rows below as they are now: instances with the batch before or at the delta.
        if leaving:
            self._join(k.INSERT, 1, -1)
        for store in self.stores():
            counts = self._counts(store)
            counts.make_event_room(int(store.line[k.BATCH_COUNT]))
            c.hide_batch(catalog.S, counts.line, store.relation, step)
        entering, scratch = 0, self.plans.executor.scratch
        for store in self.stores():
            while (full := int(c.arrange_pending(catalog.S, catalog.A, store.relation, scratch))) >= 0:
                store.grow_arrangement(full)
            entering += int(c.show_pending(catalog.S, self._counts(store).line, store.relation, step))
        if step and (leaving or entering):
            self.waves += 1
            self.watch.rounds(self.waves, partial(self._running, self._control))
        if entering:
            self._join(k.INSERT, 1, +1)
        for store in self.stores():
            c.end_batch(catalog.S, store.relation)
