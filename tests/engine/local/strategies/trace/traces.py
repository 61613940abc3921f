"""Traces for tests: a rule kept by its trace in a given order of variables, and the trace of a naive triejoin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.strategies.trace.rule import TracedRule, TracePlan
from tidelog.engine.local.strategies.trace.stratum import TraceStratum
from tidelog.plan.statistics import Order
from tidelog.plan.variant import Leap, Part, Variant, deltas
from tidelog.rules.ir import Rule, Variable

Row = tuple[int, ...]
Rows = set[Row]
END = (1 << 63) - 1
BEGIN = -(1 << 63)


def in_order(rule: Rule, names: Sequence[str]) -> Variant:
    """The leapfrog join of a rule without constants or repeated variables, in this order of its variables."""
    steps = []
    for name in names:
        parts, variable = [], None
        for position, atom in enumerate(rule.positives):
            here = [term.name if isinstance(term, Variable) else "" for term in atom.terms]
            if name in here:
                ranks = [names.index(each) for each in here]
                order = sorted(range(len(here)), key=ranks.__getitem__)
                level = [here[column] for column in order].index(name)
                parts.append(Part(atom, position, Order(tuple(order)), level))
                variable = next(t for t in atom.terms if isinstance(t, Variable) and t.name == name)
        steps.append(Leap(variable, tuple(parts)))
    return Variant(rule, deltas(rule)[-1], tuple(steps))


class Traced:
    """An engine with one rule, which is kept by its trace in the order that is given."""

    def __init__(
        self, text: str, names: Sequence[str], facts: Mapping[str, AbstractSet[Row]], *, keep_all: bool
    ) -> None:
        self.program = tidelog.compile(text).stages.rules
        self.engine = LocalEngine(self.program, strategy="trace")
        self.engine.open()
        self.facts: dict[str, Rows] = {name: set(rows) for name, rows in facts.items()}
        self.engine.commit([Operation(name, +1, sorted(rows)) for name, rows in facts.items()])
        (stratum,) = (each for each in self.engine._runtime.strata if isinstance(each, TraceStratum))
        (self.rule,) = stratum.stratum.rules
        plan = TracePlan(
            stratum.plans.compiler, in_order(self.rule, names), frozenset(stratum.relations), keep_all=keep_all
        )
        self.stratum = stratum
        self.traced = TracedRule(plan, stratum.catalog)
        stratum.traced = [self.traced]
        stratum._ready_tries()
        for _ in self.traced.evaluate_whole():
            pass
        self.traced.operations = 0

    def change(self, inserted: Mapping[str, AbstractSet[Row]], deleted: Mapping[str, AbstractSet[Row]]) -> int:
        """Commits, and returns the iterator operations that it took."""
        before = self.traced.operations
        self.engine.commit(
            [Operation(name, -1, sorted(rows)) for name, rows in deleted.items()]
            + [Operation(name, +1, sorted(rows)) for name, rows in inserted.items()]
        )
        for name in self.facts:
            self.facts[name] = (self.facts[name] - deleted.get(name, set())) | inserted.get(name, set())
        return self.traced.operations - before

    def sensitive(self, relation: str, level: int) -> set[Row]:
        """The records of the index of a relation at the level of a variable."""
        number = list(self.program.relations).index(relation)
        found = set()
        for index, kind in enumerate(self.traced.indices.kinds):
            if (kind.relation, kind.level) == (number, level):
                found |= set(self.traced.indices.records(index))
        return found

    def intervals(self, relation: str, level: int) -> set[tuple[int, int]]:
        """The intervals of these records, at whichever node."""
        number = list(self.program.relations).index(relation)
        known = {each.known for each in self.traced.indices.kinds if (each.relation, each.level) == (number, level)}
        return {(record[at], record[-1]) for at in known for record in self.sensitive(relation, level)}

    def rows(self) -> Rows:
        return {row for row, _ in self.engine.rows(self.rule.head.relation)}


@dataclass(frozen=True)
class Step:
    """An operation of the trace: on which literal, at which node, and the interval that it is sensitive to."""

    position: int
    node: Row
    first: int
    last: int


def trace_of(rule: Rule, names: Sequence[str], facts: Mapping[str, AbstractSet[Row]]) -> tuple[set[Step], Rows]:
    """The steps of a leapfrog triejoin, and the assignments that it finds, by sorted lists alone."""
    literals = []
    for position, atom in enumerate(rule.positives):
        here = [term.name for term in atom.terms if isinstance(term, Variable)]
        order = sorted(here, key=names.index)
        rows = [tuple(row[here.index(name)] for name in order) for row in facts[atom.relation]]
        literals.append((position, order, rows))
    steps: set[Step] = set()
    found: Rows = set()

    def descend(node: Row) -> None:
        if len(node) == len(names):
            found.add(node)
            return
        values = dict(zip(names, node))
        parts = []
        for position, order, rows in literals:
            if names[len(node)] in order:
                level = order.index(names[len(node)])
                prefix = tuple(values[name] for name in order[:level])
                parts.append((position, sorted({row[level] for row in rows if row[:level] == prefix})))
        for value in leap(parts, node, steps):
            descend((*node, value))

    descend(())
    return steps, found


def leap(parts: list[tuple[int, list[int]]], node: Row, steps: set[Step]) -> Iterator[int]:
    """One leapfrog join, with its steps."""

    def least(words: list[int], bound: int) -> int:
        return min((word for word in words if word >= bound), default=END)

    at = []
    for position, words in parts:
        at.append(least(words, BEGIN))
        steps.add(Step(position, node, BEGIN, at[-1]))
        if at[-1] == END:
            return
    while True:
        candidate = max(at)
        behind = next((i for i, word in enumerate(at) if word < candidate), None)
        if behind is None:
            yield candidate
            at[0] = least(parts[0][1], candidate + 1)
            steps.add(Step(parts[0][0], node, candidate, at[0]))
            behind = 0
        else:
            at[behind] = least(parts[behind][1], candidate)
            steps.add(Step(parts[behind][0], node, candidate, at[behind]))
        if at[behind] == END:
            return
