"""Recursion through groups whose values decide nothing but values (`rules.analysis.fixed_keys`): updated incrementally.

    Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (q, n * c).group_by(p).sum_of(|t| t.1).

While the data has no cycle, a change costs what it reaches (`propagate`). The rows with their depths are in Python.
They are built on first use: when the database is opened, or after a change of rules. While the data has a cycle, the
rounds run (`recursive_group_by`), or the epoch fails, if a rule of the stratum has `#[cycle = "error"]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.weighted_table import Tables
from tidelog.engine.local.strata.acyclic.propagate import CycleError, Node, Propagation
from tidelog.engine.local.strata.materialized import Facts
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.maintain.switch import Meter
from tidelog.pause_gc import collector_paused
from tidelog.rules.ir import Role, Rule
from tidelog.types import Type, is_word

RECOMPUTED = "full recompute"
UPDATED = "no row depends on itself: incremental update"
CYCLE = "a row depends on itself"
DIVIDED = "a division by zero was met"
LIMITED = "`max_rounds` counts rounds"


class AcyclicStratum(RoundsStratum):
    """A recursive stratum with groups; its keys do not depend on the values of its groups."""

    fixed = "acyclic"

    def connect(self, tables: Tables) -> None:
        super().connect(tables)
        inside = {*self.relations}
        below = {atom.relation for rule in self.stratum.rules for atom in rule.atoms} - inside
        self._tables_below = {name: tables[name] for name in sorted(below)}
        self._state: Propagation | None = None
        self._next_state: Propagation | None = None

    def update(self, meter: Meter) -> bool:
        done = super().update(meter)
        if self.fixed == "acyclic" and (state := self._next_state or self._state) is not None:
            self.work = state.instances
        return done

    def derive(self) -> Facts:
        """Returns the facts to insert and to delete; costs what the change reaches, if there is a state to update."""
        if self.watch.limits.max_rounds is not None:
            return self._in_rounds(LIMITED)
        self.fixed, self.rounds_taken = "acyclic", 1
        self._next_given = {name: self._facts_of(name) for name in self.relations}
        try:
            if self._state is not None and self._state.has_rows and not self.has_changed:
                try:
                    return self._updated(self._state)
                except CycleError:
                    # Rows that this epoch has yet to delete may be on it; from scratch there are none.
                    self._state.roll_back()
            with collector_paused():
                return self._recomputed()
        except CycleError as error:
            if any(rule.cycle == "error" for rule in self.stratum.rules):
                raise self._cyclic(error.path) from None
            return self._in_rounds(CYCLE)
        except ZeroDivisionError:
            # Only the rounds know which of their values fail.
            return self._in_rounds(DIVIDED)

    def commit(self) -> None:
        super().commit()
        if self._next_state is not None:
            self._state, self._next_state = self._next_state, None
        if self._state is not None:
            self._state.commit()

    def roll_back(self) -> None:
        super().roll_back()
        self._next_state = None
        if self._state is not None:
            self._state.roll_back()

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Yields the values of the rows; groups of them are in the stores, too."""
        if self._state is None:
            return
        for name, rows in self._state.rows.items():
            for column, each in enumerate(self.program.relations[name].columns):
                if not is_word(each.type) and rows.depths:
                    yield each.type, np.array([row[column] for row in rows.depths], dtype=np.int64)

    # The ways

    def _updated(self, state: Propagation) -> Facts:
        """Returns the changes of an incremental update."""
        self.why = UPDATED
        state.update(
            {
                name: (now - was, was - now)
                for name, now in self._next_given.items()
                if now is not (was := self._given[name])
            }
        )
        changes: Facts = {}
        for name, rows in state.rows.items():
            number = self.numbers[name]
            inserted, deleted = rows.changes()
            self.watch.rows(name, len(rows.depths), partial(self._deriving, name, None))
            if inserted or deleted:
                columns = self.catalog.stores[number].columns
                changes[number] = (self.rows_to_words(inserted, columns), self.rows_to_words(deleted, columns))
        return changes

    def _recomputed(self) -> Facts:
        """Derives everything from scratch, beside the state of the last commit."""
        self.why = RECOMPUTED
        state = Propagation(
            self.stratum.rules,
            self.relations,
            self.program.relations,
            self._tables_below,
            self.values,
            self.program.functions,
            self.watch,
            self._measured,
        )
        state.begin({name: (rows, ()) for name, rows in self._next_given.items() if rows})
        self._next_state = state
        changes: Facts = {}
        for name, rows in state.rows.items():
            self.watch.rows(name, len(rows.depths), partial(self._deriving, name, None))
            number = self.numbers[name]
            changes |= self.exchange(number, self.rows_to_words([*rows.depths], self.catalog.stores[number].columns))
        return changes

    def _in_rounds(self, why: str) -> Facts:
        """Runs the rounds; the next epoch builds the state again."""
        if self._state is not None:
            self._state.roll_back()
        self._state = self._next_state = None
        self.fixed, self.why = "rounds", why
        return super().derive()

    def _cyclic(self, path: Sequence[Node]) -> EvaluationError:
        """Makes the error for a cycle in the data; it names the declared relations on the way."""
        steps = []
        for name, row in path:
            relation = self.program.relations[name]
            if relation.role is not Role.HIDDEN:
                (shown,) = self.values.words_to_rows(self.rows_to_words([row], len(row)), relation)
                steps.append(f"{name}{shown}")
        return EvaluationError(
            f"{' → '.join((*steps, steps[0]))}: these rows depend on themselves; the last commit is intact",
            code=Code.CYCLE_IN_DATA,
            help='without `#[cycle = "error"]` the rules are applied in rounds until nothing changes',
        )

    @contextmanager
    def _measured(self, rule: Rule) -> Iterator[None]:
        with self.costs.measured(rule):
            yield
