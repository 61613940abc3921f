"""Groups with the same members → one group that has the aggregates of all of them.

    Least(s, p.group_by(s).min()) :- Sale(s, p).          G(s, a#0, a#1) :- a#0 = min, a#1 = count of M(s, _).
    Number(t, q.group_by(t).count_distinct()) :-     →    Least(s, e#0) :- G(s, a#0, _), e#0 = a#0.
        Sale(t, q).                                       Number(t, e#0) :- G(t, _, a#0), e#0 = a#0.

Members are the same where what stands before the `group_by` is, up to the names of variables, and so are the value and
the key. This is done once, for the rules that a program has from the start: a rule that comes later must not need one
that may go. Aggregates that may fail are only shared where all have them: a rule that is gone must not fail any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.check import typed
from tidelog.check.same_rule import RuleKey, structure_key
from tidelog.rules.aggregate import aggregate_key
from tidelog.rules.ir import Aggregate, Column, Group, Literal, Positive, Relation, Rule, Term, Variable, Wildcard


@dataclass(slots=True)
class _Shared:
    """A group that stays: its rule, and the aggregates that it gets."""

    rule: Rule
    aggregates: dict[RuleKey, Aggregate] = field(default_factory=dict)


def share_groups(
    relations: Mapping[str, Relation], rules: Sequence[Rule]
) -> tuple[dict[str, Relation], tuple[Rule, ...]]:
    """The relations and rules with one group for all that have the same members."""
    from tidelog.rules.show import show_rule

    made_by = {rule.head.relation: rule for rule in rules}
    shared: dict[RuleKey, list[_Shared]] = {}
    stands_for: dict[str, _Shared] = {}
    for rule in rules:
        group = rule.group
        if group is None or group.aggregates is None:
            continue
        members = made_by[group.atom.relation]
        found = shared.setdefault(structure_key((members.body, members.head.terms)), [])
        own = {aggregate_key(each, _keys(group)): each for each in group.aggregates}
        fitting = next((each for each in found if _fits(own, each.aggregates)), None)
        if fitting is None:
            fitting = _Shared(rule, {})
            found.append(fitting)
        for key, each in own.items():
            variable = Variable(f"a#{len(fitting.aggregates)}", each.variable.type)
            fitting.aggregates.setdefault(key, replace(each, variable=variable))
        stands_for[rule.head.relation] = fitting
    gone = {name for name, each in stands_for.items() if each.rule.head.relation != name}
    first_members = {each.rule.head.relation: _members(found[0].rule) for found in shared.values() for each in found}
    gone |= {_members(each.rule) for found in shared.values() for each in found[1:]}
    gone |= {_members(made_by[name]) for name in gone if name in stands_for}
    gone -= set(first_members.values())
    if not gone:
        return dict(relations), tuple(rules)
    changed_relations = {name: relation for name, relation in relations.items() if name not in gone}
    changed = []
    for rule in rules:
        if rule.head.relation in gone:
            continue
        if rule.head.relation in stands_for:
            rule = _grouping(stands_for[rule.head.relation], first_members[rule.head.relation])
            kept = [Column(f"a{place}", term.type) for place, term in enumerate(_aggregated(rule))]
            relation = relations[rule.head.relation]
            columns = (*relation.columns[: len(rule.head.terms) - len(kept)], *kept)
            changed_relations[relation.name] = replace(relation, columns=columns)
        else:
            rule = _reading(rule, stands_for, made_by)
        changed.append(replace(rule, text=show_rule(rule)) if "#" in rule.head.relation else rule)
    return changed_relations, tuple(changed)


def _keys(group: Group) -> tuple[Variable, ...]:
    return tuple(term for term in group.atom.terms if isinstance(term, Variable))


def _members(rule: Rule) -> str:
    assert rule.group is not None
    return rule.group.atom.relation


def _aggregated(rule: Rule) -> tuple[Variable, ...]:
    assert rule.group is not None
    assert rule.group.aggregates is not None
    return tuple(each.variable for each in rule.group.aggregates)


def _fits(own: Mapping[RuleKey, Aggregate], others: Mapping[RuleKey, Aggregate]) -> bool:
    """Whether all that may fail is in both."""
    apart = {**own, **others}
    return not any(_may_fail(each) for key, each in apart.items() if key not in own or key not in others)


def _may_fail(aggregate: Aggregate) -> bool:
    return aggregate.of is not None and typed.may_fail(aggregate.of)


def _grouping(shared: _Shared, members: str) -> Rule:
    """The rule of a group that stays, with all aggregates, over the members that stay."""
    rule, group = shared.rule, shared.rule.group
    assert group is not None
    aggregates = tuple(shared.aggregates.values())
    terms = (*_keys(group), *(each.variable for each in aggregates))
    literal = replace(group, atom=replace(group.atom, relation=members), aggregates=aggregates)
    return replace(rule, head=replace(rule.head, terms=terms), body=(literal,))


def _reading(rule: Rule, stands_for: Mapping[str, _Shared], made_by: Mapping[str, Rule]) -> Rule:
    """A rule that reads groups, reading those that stay."""

    def read(literal: Literal) -> Literal:
        if not isinstance(literal, Positive) or literal.atom.relation not in stands_for:
            return literal
        before, shared = made_by[literal.atom.relation], stands_for[literal.atom.relation]
        assert before.group is not None
        assert before.group.aggregates is not None
        keys = _keys(before.group)
        named = {
            aggregate_key(each, keys): term
            for each, term in zip(before.group.aggregates, literal.atom.terms[len(keys) :], strict=True)
        }
        behind: list[Term] = [named.get(key, Wildcard()) for key in shared.aggregates]
        terms = (*literal.atom.terms[: len(keys)], *behind)
        return Positive(replace(literal.atom, relation=shared.rule.head.relation, terms=terms))

    return replace(rule, body=tuple(map(read, rule.body)))
