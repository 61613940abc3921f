"""Relations and rules → strata, in an order in which each reads only itself and those before it.

    Reach(x, y) :- Edge(x, y).                    stratum 0: Edge
    Reach(x, z) :- Reach(x, y), Edge(y, z).       stratum 1 (recursive): Reach
    Far(x) :- Edge(x, _), not Reach(x, "a").      stratum 2: Far

A stratum is a strongly connected component of the graph "the head depends on the relations of the body". Components
come in dependency order; the order of declaration decides between components that are independent.

A negated literal inside a component is an error. The error walks the shortest cycle from the negated relation back to
the head, with one labelled source line for each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.check.rule.recursion import Step, negative_cycle, way_back
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.rules.ir import Atom, Relation, Role, Rule, RuleProgram, Stratum
from tidelog.strong_components import strong_components


def stratify(program: RuleProgram) -> RuleProgram:
    """Returns the program with its strata. Raises ProgramError for each negation inside a stratum."""
    return replace(program, strata=find_strata(program.relations, program.rules))


def find_strata(relations: Mapping[str, Relation], rules: Sequence[Rule]) -> tuple[Stratum, ...]:
    """Returns the strata, with every relation in exactly one. Raises ProgramError for each negation inside a stratum.

    Linear in the size of the program; so is each error.
    """
    rules_of: dict[str, list[Rule]] = {name: [] for name in relations}
    for rule in rules:
        rules_of[rule.head.relation].append(rule)
    graph = {name: _dependencies(rules_of[name]) for name in relations}
    components = strong_components(graph)
    stratum_of = {name: number for number, component in enumerate(components) for name in component}
    cycles = [
        _walk_cycle(rule, atom, rules, stratum_of, relations)
        for rule in rules
        for atom in rule.negatives
        if stratum_of[atom.relation] == stratum_of[rule.head.relation]
    ]
    if cycles:
        raise ProgramError(tuple(sorted(cycles, key=lambda cycle: cycle.span.start)))
    order = {name: place for place, name in enumerate(relations)}
    strata = []
    for component in components:
        names = tuple(sorted(component, key=order.__getitem__))
        members = sorted((rule for name in names for rule in rules_of[name]), key=lambda rule: rule.id)
        recursive = any(name in graph[head] for head in names for name in names)
        strata.append(Stratum(names, tuple(members), recursive))
    return tuple(strata)


def _dependencies(rules: Sequence[Rule]) -> list[str]:
    """Returns the relations that the bodies mention, in their order."""
    return list(dict.fromkeys(atom.relation for rule in rules for atom in rule.atoms))


def _walk_cycle(
    rule: Rule, negated: Atom, rules: Sequence[Rule], stratum_of: Mapping[str, int], relations: Mapping[str, Relation]
) -> Diagnostic:
    """Returns the error for a negated literal whose relation depends on the head: its steps, from the head back to the
    head."""
    step = Step(rule.head.relation, negated.relation, "negative", False, negated.span)
    steps = [
        Step(each.head.relation, atom.relation, "negative" if atom in each.negatives else "positive", False, atom.span)
        for each in rules
        for atom in each.atoms
    ]
    way = [each for each in way_back(step, steps, stratum_of) if relations[each.head].role is not Role.HIDDEN]
    return negative_cycle(_shown(step), map(_shown, way))


def _shown(step: Step) -> Step:
    """Returns the step with the name that the user wrote: a hidden projection is called after its relation."""
    return replace(step, body=step.body.split("#", 1)[0])
