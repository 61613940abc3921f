"""Groups of tuples that a rule makes itself → members with a column for each part, so that no tuple is stored.

    Best(s, g.sum_of(|t| t.1)) :- Sale(i, s, p), var g = (i, p).group_by(s).

    G(s, a#0) :- a#0 = sum of |t| t.1 of M(s, _).     →     G(s, a#0) :- a#0 = sum of |t.0, t.1| t.1 of M(s, _, _).
    M(s, e#0) :- Sale(i, s, p), e#0 = (i, p).               M(s, i, p) :- Sale(i, s, p).

Members are told apart by the same words as before, so nothing else changes. Only groups of which aggregates are kept are
split: a group as a value has its tuples. A database keeps the layout of the version that made it (`Options.layout`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.check import typed
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.rules.analysis.aggregates import rebuilt
from tidelog.rules.ir import (
    Aggregate,
    Assign,
    Column,
    Condition,
    Literal,
    Negative,
    Positive,
    Relation,
    Rule,
    RuleProgram,
    Term,
    Unfold,
    Variable,
    Wildcard,
)
from tidelog.rules.lower.program import SPLIT_LAYOUT, Options

Relations = Mapping[str, Relation]


def split_values(program: RuleProgram, options: Options) -> RuleProgram:
    """Returns the program with a column for each part of the tuples that are grouped."""
    if options.layout < SPLIT_LAYOUT:
        return program
    relations, rules = with_split_values(program.relations, program.rules, program.functions)
    return replace(program, relations=relations, rules=rules)


def with_split_values(
    relations: Relations, rules: Sequence[Rule], functions: CompiledFunctions
) -> tuple[dict[str, Relation], tuple[Rule, ...]]:
    """Does the same for some of the rules of a program; all rules that read their members are among them."""
    grouped: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.group is not None:
            grouped.setdefault(rule.group.atom.relation, []).append(rule)
    changed_relations, changed = dict(relations), {rule.id: rule for rule in rules}
    for rule in rules:
        grouping = grouped.get(rule.head.relation, [])
        if not grouping or any(each.group is None or each.group.aggregates is None for each in grouping):
            continue
        made = _tuple_of(rule)
        if made is None:
            continue
        members, parts = _split_members(rule, *made)
        changed[rule.id] = _shown(members)
        changed_relations[rule.head.relation] = _split_columns(relations[rule.head.relation], parts)
        for each in grouping:
            changed[each.id] = _shown(_split_group(each, parts, functions))
    return changed_relations, tuple(changed.values())


def _shown(rule: Rule) -> Rule:
    from tidelog.rules.show import show_rule

    return replace(rule, text=show_rule(rule))


def _tuple_of(members: Rule) -> tuple[Assign, typed.MakeTuple] | None:
    """Returns the literal that makes the grouped tuple, if nothing else reads it."""
    value = members.head.terms[-1] if members.head.terms else None
    if not isinstance(value, Variable) or value in members.head.terms[:-1]:
        return None
    found = None
    for literal in members.body:
        if isinstance(literal, Assign) and literal.variable == value:
            found = literal
        elif value.name in _mentioned(literal):
            return None
    if found is None or not isinstance(found.expression, typed.MakeTuple) or len(found.expression.items) < 2:
        return None
    return found, found.expression


def _mentioned(literal: Literal) -> frozenset[str]:
    match literal:
        case Assign(expression=expression) | Condition(expression) | Unfold(expression=expression):
            return typed.variables(expression)
        case Positive(atom) | Negative(atom):
            return frozenset(term.name for term in atom.terms if isinstance(term, Variable))
        case _:
            return frozenset()


def _split_members(members: Rule, literal: Assign, made: typed.MakeTuple) -> tuple[Rule, tuple[Variable, ...]]:
    """Returns the rule of the members with a term for each part, and the parts."""
    parts: list[Variable] = []
    assigned: list[Literal] = []
    for place, item in enumerate(made.items):
        if isinstance(item, typed.Var):
            parts.append(Variable(item.name, item.type))
        else:
            parts.append(Variable(f"{literal.variable.name}.{place}", item.type))
            assigned.append(Assign(parts[-1], item))
    body = tuple(each for old in members.body for each in (assigned if old is literal else [old]))
    terms: tuple[Term, ...] = (*members.head.terms[:-1], *parts)
    return replace(members, head=replace(members.head, terms=terms), body=body), tuple(parts)


def _split_columns(relation: Relation, parts: Sequence[Variable]) -> Relation:
    columns = (Column(f"value{place}", part.type) for place, part in enumerate(parts))
    return replace(relation, columns=(*relation.columns[:-1], *columns))


def _split_group(rule: Rule, parts: Sequence[Variable], functions: CompiledFunctions) -> Rule:
    group = rule.group
    assert group is not None
    assert group.aggregates is not None
    atom = replace(group.atom, terms=(*group.atom.terms, *(Wildcard(),) * (len(parts) - 1)))
    keys = [term for term in group.atom.terms if isinstance(term, Variable)]
    aggregates = tuple(_split_aggregate(each, keys, parts, functions) for each in group.aggregates)
    return replace(rule, body=(replace(group, atom=atom, aggregates=aggregates, parts=len(parts)),))


def _split_aggregate(
    aggregate: Aggregate, keys: Sequence[Variable], parts: Sequence[Variable], functions: CompiledFunctions
) -> Aggregate:
    """Returns the aggregate over the parts of a value."""
    (whole,) = aggregate.parameters
    own = tuple(Variable(f"{whole.name}.{place}", part.type) for place, part in enumerate(parts))
    if aggregate.of is None:
        return replace(aggregate, parameters=own)

    def split(node: typed.Expression) -> typed.Expression:
        match node:
            case typed.TupleItem(operand=typed.Var(name=name), index=index, span=span) if name == whole.name:
                return typed.Var(own[index].name, own[index].type, span)
            case typed.Var(name=name, type=type_, span=span) if name == whole.name:
                return typed.MakeTuple(tuple(typed.Var(each.name, each.type, span) for each in own), type_, span)
            case _ if whole.name in typed.variables(node):
                return rebuilt(node, split)
            case _:
                return node

    of = split(aggregate.of)
    names = tuple(each.name for each in (*own, *keys))
    return replace(aggregate, parameters=own, of=of, read=compile_scalar(of, names, functions))
