"""Decides which waves of a Bootstrap go head by head (`execution/row_wise`), and runs them.

Wave 0 does if it has many rows to join; later waves once a usual wave has met many instances. They stop when they take
longer than usual waves, which then continue from the same state; see `docs/decisions/0039-row-wise-bootstrap.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution import row_wise
from tidelog.engine.local.execution.row_wise_rules import fits, goes_straight
from tidelog.engine.local.execution.threads import ThreadPool
from tidelog.engine.local.kernels import layout as k
from tidelog.rules.ir import Assign, Rule

if TYPE_CHECKING:
    from tidelog.engine.local.strata.joins import LocalStratum


class RowWiseWaves:
    """The waves of one Bootstrap of a stratum that go head by head.

    `rules` are the rules of the stratum, none if its rows are not counted instances; `look` checks the limits of the
    epoch from time to time, and may raise.
    """

    def __init__(
        self, stratum: LocalStratum, rules: Sequence[Rule], pool: ThreadPool, look: Callable[[], None]
    ) -> None:
        self._stratum = stratum
        self._rules = rules
        self._pool = pool
        self._look = look
        self._is_declined = False  # this Bootstrap cannot go head by head
        self._from_rows = 0  # rows of a wave that goes head by head again
        self._first = 0  # instances of wave 0
        # Waves, instances and rows of the present wave of this Bootstrap when it last asked whether to go head by head.
        self._met = 0, 0, 0
        recursive = [rule for rule in rules if self._is_recursive(rule)]
        self._go_straight = all(goes_straight(recursive, name) for name in stratum.relations)

    def may_start(self) -> bool:
        """True if wave 0 might go head by head: it has rows to join, and no facts of its own.

        Rules that make words would have to find them all before it is known whether that is worth it.
        """
        return (
            self._stratum.rows_below() >= row_wise.START_ROWS
            and not any(isinstance(each, Assign) for rule in self._rules for each in rule.body)
            and any(len(rule.positives) > 1 and not self._is_recursive(rule) for rule in self._rules)
            and not self._stratum.row_count
            and len(self._fitting_rules()) == len(self._rules) > 0
        )

    def run(self, control: Words, last_round: int) -> bool:
        """Runs waves head by head, from the one in `control` on, as long as that pays; returns True if no wave is
        left."""
        from_start = not control[k.WAVE]
        rules = [] if self._is_declined else self._fitting_rules()
        if not from_start:
            rules = [rule for rule in rules if self._is_recursive(rule)]
            if not self._is_worth_it(control):
                return False
        if not rules:
            return False
        stratum = self._stratum
        run = row_wise.RowWise(
            rules, stratum.relations, stratum.numbers, stratum.catalog, self._pool, stratum.values.word, self._look
        )
        stratum.plans.reserved.release()
        batch = int(stratum.catalog.S[stratum.plans.inside, k.BATCH_COUNT].sum())
        with_deltas = not from_start and row_wise.SPARSE * batch < stratum.row_count
        if not run.begin(from_start=from_start, with_deltas=with_deltas):
            self._is_declined = not from_start
            return False
        rows = 1
        while rows:
            began = self._pool.processor_seconds
            instances, rows = run.run_wave(int(control[k.WAVE]), self._look)
            control[k.WAVE] += 1
            control[k.INSTANCES] += instances
            stratum.watch.at(int(control[k.WAVE]))
            seconds = self._pool.processor_seconds - began
            if control[k.WAVE] > last_round or not run.pays(instances, rows, seconds):
                break
        if not rows:
            run.arrange(stratum.plans.probed_by_updates())
        run.end()
        self._from_rows = row_wise.AGAIN * rows
        for rule, count in run.counts:
            stratum.costs.add(rule, count)
        return not rows

    def _is_worth_it(self, control: Words) -> bool:
        """True if the present wave, after wave 0, has many rows, and those before it had many instances each."""
        lines = self._stratum.catalog.S[self._stratum.plans.inside]
        batch, below = int(lines[:, k.BATCH_COUNT].sum()), self._stratum.rows_below()
        # The instances of wave 0 say nothing about the recursion.
        wave, instances = int(control[k.WAVE]), int(control[k.INSTANCES])
        met = (instances - self._met[1]) / (wave - self._met[0]) if wave > 1 else 0
        if wave > 1:
            # Waves are expected to go on growing.
            growth = max(batch / max(self._met[2], 1), 1.0) ** (1 / (wave - self._met[0]))
            met *= min(growth, row_wise.MOST_GROWTH)
        if wave <= 1:
            self._first = instances
        self._met = wave, instances, batch
        rows, before = below + self._stratum.row_count, instances - self._first
        busy = row_wise.BUSY_STRAIGHT if self._go_straight else row_wise.BUSY
        return (
            batch >= max(row_wise.FIRST_ROWS, self._from_rows)
            and max(row_wise.PART * batch, instances, met) >= below
            and (met >= row_wise.MET * rows or (met >= busy and before >= row_wise.MET_BEFORE * rows))
        )

    def _fitting_rules(self) -> list[Rule]:
        """Returns the rules that can run head by head, if all recursive ones can; else none."""
        rules = [rule for rule in self._rules if fits(rule)]
        return rules if all(fits(rule) for rule in self._rules if self._is_recursive(rule)) else []

    def _is_recursive(self, rule: Rule) -> bool:
        return any(atom.relation in self._stratum.relations for atom in rule.positives)
