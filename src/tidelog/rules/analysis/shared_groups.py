"""Groups with the same members → one group that has the aggregates of all of them, and one relation of members for
groups whose keys are part of one another: levels of detail, as the leapfrog paper (2.3.3) has them.

    Least(s, p.group_by(s).min()) :- Sale(s, _, p).       G(s, a#0, a#1) :- a#0 = min, a#1 = count of M(s, _).
    Number(t, q.group_by(t).count_distinct()) :-     →    Least(s, e#0) :- G(s, a#0, _), e#0 = a#0.
        Sale(t, _, q).                                    Number(t, e#0) :- G(t, _, a#0), e#0 = a#0.

    Most(s, p.group_by(s).max()) :- Sale(s, _, p).        G(s, a#0) :- a#0 = max of distinct M(s, _, _).
    Each(s, i, p.group_by((s, i)).max()) :-          →    H(s, i, a#0) :- a#0 = max of M(s, i, _).
        Sale(s, i, p).                                    M(s, i, p) :- Sale(s, i, p).

Two groups have the same members if their values and the literals before `group_by` are equal up to the names of
variables. Key columns are ordered so that each key of a chain is a prefix of the next. Only the rules that a program
has from the start share groups: a rule added later must not depend on one that may be removed. Aggregates that may fail
are shared only where all the groups have them: a removed rule must not fail any more. Aggregates over rows share
nothing: their members tell all combinations of rows apart, and mostly are a copy that nobody stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.check import typed
from tidelog.check.rule.same_rule import RuleKey, structure_key
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.rules import ir
from tidelog.rules.analysis.aggregates import aggregate_key


@dataclass(slots=True)
class _Shared:
    """A group that stays: its rule, and the aggregates that it gets."""

    rule: ir.Rule
    aggregates: dict[RuleKey, ir.Aggregate] = field(default_factory=dict)


@dataclass(slots=True)
class _Level:
    """The groups with one key over the same members. `keys` are the numbers of the key's variables in the body."""

    members: ir.Rule
    keys: tuple[Any, ...]
    groups: list[_Shared] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a group finds its members: the rule that makes them, which of the columns of its own key comes where, and
    how many columns stand behind these for finer keys alone."""

    members: ir.Rule
    order: tuple[int, ...]
    finer: int


def shared_groups(program: ir.RuleProgram) -> ir.RuleProgram:
    """Returns the program with one group for all that have the same members, and one relation of members for all whose
    keys are part of one another."""
    from tidelog.rules.show import show_rule

    relations, rules = program.relations, program.rules
    made_by = {rule.head.relation: rule for rule in rules}
    levels, stands_for = _find_levels(relations, rules, made_by)
    places: dict[str, _Place] = {}
    members: dict[str, tuple[ir.Rule, tuple[int, ...]]] = {}
    for chain in _chains(levels):
        order = _order(chain)
        kept, columns = _members_of(chain[0], order)
        members[kept.head.relation] = kept, columns
        for level in chain:
            place = _place(level, kept, order)
            places |= {each.rule.head.relation: place for each in level.groups}
    dropped = {name for name, each in stands_for.items() if each.rule.head.relation != name}
    dropped |= {_members(made_by[name]) for name in stands_for} - {*members}
    if not dropped:
        return program
    changed_relations = {name: relation for name, relation in relations.items() if name not in dropped}
    changed = []
    for rule in rules:
        name = rule.head.relation
        if name in dropped:
            continue
        if name in stands_for:
            rule = _grouping(stands_for[name], places[name], program.functions)
            made = [ir.Column(f"a{place}", term.type) for place, term in enumerate(_aggregated(rule))]
            changed_relations[name] = _with_columns(relations[name], places[name].order, made)
        elif name in members:
            rule, columns = members[name]
            changed_relations[name] = _with_columns(relations[name], columns)
        else:
            rule = _reading(rule, stands_for, places, made_by)
        changed.append(replace(rule, text=show_rule(rule)) if "#" in rule.head.relation else rule)
    return replace(program, relations=changed_relations, rules=tuple(changed))


# What may be shared


def _find_levels(
    relations: Mapping[str, ir.Relation], rules: Sequence[ir.Rule], made_by: Mapping[str, ir.Rule]
) -> tuple[dict[RuleKey, list[_Level]], dict[str, _Shared]]:
    """Returns the levels by what they group, and the group that stands for each of those that there were."""
    levels: dict[RuleKey, list[_Level]] = {}
    stands_for: dict[str, _Shared] = {}
    for rule in rules:
        group = rule.group
        if group is None or group.aggregates is None or group.of_rows:
            continue
        members = made_by[group.atom.relation]
        grouped, keys = _grouped(members, group, relations)
        found = levels.setdefault(grouped, [])
        level = next((each for each in found if each.keys == keys), None)
        if level is None:
            level = _Level(members, keys)
            found.append(level)
        own = {aggregate_key(each, _keys(group)): each for each in group.aggregates}
        fitting = next((each for each in level.groups if _fits(own, each.aggregates)), None)
        if fitting is None:
            fitting = _Shared(rule, {})
            level.groups.append(fitting)
        for key, each in own.items():
            variable = ir.Variable(f"a#{len(fitting.aggregates)}", each.variable.type)
            fitting.aggregates.setdefault(key, replace(each, variable=variable))
        stands_for[rule.head.relation] = fitting
    return levels, stands_for


def _grouped(
    members: ir.Rule, group: ir.Group, relations: Mapping[str, ir.Relation]
) -> tuple[RuleKey, tuple[Any, ...]]:
    """Returns the key of the grouped body up to names, and the group's key columns. A wildcard is a variable that
    nothing reads."""
    unread = 0
    body: list[ir.Literal] = []
    for literal in members.body:
        if isinstance(literal, ir.Positive):
            terms: list[ir.Term] = []
            for term, column in zip(literal.atom.terms, relations[literal.atom.relation].columns, strict=True):
                if isinstance(term, ir.Wildcard):
                    term, unread = ir.Variable(f"#{unread}", column.type), unread + 1
                terms.append(term)
            literal = ir.Positive(replace(literal.atom, terms=tuple(terms)))
        body.append(literal)
    ((of, terms_of),) = structure_key((tuple(body), members.head.terms))
    keys = terms_of[: len(_keys(group))]
    # The weights of a stream's members are added up, which no finer ones say.
    apart = keys if relations[members.head.relation].kind is ir.Kind.STREAM else ()
    return (of, terms_of[-1], apart), keys


def _fits(own: Mapping[RuleKey, ir.Aggregate], others: Mapping[RuleKey, ir.Aggregate]) -> bool:
    """True if all that may fail is in both."""
    apart = {**own, **others}
    return not any(_may_fail(each) for key, each in apart.items() if key not in own or key not in others)


def _may_fail(aggregate: ir.Aggregate) -> bool:
    return aggregate.of is not None and typed.may_fail(aggregate.of)


def _chains(levels: Mapping[RuleKey, Sequence[_Level]]) -> Iterator[list[_Level]]:
    """Yields the levels that share members, from the finest key to the coarsest."""
    for alike in levels.values():
        chains: list[list[_Level]] = []
        for level in sorted(alike, key=lambda each: -len(each.keys)):
            fitting = next((chain for chain in chains if {*level.keys} <= {*chain[-1].keys}), None)
            if fitting is None:
                chains.append([level])
            else:
                fitting.append(level)
        yield from chains


def _order(chain: Sequence[_Level]) -> tuple[Any, ...]:
    """Returns the key of the members of a chain: that of the coarsest level first, then what each finer one adds."""
    return tuple(sorted(chain[0].keys, key=lambda key: -sum(key in level.keys for level in chain)))


def _members_of(finest: _Level, order: tuple[Any, ...]) -> tuple[ir.Rule, tuple[int, ...]]:
    """Returns the rule of the members with its key in this order, and which of its columns comes where."""
    head = finest.members.head
    count = len(order)
    columns = (*(finest.keys.index(key) for key in order), *range(count, len(head.terms)))
    terms = tuple(head.terms[column] for column in columns)
    return replace(finest.members, head=replace(head, terms=terms)), columns


def _place(level: _Level, members: ir.Rule, order: tuple[Any, ...]) -> _Place:
    count = len(level.keys)
    # Where equal values are kept apart, what they differ in is in the members of every level.
    is_apart = len(level.members.head.terms) > count + 1
    own = tuple(level.keys.index(key) for key in order[:count])
    return _Place(members, own, 0 if is_apart else len(order) - count)


# The rules as they are then


def _keys(group: ir.Group) -> tuple[ir.Variable, ...]:
    return tuple(term for term in group.atom.terms if isinstance(term, ir.Variable))


def _members(rule: ir.Rule) -> str:
    assert rule.group is not None
    return rule.group.atom.relation


def _aggregated(rule: ir.Rule) -> tuple[ir.Variable, ...]:
    assert rule.group is not None
    assert rule.group.aggregates is not None
    return tuple(each.variable for each in rule.group.aggregates)


def _with_columns(relation: ir.Relation, places: Sequence[int], made: Sequence[ir.Column] = ()) -> ir.Relation:
    return replace(relation, columns=(*(relation.columns[place] for place in places), *made))


def _grouping(shared: _Shared, place: _Place, functions: CompiledFunctions) -> ir.Rule:
    """Returns the rule of a group that stays, with all aggregates, over the members that stay."""
    rule, group = shared.rule, shared.rule.group
    assert group is not None
    written = _keys(group)
    keys = tuple(written[column] for column in place.order)
    aggregates = tuple(shared.aggregates.values())
    if keys != written:
        aggregates = tuple(_read_with(each, keys, functions) for each in aggregates)
    head = place.members.head
    atom = ir.Atom(head.relation, (*keys, *(ir.Wildcard(),) * (len(head.terms) - len(keys))), group.atom.span)
    literal = replace(group, atom=atom, aggregates=aggregates, finer=place.finer)
    terms = (*keys, *(each.variable for each in aggregates))
    return replace(rule, head=replace(rule.head, terms=terms), body=(literal,))


def _read_with(aggregate: ir.Aggregate, keys: Sequence[ir.Variable], functions: CompiledFunctions) -> ir.Aggregate:
    """Returns the aggregate of a group whose keys come in this order."""
    if aggregate.of is None:
        return aggregate
    names = tuple(each.name for each in (*aggregate.parameters, *keys))
    return replace(aggregate, read=compile_scalar(aggregate.of, names, functions))


def _reading(
    rule: ir.Rule, stands_for: Mapping[str, _Shared], places: Mapping[str, _Place], made_by: Mapping[str, ir.Rule]
) -> ir.Rule:
    """Returns a rule that reads groups, reading those that stay."""

    def read(literal: ir.Literal) -> ir.Literal:
        if not isinstance(literal, ir.Positive) or literal.atom.relation not in stands_for:
            return literal
        before, shared = made_by[literal.atom.relation], stands_for[literal.atom.relation]
        assert before.group is not None
        assert before.group.aggregates is not None
        keys = _keys(before.group)
        named = {
            aggregate_key(each, keys): term
            for each, term in zip(before.group.aggregates, literal.atom.terms[len(keys) :], strict=True)
        }
        name = shared.rule.head.relation
        own = [literal.atom.terms[column] for column in places[name].order]
        behind: list[ir.Term] = [named.get(key, ir.Wildcard()) for key in shared.aggregates]
        return ir.Positive(replace(literal.atom, relation=name, terms=(*own, *behind)))

    return replace(rule, body=tuple(map(read, rule.body)))
