"""Recursion through `min` and `max` whose values only improve, in kernels: `stratum` with its rows in stores.

`AllRows` has all rows with their numbers, best and surpassed. The rows that users see are derived from the best rows
alone, which takes no recursion: those of relations without costs and the best rows of groups are copied, the others are
counted instances of rules, as in any stratum. Members and groups as values are needed by explanations only, which
derive those that they need (`queries.derive_hidden`).

All rows are derived on first use, and derived from scratch where `stratum` does so. Where a sum may overflow its type,
the rounds are run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from tidelog.diagnostics.errors import InternalError, OverflowedError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Table, Tables
from tidelog.engine.local.strata.group_by import GroupStratum
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.monotone import stratum as in_python
from tidelog.engine.local.strata.monotone.all_rows import AllRows, DivisionError, numbers_of
from tidelog.engine.local.strata.monotone.bounds import Bounds
from tidelog.engine.local.strata.monotone.kernel_plan import kernel_plan
from tidelog.engine.local.strata.monotone.overflow import OutOfRangeError
from tidelog.engine.local.strata.monotone.ranked_update import FEW_ROWS, TooManyRoundsError, TooMuchError
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.maintain.limits import NO_LIMIT, Running
from tidelog.maintain.switch import RANK_LIMIT, Meter
from tidelog.rules.ir import Rule, Stratum
from tidelog.types import Type, is_word

Changes = tuple[Words, Words]
"""Rows to insert, and rows to delete."""


class VisibleRows(LocalStratum):
    """The visible rows of one relation: given as facts, or counted instances of its rules over other visible rows.

    `written` are the rules that the program has for it.
    """

    def __init__(self, name: str, rules: tuple[Rule, ...], written: tuple[Rule, ...], *rest: Any) -> None:
        super().__init__(Stratum((name,), rules, False), *rest)
        self.name = name
        self.number = self.relation_numbers[0]
        self._written = [rule for rule in written if rule.head.relation == name]
        self.is_limited = True

    def renew(self, facts: Changes, *, is_full: bool) -> None:
        """Brings the rows to the new epoch, by an Update, or from scratch: then the facts are all facts."""
        inserted, deleted = facts
        self.facts = {self.number: facts} if len(inserted) or len(deleted) else {}
        if is_full:
            self.bootstrap()
        elif self.is_touched():
            self._run_update(None)

    def _old_facts(self, relation: int, old: Store) -> Words:
        return np.empty((0, old.columns), dtype=np.int64)

    def _last_round(self) -> int:
        return NO_LIMIT

    def _look_at_rows(self, rule: Running) -> None:
        if self.is_limited:
            super()._look_at_rows(rule)

    def _deriving(self, name: str, running: Running) -> Rule | None:
        return super()._deriving(name, running) or next(iter(self._written), None)


class VisibleGroups(GroupStratum):
    """The groups of one relation as values, of visible members, for rules outside the recursion."""

    def renew(self, *, is_full: bool) -> None:
        """Brings the groups of the touched keys to the new epoch, or all."""
        self.is_new = is_full
        self.facts = self.derive()
        if is_full:
            self.bootstrap()
        elif self.facts:
            self._run_update(None)
        self.is_new = False


class MonotoneInKernels(RoundsStratum):
    """A recursive stratum whose rules read only the `min` or `max` of its groups, with values that are words."""

    fixed = "monotone"
    checked_always = False
    updates = True

    def connect(self, tables: Tables) -> None:
        self._begin_empty()
        plan = kernel_plan(self.stratum, self.program)
        assert not isinstance(plan, str)
        self._plan = plan
        widths = {name: len(types) for name, types in plan.all_rows.items()}
        all_rows = numbers_of([*plan.all_rows], self.catalog, widths)
        unseen = numbers_of([group for group, copy in plan.shown.items() if copy is None], self.catalog, widths)
        self._internal = {number: f"{name}'" for name, number in all_rows.items()}
        self._internal |= {number: f"{name}''" for name, number in unseen.items()}
        numbers = {**self.numbers, **{name: all_rows[target] for name, target in plan.names.items()}}
        visible = {
            **self.numbers,
            **unseen,
            **{group: self.numbers[copy] for group, copy in plan.shown.items() if copy is not None},
        }
        rest = (self.catalog, self.values, self.watch, self._thread_pool)
        self._bounds = Bounds(plan, len(self.relations), self.catalog, numbers, self.values)
        self._all = AllRows(plan, self.stratum, self._bounds, self.program, numbers, *rest)

        def make(name: str, rules: tuple[Rule, ...] = (), own: Mapping[str, int] = visible) -> VisibleRows:
            return VisibleRows(name, rules, self.stratum.rules, self.program, own, *rest)

        self._best = [make(copy or group) for group, copy in plan.shown.items()]
        self._plain = [make(name) for name in plan.plain]
        self._counted = [make(name, rules) for name, rules in plan.counted]
        self._members = [make(name, rules) for name, rules in plan.hidden]
        self._groups = [
            make(best.relation, (), self.numbers) for best in plan.bests if best.relation not in plan.grouped
        ]
        grouped = [rule for rule in self.stratum.rules if rule.head.relation in plan.grouped]
        self._grouped = [
            VisibleGroups(Stratum((rule.head.relation,), (rule,), False), self.program, self.numbers, *rest)
            for rule in grouped
        ]
        for each in (*self._members, *self._groups):
            each.is_limited = False
        self._inner: list[LocalStratum] = [self._all, *self._best, *self._plain, *self._counted, *self._grouped]
        self._has_state = self._next_state = False
        self._was_new = False
        self._left_surpassed = 0

    @property
    def internal_stores(self) -> Mapping[int, str]:
        return self._internal

    # An epoch

    def begin(self) -> Self:
        # Groups read their members, whatever strata above read.
        read = {*self.read_above, *(number for each in self._inner for number in each.relation_numbers)}
        for each in self._inner:
            each.begin()
            each.costs, each.read_above = self.costs, read
        self._was_new = self.is_new
        return super().begin()

    def update(self, meter: Meter) -> bool:
        """Brings the stratum to the new epoch; costs what the change reaches, if there is a state to update."""
        self.fixed, self.why = "monotone", in_python.RECOMPUTED
        self._next_given = {name: self._facts_of(name) for name in self.relations}
        try:
            can_update = self._has_state and not self.has_changed and self._all.top_rank() < RANK_LIMIT
            if not can_update or self._is_first_load() or not self._updated():
                self._recompute()
        except (OutOfRangeError, ZeroDivisionError, DivisionError, OverflowedError):
            # Only the rounds know which of their values fail.
            self._roll_back_inner()
            self.fixed, self.why = "rounds", in_python.OVER
            self._run_rounds()
        else:
            self.why += in_python.IN_KERNELS
            self.waves, self.work, self.instances = self._all.rounds, self._all.work, self._all.instances
        return True

    def commit(self) -> None:
        is_full = bool(self._all.replaced)
        for each in self._inner:
            each.commit()
        super().commit()
        self._bounds.commit()
        self._has_state = self._next_state and self.updates
        if is_full:
            self._left_surpassed = self._all.best_rows - self._keys()
        if not self._has_state and self._all.has_rows:
            self._all.forget()

    def roll_back(self) -> None:
        self._roll_back_inner()
        super().roll_back()
        self.is_new, self._next_state = self._was_new, self._has_state

    def end_costs(self, seconds: float) -> None:
        for each in self._inner:
            if each is self._all and each.plans.planned:
                self.costs.count(each.plans.planned, each.plans.tally)
            each.plans.tally[:] = 0
        super().end_costs(seconds)

    def resume(self, given: Mapping[str, Bag]) -> None:
        super().resume(given)
        self._has_state = self._next_state = False
        self._all.forget()

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Yields the values of all rows: surpassed ones are in no relation."""
        for name, types in self._plan.all_rows.items():
            store = self.catalog.stores[self._all.numbers[name]]
            for column, type_ in enumerate(types):
                if not is_word(type_) and len(store):
                    yield type_, store.columns_of(store.lines())[:, column]

    def values_swept(self) -> None:
        self._all.values_swept()

    def derive(self) -> Any:
        raise InternalError("rows in kernels are not derived as facts", code="E901")

    # The two ways

    def _updated(self) -> bool:
        """Updates everything; returns False if a full recompute is better."""
        surpassed = self._all.best_rows - self._keys() - self._left_surpassed
        if surpassed > in_python.FEW_SURPASSED + in_python.SURPASSED_SHARE * self._keys():
            self.why = in_python.SURPASSED
            return False
        facts = {
            name: self._changed_facts(name) for name, now in self._next_given.items() if now is not self._given[name]
        }
        self._bounds.begin(is_update=True)
        self._all.facts = {self._all.numbers[name]: change for name, change in facts.items()}
        try:
            self._all.follow()
        except TooMuchError as error:
            self._all.roll_back()
            self._bounds.roll_back()
            self.why = in_python.TOO_LONG if isinstance(error, TooManyRoundsError) else in_python.RETRACTED
            return False
        self._bounds.require(min(self._all.best_rows, self._all.top_rank()))
        self._show(facts, is_full=False)
        self.why = in_python.UPDATED
        return True

    def _recompute(self) -> None:
        """Derives everything from scratch, beside the state of the last commit."""
        facts = {name: self._given_words(name) for name, rows in self._next_given.items() if rows}
        self._bounds.begin(is_update=False)
        self._all.facts = {}
        self._all.derive({self._all.numbers[name]: rows for name, rows in facts.items()})
        self._bounds.require(min(self._all.best_rows, self._all.top_rank()))
        self._show({name: (rows, rows[:0]) for name, rows in facts.items()}, is_full=True)

    def _show(self, facts: Mapping[str, Changes], *, is_full: bool) -> None:
        """Brings the visible rows to the new epoch."""
        for best, offers in zip(self._best, self._all.offers):
            rows = offers.all_best() if is_full else None
            best.renew(offers.best_changes() if rows is None else (rows, rows[:0]), is_full=is_full)
        for plain in self._plain:
            store = self.catalog.stores[self._all.numbers[plain.name]]
            inserted, deleted = (store.lines(), ()) if is_full else (store.inserted_lines(), store.deleted_lines())
            changes = store.columns_of(inserted), store.columns_of(np.array(deleted, dtype=np.int64))
            plain.renew(changes, is_full=is_full)
        for counted in self._counted:
            none = np.empty((0, self.catalog.stores[counted.number].columns), dtype=np.int64)
            counted.renew(facts.get(counted.name, (none, none)), is_full=is_full)
        for groups in self._grouped:
            groups.renew(is_full=is_full)
        self._next_state = True
        self._drop_hidden()
        for each in (*self._best, *self._plain, *self._counted, *self._grouped):
            self.replaced |= {number: old for number, old in each.replaced.items() if number not in self._internal}

    def _run_rounds(self) -> None:
        """Runs the rounds, and stores their rows as facts."""
        below = {}
        for name in self._names_below():
            store = self.catalog.stores[self.numbers[name]]
            below[name] = Table()
            below[name].replace(dict.fromkeys(map(tuple, store.columns_of(store.present_lines()).tolist()), 1))
        self._compile_rounds(below)
        self.is_new, self.inherited = True, {}
        self.facts = RoundsStratum.derive(self)
        self.bootstrap()
        self.waves = self.rounds_taken
        self.work = sum(len(inserted) for inserted, _ in self.facts.values())
        self._next_state = False
        self._own = {}
        self._runs = {}

    def _keys(self) -> int:
        """Returns how many keys the groups have."""
        return sum(len(self.catalog.stores[best.number]) for best in self._best)

    def _is_first_load(self) -> bool:
        """True if the stratum was empty and much is inserted: then there is nothing to update."""
        if self._all.has_rows:
            return False
        inserted = int(self.catalog.S[list(self.reads), k.INSERTED_COUNT].sum())
        return inserted + sum(map(len, self._next_given.values())) > FEW_ROWS

    def _given_words(self, name: str) -> Words:
        return self.rows_to_words([*self._next_given[name]], len(self.program.relations[name].columns))

    def _changed_facts(self, name: str) -> Changes:
        """Returns the input facts that are inserted and deleted in this epoch."""
        was, now = self._given[name], self._next_given[name]
        columns = len(self.program.relations[name].columns)
        return self.rows_to_words([*(now - was)], columns), self.rows_to_words([*(was - now)], columns)

    def _roll_back_inner(self) -> None:
        for each in self._inner:
            each.roll_back()
        self._bounds.roll_back()

    # Hidden relations, for explanations

    @property
    def on_demand(self) -> tuple[str, ...]:
        return tuple(each.name for each in (*self._members, *self._groups))

    def _drop_hidden(self) -> None:
        """Deletes members and groups, which the rounds have left behind."""
        for each in (*self._members, *self._groups):
            if len(self.catalog.stores[each.number]):
                old = self.replaced[each.number] = self.catalog.replace(each.number)
                self.catalog.stores[each.number].compare_with(old, is_read=False)


class MonotoneInKernelsRecompute(MonotoneInKernels):
    """The same for the strategy `recompute`: always derived from scratch."""

    updates = False
