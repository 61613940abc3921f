"""All rows of a monotone stratum, best and surpassed, in stores that kernels maintain: the ranked Update with groups.

This is `ranked_update` on arrays. Every rule but those of groups is joined as in any other stratum; between waves the
kernels of `best_rows` pass the batch's members on to their groups. A row of a group whose members have all died is
deleted like any other; one that has members left returns after wave 0, surpassed or not.

Offers wait until no other row is pending, and then the best share of them is inserted. Any order is exact; this one
inserts few rows that are surpassed later. With `max_rounds` they do not wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.plan_cache import IN_BOOTSTRAP
from tidelog.engine.local.kernels import best_rows, entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.monotone.bounds import Bounds
from tidelog.engine.local.strata.monotone.kernel_plan import KernelPlan, flip_of
from tidelog.engine.local.strata.monotone.ranked_update import (
    FEW_ROWS,
    RETRACTED_SHARE,
    TooManyRoundsError,
    TooMuchError,
)
from tidelog.engine.local.strata.monotone.value_order import ValueOrder
from tidelog.maintain.limits import NO_LIMIT, Running
from tidelog.rules.analysis.monotone import Best
from tidelog.rules.ir import Role, Rule, Stratum
from tidelog.types import is_word

# One of so many waiting offers is inserted at a time, the best; few offers are inserted at once.
SHARE, FEW_OFFERS = 64, 64


class DivisionError(EvaluationError):
    """A rule divides by zero; only the rounds know whether they evaluate that."""


class Offers:
    """The rows that one group might insert, and the kernels that insert them."""

    def __init__(self, best: Best, numbers: Mapping[str, int], catalog: Catalog, values: Values) -> None:
        self._catalog = catalog
        self._order = None if is_word(best.type) else ValueOrder(best.type, values.pool(best.type), best.order)
        self.name = best.relation
        self.members, self.group = numbers[best.members], numbers[best.relation]
        keys = tuple(range(best.keys))
        self._keys = keys
        self._row = None if best.value == best.keys else (*keys, best.value)
        self.fields: Words = np.zeros(best_rows.GROUP_FIELDS, dtype=np.int64)
        self.fields[best_rows.MEMBERS], self.fields[best_rows.BEST] = self.members, self.group
        self.fields[best_rows.KEYS], self.fields[best_rows.VALUE] = best.keys, best.value
        self.fields[best_rows.FLIP] = flip_of(best.type, smallest=best.smallest)
        self.fields[best_rows.BEST_BY_KEY] = catalog.arrangement(self.group, keys)
        self.fields[best_rows.MEMBERS_BY_KEY] = catalog.arrangement(self.members, keys)
        by_row = -1 if self._row is None else catalog.arrangement(self.members, self._row)
        self.fields[best_rows.MEMBERS_BY_ROW] = by_row
        self._buffer: Words = np.zeros(k.PIECE * (best.keys + 1 + k.INSTANCE_EXTRA), dtype=np.int64)
        self._least: Words = np.zeros(best_rows.SAMPLE // SHARE, dtype=np.int64)
        self._offers: Words = np.zeros((64, best_rows.OFFER_WIDTH), dtype=np.int64)
        self.waiting = 0
        self.killed = 0

    def prepare(self) -> None:
        """Builds the arrangements that every wave needs."""
        self._store.arrange(self._keys)
        if self._row is not None:
            self._catalog.stores[self.members].arrange(self._row)

    def begin(self) -> None:
        """Begins an epoch."""
        self.waiting = self.killed = 0

    def forget_labels(self) -> None:
        """Forgets the labels of interned values, whose ids may belong to other values now."""
        if self._order is not None:
            self._order.forget()
            self.fields[best_rows.LABELS] = self._order.labels.ctypes.data
            members = self._catalog.stores[self.members]
            self._label(members.columns_of(members.lines())[:, self.fields[best_rows.VALUE]])

    def _label_batch(self, order: ValueOrder, count: int) -> None:
        """Labels the values of the batch's members."""
        order.make_room()
        self.fields[best_rows.LABELS] = order.labels.ctypes.data
        found: Words = np.empty(count, dtype=np.int64)
        new = int(best_rows.find_unlabelled(self._catalog.S, self.fields, found))
        if new:
            self._label(found[:new])

    def _label(self, ids: Words) -> None:
        if self._order is not None and len(ids):
            others_too = self._order.add(np.unique(ids))
            self.fields[best_rows.LABELS] = self._order.labels.ctypes.data
            if others_too and self.waiting:
                best_rows.order_offers(self._catalog.S, self.fields, self._offers, self.waiting)

    def give_members(self, control: Words) -> bool:
        """Passes the batch's members on; returns False if the state is broken."""
        stores = self._catalog.S
        if control[k.PHASE] == k.RETRACT:
            self.killed += int(stores[self.group, k.BATCH_COUNT])
        count = int(stores[self.members, k.BATCH_COUNT])
        if count:
            store = self._store
            store.make_queue_room(count)
            store.make_log_room(count)
            if control[k.PHASE] == k.INSERT:
                self._make_room(count)
                if self._order is not None:
                    self._label_batch(self._order, count)
            self.waiting = int(
                best_rows.give_members(control, stores, self.fields, self._buffer, self._offers, self.waiting)
            )
        return self.waiting >= 0

    def offer_remaining(self) -> None:
        """Offers the best remaining member of every key whose row has died."""
        if self.killed:
            self._catalog.stores[self.members].arrange(self._keys)
            catalog = self._catalog
            self._make_room(int(catalog.S[self.group, k.LOG_COUNT]))
            self.waiting = int(best_rows.offer_remaining(catalog.S, catalog.A, self.fields, self._offers, self.waiting))

    def admit(self, control: Words, *, all_of_them: bool) -> int:
        """Inserts the best share of the waiting offers with the next wave, or all; returns how many are inserted."""
        if not self.waiting:
            return 0
        few = self.waiting if all_of_them else FEW_OFFERS
        stay = int(best_rows.choose_offers(self._offers, self.waiting, few, self._least))
        count = self.waiting - stay
        self._store.make_room(count, len(self._catalog.stores[self.members]))
        table: Words = np.zeros(1 << (2 * count).bit_length(), dtype=np.int64)
        admitted = int(
            best_rows.admit_offers(
                control,
                self._catalog.S,
                self._catalog.A,
                self.fields,
                self._buffer,
                self._offers,
                stay,
                self.waiting,
                table,
            )
        )
        self.waiting = stay
        return admitted

    def all_best(self) -> Words:
        """Returns the best row of every key, after a Bootstrap."""
        store = self._store
        lines: Words = np.empty(len(store), dtype=np.int64)
        count = best_rows.all_best(self._catalog.S, self._catalog.A, self.fields, lines)
        return store.columns_of(lines[:count])

    def best_changes(self) -> tuple[Words, Words]:
        """Returns the rows that have become the best of their keys, and those that were it, after an Update."""
        store = self._store
        changed = np.concatenate([store.inserted_lines(), store.deleted_lines()])
        inserted, deleted = np.empty(len(changed), dtype=np.int64), np.empty(len(changed), dtype=np.int64)
        counts = np.zeros(2, dtype=np.int64)
        best_rows.best_changes(
            self._catalog.S, self._catalog.A, self.fields, changed.astype(np.int32), inserted, deleted, counts
        )
        return store.columns_of(inserted[: counts[0]]), store.columns_of(deleted[: counts[1]])

    @property
    def _store(self) -> Store:
        return self._catalog.stores[self.group]

    def _make_room(self, count: int) -> None:
        if self.waiting + count > len(self._offers):
            larger = np.empty((2 * (self.waiting + count), best_rows.OFFER_WIDTH), dtype=np.int64)
            larger[: self.waiting] = self._offers[: self.waiting]
            self._offers = larger


class AllRows(LocalStratum):
    """The stratum over all rows. After TooMuchError, OutOfRangeError or DivisionError `roll_back` must follow."""

    runs_python = True

    def __init__(self, plan: KernelPlan, written: Stratum, bounds: Bounds, *rest: Any) -> None:
        super().__init__(Stratum(tuple(plan.all_rows), plan.rules, True), *rest)
        self.offers = [Offers(best, self.numbers, self.catalog, self.values) for best in plan.bests]
        self._bounds = bounds
        shown = [name for name in written.relations if self.program.relations[name].role is not Role.HIDDEN]
        self._shown = np.array(sorted({self.numbers[plan.names[name]] for name in shown}), dtype=np.int64)
        self._names = {name: self.numbers[plan.names[name]] for name in shown}
        costs = plan.monotone.costs
        width = {name: len(self.program.relations[name].columns) for name in shown}
        self._kept = {name: [i for i in range(width[name]) if i not in costs.get(name, ())] for name in shown}
        self._is_update = False
        self._size = self._dead = 0
        self.rounds = 0
        self._checked_rows: dict[str, int] = {}

    # The two ways

    def follow(self) -> None:
        """Runs RETRACT, then INSERT, on the changes of lower strata and on `facts`."""
        self._begin_run(is_update=True)
        self._run_update(None)

    def derive(self, facts: Mapping[int, Words]) -> None:
        """Derives everything from scratch into fresh stores, from these facts."""
        self._begin_run(is_update=False)
        for relation in self._inside.tolist():
            self.replaced[relation] = self.catalog.replace(relation)
            fresh = self.catalog.stores[relation]
            fresh.line[k.CHANGED] = 1
            rows = facts.get(relation)
            if rows is not None and len(rows):
                fresh.make_room(len(rows))
                entry_points.insert_facts(self.catalog.S, relation, np.ascontiguousarray(rows), 0)
        self._prepare(IN_BOOTSTRAP)
        born = self._run(k.INSERT, None, logging=False)
        assert born is not None
        self.work = born
        self.instances = born + sum(map(len, facts.values()))
        for relation in self.replaced:
            fresh = self.catalog.stores[relation]
            fresh.finish_alone()
            fresh.line[k.CHANGED] = 0

    def forget(self) -> None:
        """Drops all rows."""
        for relation in self._inside.tolist():
            self.catalog.stores[relation] = Store(self.catalog, relation, self.catalog.stores[relation].columns)
        self.values_swept()

    def values_swept(self) -> None:
        for offers in self.offers:
            offers.forget_labels()

    @property
    def best_rows(self) -> int:
        """Number of rows of groups, best and surpassed ones."""
        return sum(len(self.catalog.stores[offers.group]) for offers in self.offers)

    @property
    def has_rows(self) -> bool:
        return any(map(len, self.stores()))

    def division(self, rule: Rule, error: ZeroDivisionError | None = None) -> EvaluationError:
        return DivisionError(str(super().division(rule, error)), code="E601")

    def _begin_run(self, *, is_update: bool) -> None:
        self._is_update = is_update
        self._size, self._dead, self.rounds = self.row_count, 0, 0
        self._checked_rows = {}
        for offers in self.offers:
            offers.begin()

    def _prepare(self, active: Mapping[int, int], wave: int = 0) -> None:
        super()._prepare(active, wave)
        for offers in self.offers:
            offers.prepare()

    # Between waves

    def _run_in_python(self, control: Words, *, every: bool = False) -> None:
        """Ends a wave: runs what Python has to run, and the groups."""
        super()._run_in_python(control, every=every)
        if control[k.PHASE] == k.RETRACT:
            self._dead += int(self.catalog.S[self._inside, k.BATCH_COUNT].sum())
            if self._dead > FEW_ROWS and self._dead > RETRACTED_SHARE * self._size:
                raise TooMuchError
        else:
            self._bounds.look()
        if control[k.WAVE] > 0:
            self._count_round(control)
        for offers in self.offers:
            if not offers.give_members(control):
                raise self._broken()
        if control[k.PHASE] == k.INSERT:
            self._admit(control)

    def _admit(self, control: Words) -> None:
        """Inserts offers with the next wave, unless they can wait."""
        if control[k.WAVE] == 0 and control[k.LOGGING]:
            for offers in self.offers:
                offers.offer_remaining()
        if self.watch.limits.max_rounds is not None:
            for offers in self.offers:
                offers.admit(control, all_of_them=True)
            return
        while any(offers.waiting for offers in self.offers) and not self.catalog.S[self._inside, k.PENDING_COUNT].any():
            for offers in self.offers:
                offers.admit(control, all_of_them=False)

    # Limits

    def _last_round(self) -> int:
        return NO_LIMIT

    def _look_at_rows(self, rule: Running) -> None:
        """Does nothing: `_count_round` looks at the rows that will be visible."""

    def _count_round(self, control: Words) -> None:
        """Counts a wave with rows that users see as a round. Raises if there are too many rounds or rows."""
        self.rounds += bool(self.catalog.S[self._shown, k.BATCH_COUNT].any())
        limits = self.watch.limits
        if limits.max_rounds is None and limits.max_rows is None:
            return
        if self._is_update and self.rounds > self.watch.last_round:
            raise TooManyRoundsError
        self.watch.rounds(self.rounds, lambda: self._running(control))
        if limits.max_rows is not None and control[k.PHASE] == k.INSERT:
            self._look_at_keys(limits.max_rows, control)

    def _look_at_keys(self, limit: int, control: Words) -> None:
        """Raises if a relation is certain to have too many rows: surpassed ones do not count, but each key does."""
        for name, number in self._names.items():
            store = self.catalog.stores[number]
            # To count keys takes all rows: it is done again when there are many more.
            if len(store) > max(limit, self._checked_rows.get(name, 0)):
                self._checked_rows[name] = len(store) + len(store) // 4
                rows = store.columns_of(store.present_lines())[:, self._kept[name]]
                keys = len(np.unique(rows, axis=0)) if rows.shape[1] else min(len(rows), 1)
                self.watch.rows(name, keys, lambda: self._running(control))

    def _busiest(self, rules: Sequence[Rule]) -> Rule | None:
        return super()._busiest(rules) or next(iter(rules), None)


def numbers_of(names: Collection[str], catalog: Catalog, widths: Mapping[str, int]) -> dict[str, int]:
    """Adds a store for each of the names; returns their numbers."""
    return dict(zip(names, catalog.add([widths[name] for name in names]), strict=True))
