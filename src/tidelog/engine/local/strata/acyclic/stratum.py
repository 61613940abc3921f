"""Recursion through groups whose values decide nothing but values (`rules.analysis.fixed_keys`): updated incrementally.

    Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (q, n * c).group_by(p).sum_of(|t| t.1).

While the data has no cycle, a change costs what it reaches (`propagate`), and everything is derived from scratch level
by level in kernels (`levels`), or row by row where there are few rows or very many levels. The switch decides between
Update and Bootstrap by their measured times, as elsewhere. The state to update is that of the last Bootstrap and the
rows that Updates have looked at since. It is built again when the database is opened, or after a change of rules.

While the data has a cycle, the rounds run (`recursive_group_by`), or the epoch fails, if a rule of the stratum has
`#[cycle = "error"]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Self

import numpy as np

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, OverflowedError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Table, Tables
from tidelog.engine.local.strata.acyclic.key_rules import KeyRules, key_rules
from tidelog.engine.local.strata.acyclic.levels import KeyRows, LevelRows, TooManyLevelsError
from tidelog.engine.local.strata.acyclic.propagate import CycleError, GivenUpError, Node, Propagation
from tidelog.engine.local.strata.acyclic.rows_below import RowsBelow
from tidelog.engine.local.strata.acyclic.rows_by_depth import StoredRows
from tidelog.engine.local.strata.acyclic.scratch_rows import DividedError
from tidelog.engine.local.strata.aggregates.small_group import SumOverflowError
from tidelog.engine.local.strata.materialized import Facts
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.maintain.switch import SKIPS_IN_A_ROW, Decision, Meter, Switch, Touched, events_of
from tidelog.pause_gc import collector_paused
from tidelog.rules.analysis.fixed_keys import value_columns
from tidelog.rules.ir import Role, Rule
from tidelog.types import Type, is_word

RECOMPUTED = "full recompute"
BY_LEVELS = "full recompute, level by level"
UPDATED = "no row depends on itself: incremental update"
CYCLE = "a row depends on itself"
DIVIDED = "a division by zero was met"
OVERFLOWED = "a sum was too large for its type"
LIMITED = "`max_rounds` counts rounds"
# Fewer rows below are derived row by row: that costs less than to plan the levels.
FEW_ROWS = 1000
# A level costs about as much as so many keys row by row.
LEVEL_COST = 8
# An Update takes about so long for an instance, and meets at least so many for a changed row, until both were measured.
INSTANCE_SECONDS, LEAST_INSTANCES = 1e-5, 3


class AcyclicStratum(RoundsStratum):
    """A recursive stratum with groups; its keys do not depend on the values of its groups."""

    fixed = "acyclic"
    checked_always = False
    switches = True

    def connect(self, tables: Tables) -> None:
        self._begin_empty()
        values = value_columns(self.stratum)
        self._key_columns = {
            name: [i for i in range(len(self.program.relations[name].columns)) if i not in values[name]]
            for name in self.relations
        }
        below = {name: self.numbers[name] for name in self._names_below()}
        self._below = {name: RowsBelow(self.catalog, number) for name, number in below.items()}
        self._after = {name: RowsBelow(self.catalog, number, always_new=True) for name, number in below.items()}
        self._internal: dict[int, str] = {}
        self._levels: LevelRows | None = None
        if all(rule.group is None or rule.group.aggregates is not None for rule in self.stratum.rules):
            self._connect_levels(key_rules(self.stratum, self.program.relations))
        self._state: Propagation | None = None
        self._next_state: Propagation | None = None
        self._switch = Switch()

    def _connect_levels(self, plan: KeyRules) -> None:
        """Makes the stores in which a Bootstrap derives keys and rows."""
        rest = (self.catalog, self.values, self.watch, self._thread_pool)
        widths = {name: len(self.program.relations[name].columns) for name in self.relations}
        rows = dict(zip(widths, self.catalog.add([*widths.values()]), strict=True))
        keys = dict(zip(plan.widths, self.catalog.add([*plan.widths.values()]), strict=True))
        self._internal = {number: f"{name}'" for name, number in rows.items()}
        self._internal |= {number: f"{name}''" for name, number in keys.items()}
        self._levels = LevelRows(self.stratum, self.program, {**self.numbers, **rows}, *rest)
        self._keys = KeyRows(plan, self.program, {**self.numbers, **keys}, *rest)

    @property
    def internal_stores(self) -> Mapping[int, str]:
        return self._internal

    # An epoch

    def begin(self) -> Self:
        for each in () if self._levels is None else (self._levels, self._keys):
            each.begin()
            each.costs = self.costs
        return super().begin()

    def update(self, meter: Meter) -> bool:
        done = super().update(meter)
        if self.fixed == "acyclic" and (state := self._next_state or self._state) is not None:
            self.work = state.instances
        return done

    def derive(self) -> Facts:
        """Returns the facts to insert and to delete; costs what the change reaches, if that is less than everything."""
        self.starts_over = False
        if self.watch.limits.max_rounds is not None:
            return self._in_rounds(LIMITED)
        self.fixed, self.rounds_taken, self.why = "acyclic", 1, ""
        self._next_given = {name: self._facts_of(name) for name in self.relations}
        try:
            updated = self._updated()
            return self._bootstrapped() if updated is None else updated
        except CycleError as error:
            self._roll_back_levels()
            if any(rule.cycle == "error" for rule in self.stratum.rules):
                raise self._cyclic(error.path) from None
            return self._in_rounds(CYCLE)
        except (ZeroDivisionError, DividedError, OverflowedError):
            # Only the rounds know which of their values fail.
            self._roll_back_levels()
            return self._in_rounds(DIVIDED)
        except SumOverflowError:
            # It may have been a sum on the way to another one.
            self._roll_back_levels()
            return self._in_rounds(OVERFLOWED)

    def commit(self) -> None:
        if self._levels is not None:
            self._levels.commit()
        super().commit()
        if self._next_state is not None:
            self._state, self._next_state = self._next_state, None
        if self._state is not None:
            self._state.commit()
        elif self._levels is not None:
            self._levels.forget()

    def roll_back(self) -> None:
        self._roll_back_levels()
        super().roll_back()
        self._next_state = None
        if self._state is not None:
            self._state.roll_back()

    def resume(self, given: Mapping[str, Bag]) -> None:
        super().resume(given)
        self._state = None
        if self._levels is not None:
            self._levels.forget()

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Yields the values of the rows; groups of them are in the stores, too."""
        if self._state is None:
            return
        for name, rows in self._state.rows.items():
            types = [each.type for each in self.program.relations[name].columns]
            if len(rows) and not all(map(is_word, types)):
                words = rows.words()
                for column, type_ in enumerate(types):
                    if not is_word(type_):
                        yield type_, words[:, column].copy()

    # The ways

    def _updated(self) -> Facts | None:
        """Returns the changes of an incremental update; None if everything has to be derived from scratch."""
        state = self._state
        if state is None or not state.has_rows or self.has_changed:
            return None
        touched = self.touched()
        decision = self._decide(state, touched)
        if decision.is_full:
            self.why = f"{decision.reason}: "
            return None
        self.why = UPDATED
        history, before = self._switch.history(self.relations), state.size
        meter = self._switch.meter(decision, before, recursive=True)
        try:
            state.update(
                {
                    name: (now - was, was - now)
                    for name, now in self._next_given.items()
                    if now is not (was := self._given[name])
                },
                meter,
            )
        except CycleError:
            # Rows that this epoch has yet to delete may be on it; from scratch there are none.
            state.roll_back()
            self.why = ""
            return None
        except GivenUpError:
            state.roll_back()
            history.note_update(meter.seconds, meter.work, events_of(touched), before, given_up=True)
            self.why = f"an update was given up, because {meter.why}: "
            return None
        history.note_update(meter.seconds, meter.work, events_of(touched), before)
        changes: Facts = {}
        for name, table in state.rows.items():
            number = self.numbers[name]
            inserted, deleted = table.changes()
            self.watch.rows(name, len(table), partial(self._deriving, name, None))
            if inserted or deleted:
                columns = self.catalog.stores[number].columns
                changes[number] = (self.rows_to_words(inserted, columns), self.rows_to_words(deleted, columns))
        return changes

    def _decide(self, state: Propagation, touched: Sequence[Touched]) -> Decision:
        """Decides between Update and Bootstrap as elsewhere, but for the time of a row in Python, until it is known."""
        if not self.switches:
            return Decision("update", UPDATED)
        history, rows = self._switch.history(self.relations), sum(map(len, state.rows.values()))
        if history.bootstrap_rate is not None and history.update_rate is None:
            changed = events_of(touched)
            work = history.expected_work(changed, state.size) or LEAST_INSTANCES * sum(changed.values())
            share = INSTANCE_SECONDS * work / (history.bootstrap_rate * (state.size + rows))
            if share > 1 and history.skipped < SKIPS_IN_A_ROW:
                history.skipped += 1
                return Decision("bootstrap", f"an Update was expected to cost {share:.1f} Bootstraps")
        return self._switch.decide(self.relations, state.size, rows, self.rows_below(), touched, 0)

    def _bootstrapped(self) -> Facts:
        """Derives everything from scratch, beside the state of the last commit."""
        started, replaced = perf_counter(), self.row_count
        made: Facts | None = None
        if self._levels is not None and self.rows_below() + self._given_count() >= FEW_ROWS:
            try:
                made = self._by_levels(self._levels)
            except TooManyLevelsError:
                self._roll_back_levels()
        if made is None:
            with collector_paused():
                made = self._by_rows()
        assert self._next_state is not None
        history = self._switch.history(self.relations)
        history.note_bootstrap(perf_counter() - started, self._next_state.instances, replaced)
        return made

    def _by_levels(self, levels: LevelRows) -> Facts:
        """Derives everything in kernels."""
        given = {name: [*rows] for name, rows in self._next_given.items() if rows}
        facts = {name: self.rows_to_words(rows, self._width(name)) for name, rows in given.items()}
        keys = {name: rows[:, self._key_columns[name]] for name, rows in facts.items()}
        self._keys.derive({name: np.unique(each, axis=0) if each.shape[1] else each[:1] for name, each in keys.items()})
        self._keys.order(levels.groups)
        if self._keys.depth * LEVEL_COST > self._keys.row_count:
            raise TooManyLevelsError
        levels.derive_levels(facts, self._keys.turns(levels.groups))
        self._next_state = self._new_state(levels.stored(self._keys))
        self._next_state.instances = self._next_state.size = levels.instances
        self._keys.roll_back()
        self.why += BY_LEVELS
        self.rounds_taken = max(levels.levels, 1)
        self.starts_over = True
        found: Facts = {}
        for name in self.relations:
            store = self.catalog.stores[levels.numbers[name]]
            rows = store.columns_of(store.lines())
            found[self.numbers[name]] = rows, rows[:0]
        return found

    def _by_rows(self) -> Facts:
        """Derives everything in Python, row by row."""
        state = self._new_state({})
        state.begin({name: (rows, ()) for name, rows in self._next_given.items() if rows})
        self._next_state = state
        self.why += RECOMPUTED
        changes: Facts = {}
        for name, rows in state.rows.items():
            self.watch.rows(name, len(rows), partial(self._deriving, name, None))
            changes |= self.exchange(self.numbers[name], self.rows_to_words(rows.all_rows(), self._width(name)))
        return changes

    def _new_state(self, stored: Mapping[str, StoredRows]) -> Propagation:
        return Propagation(
            self.stratum.rules,
            self.relations,
            self.program.relations,
            self._below,
            self._after,
            stored,
            self.values,
            self.program.functions,
            self.watch,
            self._measured,
        )

    def _in_rounds(self, why: str) -> Facts:
        """Runs the rounds; the next epoch builds the state again."""
        if self._state is not None:
            self._state.roll_back()
        self._state = self._next_state = None
        self.fixed, self.why = "rounds", why
        below: dict[str, Table] = {}
        for name, rows in self._below.items():
            below[name] = Table()
            present = rows.store.columns_of(rows.store.present_lines())
            below[name].replace(dict.fromkeys(map(tuple, present.tolist()), 1))
        self._compile_rounds(below)
        try:
            return super().derive()
        finally:
            self._own, self._runs = {}, {}

    def _old_facts(self, relation: int, old: Store) -> Words:
        if self.starts_over:
            return np.empty((0, old.columns), dtype=np.int64)
        return super()._old_facts(relation, old)

    def _roll_back_levels(self) -> None:
        if self._levels is not None:
            self._levels.roll_back()
            self._keys.roll_back()

    def _given_count(self) -> int:
        return sum(map(len, self._next_given.values()))

    def _width(self, name: str) -> int:
        return len(self.program.relations[name].columns)

    def _cyclic(self, path: Sequence[Node]) -> EvaluationError:
        """Makes the error for a cycle in the data; it names the keys of declared relations on the way."""
        steps = [self._step(*node) for node in path if self.program.relations[node[0]].role is not Role.HIDDEN]
        return EvaluationError(
            f"{' → '.join((*steps, steps[0]))}: these rows depend on themselves; the last commit is intact",
            code=Code.CYCLE_IN_DATA,
            help='without `#[cycle = "error"]` the rules are applied in rounds until nothing changes',
        )

    def _step(self, name: str, row: Sequence[int]) -> str:
        """Returns a row, or a key, as text, with `_` for values."""
        columns, keys = self.program.relations[name].columns, self._key_columns[name]
        words = [row[i] for i in keys] if len(row) == len(columns) else row
        known = {i: self.values.decoder(columns[i].type)(word) for i, word in zip(keys, words, strict=True)}
        return f"{name}({', '.join(repr(known[i]) if i in known else '_' for i in range(len(columns)))})"

    @contextmanager
    def _measured(self, rule: Rule) -> Iterator[None]:
        with self.costs.measured(rule):
            yield


class AlwaysUpdatedAcyclicStratum(AcyclicStratum):
    """The same for the strategy `update`: never derived from scratch where there is a state to update."""

    switches = False
