"""The costs of the rules of one stratum, in the last epoch that visited it and in all.

Kernels count the instances of each variant in a tally. Rules with a common prefix run as one tree, so their time cannot
be told apart: the time of a stratum is shared out in proportion to the instances. Time in Python is measured by rule.

A commit may take less than a millisecond, so the usual end of an epoch, kernels alone with one set of plans, is a few
additions of small arrays; costs by rule are computed on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.machine_code.declare import seconds_loading
from tidelog.maintain.profile import Cost
from tidelog.plan.variant import Variant
from tidelog.rules.ir import Rule

_Costs = dict[int, Cost]


class RuleCosts:
    """`emitted` counts the instances that Python finds."""

    def __init__(self) -> None:
        self.emitted = 0
        # The epoch under way, beside the tally: what plans counted that are replaced by now, and what Python ran.
        self._counted: dict[int, int] = {}
        self._measured: _Costs = {}
        # All epochs: by rule, and by variant for the present plans.
        self._total: _Costs = {}
        self._last: _Costs | None = None
        self._plans: Sequence[Variant] = ()
        self._tally = self._last_tally = np.zeros(0, dtype=np.int64)
        self._seconds = np.zeros(0)
        self._last_rate = 0.0

    def count(self, plans: Sequence[Variant], tally: Words) -> None:
        """Adds the kernels' tally of the epoch under way, before other plans replace it."""
        for variant, instances in zip(plans, tally.tolist()):
            if instances:
                self._counted[variant.rule.id] = self._counted.get(variant.rule.id, 0) + instances
        tally[:] = 0

    def add(self, rule: Rule, instances: int) -> None:
        """Adds instances of a rule that were found in the epoch under way, without time."""
        if instances:
            self._counted[rule.id] = self._counted.get(rule.id, 0) + instances

    @contextmanager
    def measured(self, rule: Rule) -> Iterator[None]:
        """Measures a block: its time, but for that of loading kernels, and its emitted instances are the rule's."""
        started, before = perf_counter() - seconds_loading(), self.emitted
        try:
            yield
        finally:
            _add(self._measured, rule.id, Cost(self.emitted - before, perf_counter() - seconds_loading() - started))

    def busiest(self, rules: Sequence[Rule], plans: Sequence[Variant], tally: Words) -> Rule | None:
        """Returns the rule with the most instances in the epoch under way; None if there are none."""
        found = {rule.id: self._counted.get(rule.id, 0) for rule in rules}
        for rule, cost in self._measured.items():
            if rule in found:
                found[rule] += cost.instances
        for variant, instances in zip(plans, tally.tolist()):
            if variant.rule.id in found:
                found[variant.rule.id] += instances
        return max((rule for rule in rules if found[rule.id]), key=lambda rule: found[rule.id], default=None)

    def forget(self) -> None:
        """Forgets the epoch under way, which was rolled back."""
        self._counted, self._measured = {}, {}

    def end_epoch(self, seconds: float, plans: Sequence[Variant], tally: Words) -> None:
        """Ends a committed epoch, in which the stratum took so many seconds."""
        if self._counted or self._measured:
            self.count(plans, tally)
            self._last = self._shared_out(seconds)
            for rule, cost in self._last.items():
                _add(self._total, rule, cost)
            self.forget()
            return
        if self._plans is not plans:
            self._fold()
            self._plans = plans
            self._tally, self._last_tally, self._seconds = np.zeros_like(tally), tally.copy(), np.zeros(len(tally))
        self._last = None
        instances = int(tally.sum())
        self._last_rate = seconds / max(instances, 1)
        self._last_tally[:] = tally
        if not instances:
            return
        self._tally += tally
        self._seconds += self._last_rate * tally
        tally[:] = 0

    def last(self) -> _Costs:
        """Returns the cost of each rule in the last epoch, by its id."""
        if self._last is not None:
            return self._last
        return _by_rule(self._plans, self._last_tally, self._last_rate * self._last_tally)

    def total(self) -> _Costs:
        """Returns the cost of each rule in all epochs."""
        self._fold()
        return self._total

    def shares(self) -> dict[int, float]:
        """Returns the share of each rule in the instances of all epochs, about its share in those that there are."""
        costs = self.total()
        instances = sum(cost.instances for cost in costs.values())
        return {rule: cost.instances / instances for rule, cost in costs.items()} if instances else {}

    def _shared_out(self, seconds: float) -> _Costs:
        rest = max(seconds - sum(cost.seconds for cost in self._measured.values()), 0.0)
        instances = sum(self._counted.values())
        costs = dict(self._measured)
        for rule, count in self._counted.items():
            _add(costs, rule, Cost(count, rest * count / instances))
        return costs

    def _fold(self) -> None:
        """Turns the costs by variant into costs by rule."""
        for rule, cost in _by_rule(self._plans, self._tally, self._seconds).items():
            _add(self._total, rule, cost)
        self._tally[:] = 0
        self._seconds[:] = 0.0


def _by_rule(plans: Sequence[Variant], tally: Words, seconds: npt.NDArray[np.floating[Any]]) -> _Costs:
    costs: _Costs = {}
    for variant, instances, time in zip(plans, tally.tolist(), seconds.tolist()):
        if instances:
            _add(costs, variant.rule.id, Cost(instances, time))
    return costs


def _add(costs: _Costs, rule: int, cost: Cost) -> None:
    known = costs.get(rule)
    costs[rule] = cost if known is None else known + cost
