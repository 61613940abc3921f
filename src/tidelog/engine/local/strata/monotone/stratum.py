"""Recursion through `min` and `max` whose values only improve (`rules.analysis.monotone`): updated incrementally.

`Improving` has the rows with their numbers, `VisibleRows` the part of them that users see. Both are in Python. They are
built on first use: when the database is opened, or after a change of rules. They are rebuilt, too, when much is
retracted at once, or when there are more surpassed rows than visible ones.

A sum of fixed width that overflows its type is not monotone. In such an epoch, and wherever the rounds might meet one,
the rounds are run (`recursive_group_by`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from tidelog.diagnostics.errors import OverflowedError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.weighted_table import Row, Table, Tables
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.engine.local.strata.materialized import Facts
from tidelog.engine.local.strata.monotone.kernel_plan import kernel_plan
from tidelog.engine.local.strata.monotone.overflow import OutOfRangeError
from tidelog.engine.local.strata.monotone.ranked_update import FEW_ROWS, Improving, TooManyRoundsError, TooMuchError
from tidelog.engine.local.strata.monotone.ranked_update import Facts as Given
from tidelog.engine.local.strata.monotone.visible_rows import VisibleRows
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.maintain.switch import Meter
from tidelog.pause_gc import collector_paused
from tidelog.rules.analysis.monotone import find_monotone
from tidelog.rules.ir import Rule
from tidelog.types import Type, is_word

RECOMPUTED = "full recompute"
UPDATED = "its values are monotone: incremental update"
RETRACTED = "much is retracted: full recompute"
TOO_LONG = "an update needs more rounds than `max_rounds` allows: full recompute"
SURPASSED = "many values were surpassed: full recompute"
OVER = "a sum may overflow its type"
# What the report says behind these: who runs the rules.
IN_KERNELS = "; in kernels"
IN_PYTHON = "; in Python: {}"
# How many surpassed rows there may be for each visible one, beyond those that a full recompute leaves.
SURPASSED_SHARE = 2
FEW_SURPASSED = 1000

_State = tuple[Improving, VisibleRows]


class MonotoneStratum(RoundsStratum):
    """A recursive stratum whose rules read only the `min` or `max` of its groups."""

    fixed = "monotone"
    updates = True

    def connect(self, tables: Tables) -> None:
        super().connect(tables)
        self._monotone = find_monotone(self.stratum, self.program.relations)
        inside = {*self.relations}
        below = {atom.relation for rule in self.stratum.rules for atom in rule.atoms} - inside
        self._tables_below = {name: tables[name] for name in sorted(below)}
        self._keys = {best.relation: best.keys for best in self._monotone.bests}
        self._members = {best.relation: best.members for best in self._monotone.bests}
        self._reason = kernel_plan(self.stratum, self.program)
        self._state: _State | None = None
        self._next_state: _State | None = None
        self._left_surpassed = 0

    def update(self, meter: Meter) -> bool:
        done = super().update(meter)
        if self.fixed == "monotone" and (state := self._next_state or self._state) is not None:
            self.waves, self.work = state[0].waves, state[0].instances
            self.why += IN_PYTHON.format(self._reason)
        return done

    def derive(self) -> Facts:
        """Returns the facts to insert and to delete; costs what the change reaches, if there is a state to update."""
        self.fixed = "monotone"
        self._next_given = {name: self._facts_of(name) for name in self.relations}
        try:
            if self._state is not None and self.updates and not self.has_changed and not self._is_first_load():
                updated = self._updated()
                if updated is not None:
                    return updated
            else:
                self.why = RECOMPUTED
            with collector_paused():
                return self._recomputed()
        except (OutOfRangeError, ZeroDivisionError, OverflowedError):
            # Only the rounds know which of their values fail.
            if self._state is not None:
                self._roll_back(self._state)
            self._state = self._next_state = None
            self.fixed, self.why = "rounds", OVER
            return super().derive()

    def commit(self) -> None:
        super().commit()
        if self._next_state is not None:
            self._state, self._next_state = self._next_state, None
            improving, shown = self._state
            self._left_surpassed = improving.best_rows - shown.best_rows
        if self._state is not None:
            for each in self._state:
                each.commit()

    def roll_back(self) -> None:
        super().roll_back()
        self._next_state = None
        if self._state is not None:
            self._roll_back(self._state)

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Yields the values of surpassed rows, which are in no store."""
        if self._state is None:
            return
        improving, _ = self._state
        for name, rows in improving.rows.items():
            types = [column.type for column in self.program.relations[name].columns]
            if name in self._keys:
                types[-1] = next(best.type for best in self._monotone.bests if best.relation == name)
            for column, type_ in enumerate(types):
                if not is_word(type_) and rows.ranks:
                    yield type_, np.array([row[column] for row in rows.ranks], dtype=np.int64)

    # The two ways

    def _updated(self) -> Facts | None:
        """Returns the changes of an incremental update; None if a full recompute is better."""
        assert self._state is not None
        improving, shown = self._state
        surpassed = improving.best_rows - shown.best_rows - self._left_surpassed
        if surpassed > FEW_SURPASSED + SURPASSED_SHARE * shown.best_rows:
            self.why = SURPASSED
            return None
        facts = self._changed_facts()
        improving.waves = improving.instances = 0
        try:
            improving.update(facts)
        except TooMuchError as error:
            self._roll_back(self._state)
            self.why = TOO_LONG if isinstance(error, TooManyRoundsError) else RETRACTED
            return None
        shown.update(facts)
        self.why = UPDATED
        changes: Facts = {}
        for name, table in shown.tables.items():
            number = self.numbers[name]
            columns = self.catalog.stores[number].columns
            inserted, deleted = self._changed_groups(name, shown) if name in self._keys else table.presence_changes()
            rows = len(table.weights) + len(inserted) - len(deleted)
            self.watch.rows(name, rows, partial(self._deriving, name, None))
            if inserted or deleted:
                changes[number] = (self.rows_to_words(inserted, columns), self.rows_to_words(deleted, columns))
        return changes

    def _recomputed(self) -> Facts:
        """Derives everything from scratch, beside the state of the last commit."""
        improving = Improving(
            self._monotone,
            self.program.relations,
            self.relations,
            self._tables_below,
            self.values,
            self.program.functions,
            self.watch,
            self._measured,
        )
        shown = VisibleRows(
            self._monotone, improving, self._tables_below, self.values, self.program.functions, self._measured
        )
        facts = {name: (rows, ()) for name, rows in self._next_given.items() if rows}
        improving.begin(facts)
        shown.begin(facts)
        self._next_state = (improving, shown)
        changes: Facts = {}
        for name, table in shown.tables.items():
            number = self.numbers[name]
            rows = self._groups_of(name, shown.tables[self._members[name]]) if name in self._keys else [*table.weights]
            self.watch.rows(name, len(rows), partial(self._deriving, name, None))
            store = self.catalog.stores[number]
            words = self.rows_to_words(rows, store.columns)
            changes |= self.exchange(number, words) if len(store) else {number: (words, words[:0])}
        return changes

    def _is_first_load(self) -> bool:
        """True if the stratum was empty and much is inserted: then there is nothing to update."""
        assert self._state is not None
        if self._state[0].has_rows:
            return False
        inserted = sum(len(table.delta) for table in self._tables_below.values())
        return inserted + sum(map(len, self._next_given.values())) > FEW_ROWS

    def _changed_facts(self) -> Given:
        """Returns the input facts that are inserted and deleted in this epoch."""
        return {
            name: (now - was, was - now)
            for name, now in self._next_given.items()
            if now is not (was := self._given[name])
        }

    # Groups, as others see them

    def _groups_of(self, name: str, members: Table) -> list[Row]:
        return self._grouping_of(name).rows(members.weights)

    def _changed_groups(self, name: str, shown: VisibleRows) -> tuple[list[Row], list[Row]]:
        """Returns the inserted and deleted rows of a group: those of the keys whose visible members have changed."""
        grouping = self._grouping_of(name)
        members = shown.tables[self._members[name]]
        store = self.catalog.stores[self.numbers[name]]
        inserted: list[Row] = []
        deleted: list[Row] = []
        for key in {row[: self._keys[name]] for row in members.delta}:
            deleted += map(tuple, store.columns_of(store.bucket(grouping.keys, np.array(key, dtype=np.int64))).tolist())
            row = grouping.row(members.find(grouping.keys, key, new=True))
            inserted += [] if row is None else [row]
        return inserted, deleted

    def _grouping_of(self, name: str) -> Grouping:
        (rule,) = (rule for rule in self.stratum.rules if rule.head.relation == name)
        return self._groupings[rule.id]

    @contextmanager
    def _measured(self, rule: Rule) -> Iterator[None]:
        with self.costs.measured(rule):
            yield

    @staticmethod
    def _roll_back(state: _State) -> None:
        for each in state:
            each.roll_back()


class MonotoneRecomputeStratum(MonotoneStratum):
    """The same for the strategy `recompute`: always derived from scratch."""

    updates = False

    def commit(self) -> None:
        super().commit()
        self._state = None
