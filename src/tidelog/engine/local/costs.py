"""What the rules of one stratum cost since somebody last asked.

Kernels count the instances of each variant; rules that begin alike run as one tree, so their time cannot be told apart:
the time of a stratum is shared out in proportion to the instances. What Python runs for a rule is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from tidelog.engine.local.values import Words
from tidelog.maintain.profile import Cost
from tidelog.plan.variant import Variant
from tidelog.rules.ir import Rule


class RuleCosts:
    """Counts, and starts again when it is asked."""

    def __init__(self) -> None:
        self._in_kernels: dict[int, int] = {}
        self._in_python: dict[int, Cost] = {}
        self.emitted = 0  # instances that Python has found

    def count(self, variants: Sequence[Variant], tally: Words) -> None:
        """Takes over what kernels have counted, and sets it to 0."""
        for variant, instances in zip(variants, tally.tolist()):
            if instances:
                rule = variant.rule.id
                self._in_kernels[rule] = self._in_kernels.get(rule, 0) + instances
        tally[:] = 0

    @contextmanager
    def measured(self, rule: Rule) -> Iterator[None]:
        """What is emitted in here, and the time, are the rule's."""
        started, before = perf_counter(), self.emitted
        try:
            yield
        finally:
            cost = Cost(self.emitted - before, perf_counter() - started)
            known = self._in_python.get(rule.id)
            self._in_python[rule.id] = cost if known is None else cost + known

    def take(self, seconds: float) -> dict[int, Cost]:
        """The cost of each rule, by its id, where the stratum took so long; begins anew."""
        left = max(seconds - sum(cost.seconds for cost in self._in_python.values()), 0.0)
        instances = sum(self._in_kernels.values())
        costs = dict(self._in_python)
        for rule, count in self._in_kernels.items():
            cost = Cost(count, left * count / instances)
            costs[rule] = cost if rule not in costs else cost + costs[rule]
        self.forget()
        return costs

    def forget(self) -> None:
        """What was counted came to nothing."""
        self._in_kernels, self._in_python = {}, {}
