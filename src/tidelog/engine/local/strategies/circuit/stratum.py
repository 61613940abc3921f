"""The strategy `circuit`: rule instances are found by the interpreter of the dynamic Datalog paper, rules being rows.

The circuit (`interpreter`) finds the instances that a change of facts or rules inserts or deletes; the ranked Update
applies them to the rows of the stratum, wave by wave, as with `elastic`. So time within an epoch, for which the paper's
circuit has a copy of everything per iteration, is one number per row, and a deletion renumbers nothing
(`docs/decisions/0020-a-circuit-with-ranks.md`).

There is no switch, and nothing is planned: an added or removed rule is a delta like any other. The circuit's state
beside the rows is lost when a database is closed; then a Bootstrap makes it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tidelog.dbsp.row_hashes import Words
from tidelog.diagnostics.errors import OverflowedError
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Lines, Store
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strategies.circuit.interpreter import Circuit, FactDelta, Instances
from tidelog.engine.local.strategies.circuit.rule_arrays import code_of
from tidelog.engine.local.strategies.circuit.rule_rows import Order, RuleRows
from tidelog.rules.ir import Rule
from tidelog.types import Type


class CircuitStratum(LocalStratum):
    """A stratum with a circuit beside its stores."""

    strategy = "circuit"
    runs_python = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._circuit: Circuit | None = None
        self._committed: Any = None
        self._last_rule: Rule | None = None

    def _planned_rules(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return ()

    def continue_from(self, before: LocalStratum) -> None:
        super().continue_from(before)
        if isinstance(before, CircuitStratum) and before._circuit is not None:
            self._circuit = before._circuit.succeed(self.numbers, self.program.functions, self._look_at_the_clock)
            self._committed = (self._circuit, self._circuit.state())

    def can_update(self) -> bool:
        """False while there is no circuit: nothing was derived yet, or rows were loaded."""
        return self._circuit is not None

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        return iter(()) if self._circuit is None else self._circuit.made_words()

    # The end of the epoch

    def commit(self) -> None:
        super().commit()
        self._committed = None if self._circuit is None else (self._circuit, self._circuit.state())
        if self._circuit is not None and self.relation_numbers:
            self.stores()[0].beside = self._circuit

    def roll_back(self) -> None:
        super().roll_back()
        if self._committed is None:
            self._circuit = None
        else:
            self._circuit, state = self._committed
            self._circuit.restore(state)

    # A wave

    def _running(self, control: Words) -> Rule | None:
        return self._last_rule

    def _run_in_python(self, control: Words, *, every: bool = False) -> None:
        phase, wave = int(control[k.PHASE]), int(control[k.WAVE])
        if not control[k.LOGGING] and wave == 0:
            rule_rows = RuleRows(self.numbers, self.values, self.program.functions)
            self._circuit = Circuit(rule_rows, self.values, self._look_at_the_clock)
            self._last_rule = self.stratum.rules[0]
            self._take(control, self._circuit.add_rules(self.stratum.rules, self._present))
            return
        assert self._circuit is not None
        if wave == 0 and phase == k.RETRACT and self.removed:
            self._take(control, self._circuit.remove_rules(self.removed))
        if wave == 0 and phase == k.INSERT and self.added:
            self._take(control, self._circuit.add_rules(self.added, self._unchanged))
        delta = self._delta(phase, wave)
        if len(delta.rows):
            self._take(control, self._circuit.change(delta))

    def _look_at_the_clock(self) -> None:
        computing = None if self._circuit is None else self._circuit.running
        self.watch.look(computing or self._last_rule)

    def _take(self, control: Words, found: Iterator[Instances]) -> None:
        """Applies instances to the stores of their heads."""
        assert self._circuit is not None
        self._circuit.running = None
        sign = -1 if control[k.PHASE] == k.RETRACT else 1
        try:
            for instances in found:
                self._last_rule = instances.rules[0][0]
                self._look(self._last_rule)
                if instances.sign != sign:
                    raise self._broken()
                # Room is made for as many rows as there are instances, so not for all of them at once.
                for start in range(0, len(instances.out), k.OUT_ROWS):
                    out = instances.out[start : start + k.OUT_ROWS]
                    self._apply(control, instances.relation, out.reshape(-1), len(out))
                for rule, count in instances.rules:
                    self.costs.add(rule, count)
        except ZeroDivisionError as error:
            raise self.division(self._rule_in_python(), error) from None
        except OverflowedError as error:
            written = self._source_rule(self._rule_in_python())
            error.add_rule(written.text, written.span)
            raise

    def _rule_in_python(self) -> Rule:
        """Returns the rule whose Python expression the circuit evaluates."""
        assert self._circuit is not None
        assert self._circuit.running is not None
        return self._circuit.running

    # Facts

    def _delta(self, phase: int, wave: int) -> FactDelta:
        """Returns the rows that die or enter with this wave: of the stratum, and, in wave 0, of the relations below."""
        retracts = phase == k.RETRACT
        sign, reads = -1 if retracts else 1, self.plans.reads
        parts = [(store, store.batch_lines(), False, sign, True) for store in self.stores()]
        if wave == 0:
            for relation in self.reads:
                store = self.catalog.stores[relation]
                inserted, deleted = store.inserted_lines, store.deleted_lines
                if relation in reads.positive:
                    parts.append((store, (deleted if retracts else inserted)(), False, sign, False))
                if relation in reads.negated:
                    parts.append((store, (inserted if retracts else deleted)(), True, -sign, False))
        return self._gathered([each for each in parts if len(each[1])])

    def _gathered(self, parts: Iterable[tuple[Store, Words | Lines, bool, int, bool]]) -> FactDelta:
        found, weights = [], []
        width = max((store.columns for store in self._read_stores()), default=0)
        for store, lines, negated, sign, ranked in parts:
            rows = np.zeros((len(lines), 2 + width), dtype=np.int64)
            rows[:, 0] = code_of(store.relation, negated)
            if ranked:
                rows[:, 1] = store.ranks_of(lines)
            rows[:, 2 : 2 + store.columns] = store.columns_of(lines)
            found.append(rows)
            weights.append(np.full(len(lines), sign, dtype=np.int64))
        if not found:
            return FactDelta(np.empty((0, 2 + width), dtype=np.int64), np.empty(0, dtype=np.int64))
        return FactDelta(np.concatenate(found), np.concatenate(weights))

    def _read_stores(self) -> list[Store]:
        return [self.catalog.stores[relation] for relation in (*self.reads, *self.relation_numbers)]

    def _present(self, order: Order) -> Words:
        """Returns the rows (rank, columns) that a Bootstrap starts from."""
        return self._ranked(order.relation, self.catalog.stores[order.relation].present_lines())

    def _unchanged(self, order: Order) -> Words:
        """Returns the rows present before INSERT changes any; for negated literals, the old and the new ones."""
        store = self.catalog.stores[order.relation]
        lines = store.lines()
        if not order.negated:
            lines = lines[store.rows[lines, store.columns + k.META] >> k.STAMP_SHIFT == 0]
        return self._ranked(order.relation, lines)

    def _ranked(self, relation: int, lines: Words) -> Words:
        store = self.catalog.stores[relation]
        rows = np.zeros((len(lines), 1 + store.columns), dtype=np.int64)
        if relation in self.relation_numbers:
            rows[:, 0] = store.ranks_of(lines)
        rows[:, 1:] = store.columns_of(lines)
        return rows
