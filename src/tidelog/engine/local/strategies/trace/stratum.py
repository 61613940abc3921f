"""The strategy `trace`: rules of a stratum without recursion, maintained by the traces of their leapfrog joins.

The instances of a traced rule that only the old or only the new version has are deaths and births like any others: they
are applied to the same store, deaths first, with the counts that make a projection right. The other rules of the
stratum are updated as usual, in the same two passes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strategies.trace import evaluate
from tidelog.engine.local.strategies.trace.rule import TracedRule, TracePlan
from tidelog.maintain.switch import Meter
from tidelog.plan.leapfrog import plan_leapfrog
from tidelog.plan.negation import with_complements
from tidelog.plan.plain import is_plain
from tidelog.plan.variant import deltas
from tidelog.rules.ir import Assign, Condition, Constant, Negative, Positive, Rule, Stratum, Variable


def is_traceable(rule: Rule, stratum: Stratum) -> bool:
    """True if a rule can be maintained by its trace: joins, negation, safe plain expressions, no recursion."""
    if stratum.recursive or not rule.positives:
        return False
    if any(all(isinstance(term, Constant) for term in atom.terms) for atom in rule.positives):
        return False
    for literal in rule.body:
        match literal:
            case Positive():
                continue
            case Negative(atom):
                if not any(isinstance(term, Variable) for term in atom.terms):
                    return False
            case Condition(expression) | Assign(expression=expression):
                if not is_plain(expression) or typed.may_fail(expression) or not typed.variables(expression):
                    return False
            case _:
                return False
    return True


class _IndexBytes:
    """The memory of sensitivity indices, beside the rows that they maintain."""

    def __init__(self, traced: list[TracedRule]) -> None:
        self._traced = traced

    def bytes(self) -> int:
        return sum(rule.indices.bytes() for rule in self._traced)


class TraceStratum(LocalStratum):
    """A stratum some of whose rules are maintained by their traces."""

    strategy = "trace"
    runs_python = True
    traces_all = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._traced_rules = [rule for rule in self.stratum.rules if self._is_traced(rule)]
        self.traced: list[TracedRule] = []
        self._is_ready = False
        self._found_regions = False

    def _is_traced(self, rule: Rule) -> bool:
        return (self.traces_all or rule.maintain == "trace") and is_traceable(rule, self.stratum)

    def _planned_rules(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if not self._is_traced(rule))

    def can_update(self) -> bool:
        """False after rows were loaded, an epoch was rolled back, or rules changed: then there is no trace of them."""
        return self._is_ready and not self.has_changed

    def update(self, meter: Meter) -> bool:
        self._found_regions = False
        self._ready_tries()
        return super().update(meter)

    def bootstrap(self) -> None:
        self._trace_rules()
        super().bootstrap()
        self._is_ready = True
        for store in self.stores():
            store.beside = _IndexBytes(self.traced)

    def roll_back(self) -> None:
        super().roll_back()
        self._is_ready = False

    def _trace_rules(self) -> None:
        """Plans the traced rules for the present rows."""
        compiler, statistics = self.plans.compiler, self.plans.statistics
        statistics.expect({})
        self.traced = []
        for rule in self._traced_rules:
            leaping = replace(rule, join="leapfrog")
            variant = plan_leapfrog(leaping, deltas(rule)[-1], statistics, (), begins_with_literal=True)
            variant = with_complements(variant, statistics, (), requested=rule.join == "leapfrog")
            self.traced.append(TracedRule(TracePlan(compiler, variant, frozenset(self.relations)), self.catalog))
        self._ready_tries()

    def _ready_tries(self) -> None:
        for traced in self.traced:
            for relation, order in traced.plan.tries:
                self.catalog.stores[relation].arrange(order)
        for relation in self.reads:
            self.catalog.stores[relation].index()

    def _run_in_python(self, control: Words, *, every: bool = False) -> None:
        super()._run_in_python(control, every=every)
        if control[k.WAVE] != 0:
            return
        if self.replaced:
            for rule, traced in zip(self._traced_rules, self.traced, strict=True):
                self._feed_traced(control, rule, traced.evaluate_whole())
            return
        if not self._found_regions:
            self._found_regions = True
            for rule, traced in zip(self._traced_rules, self.traced, strict=True):
                self._look(rule)
                traced.find_regions()
        version = evaluate.OLD if control[k.PHASE] == k.RETRACT else evaluate.NEW
        for rule, traced in zip(self._traced_rules, self.traced, strict=True):
            self._feed_traced(control, rule, traced.evaluate(version))

    def _feed_traced(self, control: Words, rule: Rule, found: Any) -> None:
        head = self.numbers[rule.head.relation]
        with self.costs.measured(rule):
            for buffer, count in found:
                self._look(rule)
                if count:
                    self._apply(control, head, buffer, count)
                    self.costs.emitted += count
            self._look(rule)


class RequestedTraceStratum(TraceStratum):
    """A stratum where only the rules that request it are maintained by their traces."""

    traces_all = False
