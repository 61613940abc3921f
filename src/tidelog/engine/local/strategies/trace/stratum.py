"""The strategy `trace`: rules of a stratum that does not recurse, kept by the traces of their leapfrog joins.

What a traced rule finds, the instances that only the old and only the new version have, are deaths and births like any
others: they go to the same store, deaths first, with the counts that make a projection right. The other rules of the
stratum are repaired as ever, in the same two passes.
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
    """Whether a rule can be kept by its trace: joins, negation and plain expressions that cannot fail, no recursion."""
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
    """The memory of sensitivity indices, beside the rows that they keep right."""

    def __init__(self, traced: list[TracedRule]) -> None:
        self._traced = traced

    def bytes(self) -> int:
        return sum(rule.indices.bytes() for rule in self._traced)


class TraceStratum(LocalStratum):
    """A stratum some of whose rules are kept by their traces."""

    keeps = "trace"
    traces_all = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        rules = [rule for rule in self.stratum.rules if is_traceable(rule, self.stratum)]
        self._traced_rules = [rule for rule in rules if self.traces_all or rule.maintain == "trace"]
        self._rules = tuple(rule for rule in self.stratum.rules if rule not in self._traced_rules)
        self.traced: list[TracedRule] = []
        self._is_ready = False
        self._found_regions = False

    def can_update(self) -> bool:
        """Not after rows were loaded, an epoch was undone, or rules changed: then there is no trace of them."""
        return self._is_ready and not self.has_changed

    def can_derive(self) -> bool:
        stores = self.catalog.stores
        rules = self.stratum.rules
        return any(all(len(stores[self.numbers[atom.relation]]) for atom in rule.positives) for rule in rules)

    def update(self, meter: Meter) -> bool:
        self._found_regions = False
        self._ready_tries()
        return super().update(meter)

    def bootstrap(self) -> None:
        self._trace_anew()
        super().bootstrap()
        self._is_ready = True
        for store in self.stores():
            store.beside = _IndexBytes(self.traced)

    def drop(self) -> None:
        super().drop()
        self._is_ready = False

    def _trace_anew(self) -> None:
        """Plans the traced rules for the rows that are there now."""
        self._statistics.expect({})
        self.traced = []
        for rule in self._traced_rules:
            variant = plan_leapfrog(replace(rule, join="leapfrog"), deltas(rule)[-1], self._statistics, ())
            variant = with_complements(variant, self._statistics, (), asked=rule.join == "leapfrog")
            self.traced.append(TracedRule(TracePlan(self._compiler, variant, frozenset(self.relations)), self.catalog))
        self._ready_tries()

    def _ready_tries(self) -> None:
        for traced in self.traced:
            for relation, order in traced.plan.tries:
                self.catalog.stores[relation].arrange(order)
        for relation in self._below:
            self.catalog.stores[relation].index()

    def _lay_out(self) -> None:
        super()._lay_out()
        self._in_python = 1

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


class AskedTraceStratum(TraceStratum):
    """A stratum where only the rules that ask for it are kept by their traces."""

    traces_all = False
