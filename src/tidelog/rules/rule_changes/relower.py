"""A `RuleProgram` and a change of its rules → the changed `RuleProgram`; only added rules are lowered.

    [0] A(x) :- B(x).      − [1]  + A(x + 1) :- B(x).      [0] A(x) :- B(x).
    [1] A(x) :- C(x).                 →                    [2] A(e#0) :- B(x), var e#0 = x + 1.

Rules that stay are the same objects, so that an engine can see what changed. Added rules get ids above all others.
Their hidden relations get names that no other rule has; projections and delays are shared as in `lower_program`. A
hidden relation that no rule reads any more is deleted with its rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tidelog.check import program
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.analysis.aggregates import with_aggregates
from tidelog.rules.analysis.split_values import with_split_values
from tidelog.rules.analysis.weights import weights
from tidelog.rules.ir import Relation, Role, Rule, RuleProgram
from tidelog.rules.lower import singleton
from tidelog.rules.lower.checked_arithmetic import called_functions, checked_functions, checked_rules
from tidelog.rules.lower.program import SPLIT_LAYOUT, Lowering, Options, expressions_of, refuse_locations
from tidelog.rules.rule_changes.restratify import restratify


def relower(
    rules: RuleProgram,
    source: program.TypedProgram,
    options: Options,
    added: Mapping[str, program.Rule],
    removed: Collection[int],
) -> tuple[RuleProgram, list[tuple[int, ...]]]:
    """Returns the program without the flat rules of these ids and with the typed rules, and the ids that each of those
    got.

    `source` is the typed program with all that the new rules need; the keys of `added` are the names under which they
    hide what has to be hidden, the same whenever they are added. Raises ProgramError when there is a cycle through
    negation, UsageError when an extern function has no Python function.
    """
    refuse_locations(added.values())
    rules_now = checked_rules(added.values(), options.overflow)
    new_functions = {id_: each for id_, each in source.functions.items() if not rules.functions.callees.knows(id_)}
    new_functions = {**new_functions, **checked_functions(new_functions, options.overflow)}
    if rules_now != tuple(added.values()):
        new_functions = {**called_functions(), **new_functions}
    source = replace(source, functions={**source.functions, **new_functions})
    added = dict(zip(added, rules_now))
    functions = _functions(rules, source)
    lowering = _AddedRules(source, rules, functions, options)
    ids = [lowering.add_named(name, rule) for name, rule in added.items()]
    if singleton.NAME in source.relations and singleton.NAME not in rules.relations:
        lowering.add_named("singleton", singleton.the_fact(source.relations[singleton.NAME]))
    relations, new = lowering.finish()
    functions.require_for(*expressions_of(new))
    dropped = [rule for rule in rules.rules if rule.id in removed]
    before = tuple([rule for rule in rules.rules if rule.id not in removed])
    relations, new = with_aggregates(relations, new, functions, options, before)
    if options.layout >= SPLIT_LAYOUT:
        relations, new = with_split_values(relations, new, functions)
    kept = (*before, *new)
    inspections = (*rules.inspections, *lowering.inspections)
    alive: Collection[str] = relations.keys()
    if any(relation.role is Role.HIDDEN for relation in _changed(relations, rules.relations, dropped)):
        alive = _alive(relations, kept, [index.relation for index in rules.indexes.values()])
    if len(alive) < len(relations):
        relations = {name: relation for name, relation in relations.items() if name in alive}
        kept = tuple(rule for rule in kept if rule.head.relation in alive)
    changed = RuleProgram(
        relations,
        kept,
        restratify(rules.strata, relations, kept, new, dropped),
        functions,
        rules.indexes,
        tuple(feed for feed in lowering.feeds.values() if feed.relation in alive),
        tuple(inspection for inspection in inspections if inspection.relation in alive),
    )
    return weights(changed), ids


def _functions(rules: RuleProgram, source: program.TypedProgram) -> CompiledFunctions:
    functions = rules.functions
    types = {name: each for name, each in source.types.items() if name not in functions.definitions.types}
    more = {id_: each for id_, each in source.functions.items() if not functions.callees.knows(id_)}
    if not types and not more:
        return functions
    return functions.grown(more, functions.definitions.extended(types) if types else functions.definitions)


def _changed(after: Mapping[str, Relation], before: Mapping[str, Relation], dropped: Sequence[Rule]) -> list[Relation]:
    """Returns the relations that are new, and those that removed rules read."""
    new = [relation for name, relation in after.items() if name not in before] if len(after) > len(before) else []
    return [*new, *(before[atom.relation] for rule in dropped for atom in rule.atoms)]


def _alive(relations: Mapping[str, Relation], rules: Sequence[Rule], indexed: Sequence[str]) -> set[str]:
    """Returns the relations that the user declared, and the hidden ones that something reads."""
    reads: dict[str, list[str]] = {}
    for rule in rules:
        reads.setdefault(rule.head.relation, []).extend(atom.relation for atom in rule.atoms)
    waiting = [name for name, relation in relations.items() if relation.role is not Role.HIDDEN]
    waiting += indexed
    alive: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in alive:
            alive.add(name)
            waiting += reads.get(name, ())
    return alive


class _AddedRules(Lowering):
    """Lowers rules beside those of a program, as they have been lowered already."""

    def __init__(
        self, source: program.TypedProgram, rules: RuleProgram, functions: CompiledFunctions, options: Options
    ) -> None:
        super().__init__(source, functions, options, rules.relations)
        self._first_id = max((rule.id for rule in rules.rules), default=-1) + 1
        self._projections = {name for name, each in rules.relations.items() if each.role is Role.HIDDEN}
        self.feeds = {feed.relation: feed for feed in rules.feeds}
        self._name = ""
        self._before = 0

    def add_named(self, name: str, rule: program.Rule) -> tuple[int, ...]:
        """Adds a rule that hides what it has to under names of its own; the ids of its flat rules."""
        self._name, self._before = name, len(self._hidden)
        first = self._next_id()
        self.add(rule)
        return tuple(range(first, self._next_id()))

    def fresh_name(self, relation: str, kind: str) -> str:
        return f"{relation}#{kind}{self._name}.{len(self._hidden) - self._before}"
