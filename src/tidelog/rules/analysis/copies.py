"""Hidden relations of groups and members that are copies of others → where their rows are, so that nobody stores them.

    M(s, i, p) :- Sale(i, s, p).               M is a copy of Sale, with its columns in another order
    G(s, a#0) :- a#0 = max of M(s, _, _).      G is a copy of Most, which has no other rule
    Most(s, e#0) :- G(s, a#0), e#0 = a#0.

An engine that reads the members from `Sale` and writes the groups into `Most` needs neither M nor G. The program stays
as it is: the names and columns of its relations are those of every database, and only the engine knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.check import typed
from tidelog.rules.ir import (
    Assign,
    Group,
    Kind,
    Positive,
    Relation,
    Role,
    Rule,
    RuleProgram,
    Term,
    Variable,
)


@dataclass(frozen=True, slots=True)
class Copy:
    """The relation that has the rows of a copy, and which of its columns each column of the copy is."""

    of: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of a program, and for each relation that has the rows of groups, the rule that makes them."""

    places: Mapping[str, Copy] = field(default_factory=dict)
    grouping: Mapping[str, Rule] = field(default_factory=dict)


def find_copies(program: RuleProgram) -> Copies:
    """Returns the hidden relations whose rows are in other relations, too: members and groups of aggregates."""
    grouping = [rule for rule in program.rules if rule.group is not None and rule.group.aggregates is not None]
    if not grouping:
        return Copies()
    made_by: dict[str, list[Rule]] = {}
    read_by: dict[str, list[Rule]] = {}
    for rule in program.rules:
        made_by.setdefault(rule.head.relation, []).append(rule)
        for atom in rule.atoms:
            read_by.setdefault(atom.relation, []).append(rule)
    watched = {each.relation for each in program.inspections}
    watched |= {name for feed in program.feeds for name in (feed.relation, feed.source)}
    recursive = {name for stratum in program.strata if stratum.recursive for name in stratum.relations}
    plain = {
        name
        for name, relation in program.relations.items()
        if relation.kind is Kind.SET and not relation.weighted and name not in watched
    }
    found: dict[str, Copy] = {}
    made: dict[str, Rule] = {}
    kept: set[str] = set()
    for rule in grouping:
        assert rule.group is not None
        members, groups = rule.group.atom.relation, rule.head.relation
        if groups in recursive or not {members, groups} <= plain:
            continue
        copy = _of_result(program.relations, groups, made_by, read_by.get(groups, ()))
        if copy is not None and copy.of in plain and copy.of not in found and groups not in kept:
            found[groups], made[copy.of] = copy, rule
            kept.add(copy.of)
        copy = _of_source(made_by.get(members, ())) if all(map(_aggregates, read_by[members])) else None
        if copy is not None and copy.of in plain and copy.of not in found and members not in kept:
            found[members] = copy
            kept.add(copy.of)
    return Copies(found, made)


def _aggregates(rule: Rule) -> bool:
    return isinstance(rule.group, Group) and rule.group.aggregates is not None


def _of_source(rules: Sequence[Rule]) -> Copy | None:
    """Returns what the members are a copy of, if their only rule takes all columns of one relation."""
    if len(rules) != 1 or len(rules[0].body) != 1 or rules[0].maintain:
        return None
    (literal,) = rules[0].body
    if not isinstance(literal, Positive):
        return None
    taken, terms = literal.atom.terms, rules[0].head.terms
    if not _are_distinct_variables(taken) or not _are_distinct_variables(terms) or {*taken} != {*terms}:
        return None
    return Copy(literal.atom.relation, tuple(taken.index(term) for term in terms))


def _of_result(
    relations: Mapping[str, Relation], groups: str, made_by: Mapping[str, Sequence[Rule]], readers: Sequence[Rule]
) -> Copy | None:
    """Returns what the groups are a copy of, if the only rule that reads them is the only one of its head, and changes
    nothing."""
    if len(readers) != 1:
        return None
    (rule,) = readers
    name = rule.head.relation
    if len(made_by[name]) != 1 or relations[name].role is Role.INPUT or rule.maintain:
        return None
    atom, same = None, dict[str, Term]()
    for literal in rule.body:
        match literal:
            case Positive(found) if atom is None and found.relation == groups:
                atom = found
            case Assign(variable, typed.Var(name=of)) if of not in same:
                same[variable.name] = Variable(of, variable.type)
            case _:
                return None
    terms = tuple(same.get(term.name, term) if isinstance(term, Variable) else term for term in rule.head.terms)
    if atom is None or not _are_distinct_variables(atom.terms) or terms != atom.terms:
        return None
    return Copy(name, tuple(range(len(terms))))


def _are_distinct_variables(terms: Sequence[Term]) -> bool:
    return all(isinstance(term, Variable) for term in terms) and len({*terms}) == len(terms)
