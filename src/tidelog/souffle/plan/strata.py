"""Planned rules → strata, the cycles through negation and aggregates, and the strata that have to be recomputed.

A stratum is recomputed as a whole if it has a choice, a subsumptive clause, `autoinc()`, a limit on its size, an
equivalence relation, or an aggregate whose keys only the recursion itself knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.check.lattices import bounds_of
from tidelog.souffle.plan import terms
from tidelog.souffle.plan.number_values import NUMBERED
from tidelog.strong_components import strong_components


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations that need each other, and the rules that derive them; `why` it is recomputed, or nothing."""

    relations: tuple[str, ...]
    rules: tuple[terms.Planned, ...]
    why: str = ""

    @property
    def is_closure(self) -> bool:
        """True if the stratum is an equivalence relation over pairs that come from elsewhere."""
        return (
            self.why == "eqrel"
            and not any(
                rule.better is not None
                or any(set(self.relations) & terms.reads(step) or _aggregates_by_functor(step) for step in rule.steps)
                for rule in self.rules
            )
            and len(self.relations) == 1
            and not self.counts
        )

    @property
    def counts(self) -> bool:
        """True if a rule has a counter."""
        return any(map(terms.counts, self.rules))


def strata(rules: Sequence[terms.Planned], declared: Declared, diagnostics: list[Diagnostic]) -> tuple[Stratum, ...]:
    """Returns the strata, in order; reports cycles through negation and aggregates."""
    graph: dict[str, list[str]] = {name: [] for name in declared.relations}
    strict: dict[tuple[str, str], tuple[Span, str]] = {}
    for rule in rules:
        for step in rule.steps:
            for name, how in _reads(step):
                graph[rule.head].append(name)
                if how:
                    strict.setdefault((rule.head, name), (step.span, how))
    found = [*strong_components(graph)]
    place = {name: number for number, members in enumerate(found) for name in members}
    for (head, name), (span, how) in strict.items():
        if place[head] == place[name]:
            circle = " and ".join(f"`{each}`" for each in sorted({head, name}))
            diagnostics.append(
                diagnostic(
                    Code.NEGATIVE_CYCLE,
                    f"{circle} {'needs itself' if head == name else 'need each other'} through {how}",
                    span,
                    f"{how} inside a recursion has no meaning",
                )
            )
    for rule in rules:
        recursive = any(place[name] == place[rule.head] for step in rule.steps for name in terms.reads(step))
        if recursive and terms.counts(rule):
            message = f"a counter stands in a recursive clause of `{rule.head}`"
            diagnostics.append(diagnostic(Code.WRONG_OPERAND, message, rule.span, "would count without end"))
    by_head: dict[str, list[terms.Planned]] = {}
    for rule in rules:
        by_head.setdefault(rule.head, []).append(rule)
    made = []
    for members in found:
        own = tuple(rule for name in members for rule in by_head.get(name, ()))
        made.append(Stratum(tuple(members), own, _why(members, own, declared, graph)))
    return tuple(made)


def _reads(step: terms.Step) -> Iterable[tuple[str, str]]:
    """Yields the relations that a step reads, with the word for what must come first."""
    match step:
        case terms.Scan(relation):
            yield relation, ""
        case terms.Absent(relation):
            yield relation, "negation"
        case terms.Fold():
            for inner in step.steps:
                yield from ((name, "an aggregate") for name, _ in _reads(inner))
        case _:
            pass


def _why(
    members: Sequence[str], rules: Sequence[terms.Planned], declared: Declared, graph: Mapping[str, Sequence[str]]
) -> str:
    own = set(members)
    recursive = any(name in own for member in members for name in graph[member])
    for name in members:
        relation = declared.relations[name]
        if relation.dependencies:
            return "choice-domain"
        if bounds_of(name, declared):
            return "a lattice"
        if "eqrel" in relation.qualifiers:
            return "eqrel"
        if NUMBERED in relation.qualifiers:
            return NUMBERED
        if recursive and declared.given("limitsize", name):
            return "limitsize"
    if any(rule.better is not None for rule in rules):
        return "subsumption"
    for rule in rules:
        if any(isinstance(each, terms.Count) for each in terms.all_terms(rule)):
            return "autoinc"
        if any(map(_aggregates_by_functor, rule.steps)):
            return "a functor as an aggregate"
        asks = any(isinstance(step, terms.Fold) and step.free is None for step in rule.steps)
        if asks and any(name in own for step in rule.steps for name in terms.reads(step)):
            return "an aggregate whose keys come from the recursion"
    return ""


def _aggregates_by_functor(step: terms.Step) -> bool:
    return isinstance(step, terms.Fold) and step.function.startswith("@@")
