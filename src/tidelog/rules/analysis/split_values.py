"""Groups of tuples that a rule makes itself → members with a column for each part, so that no tuple is stored.

    Best(s, g.sum_of(|t| t.1)) :- Sale(i, s, p), var g = (i, p).group_by(s).

    G(s, a#0) :- a#0 = sum of |t| t.1 of M(s, _).     →     G(s, a#0) :- a#0 = sum of |t.0, t.1| t.1 of M(s, _, _).
    M(s, e#0) :- Sale(i, s, p), e#0 = (i, p).               M(s, i, p) :- Sale(i, s, p).

    E(s, e#1) :- G(s, a#0), e#1 = a#0.1.                    E(s, e#1) :- G(s, a#0), e#1 = a#0.
    G(s, a#0) :- a#0 = arg_max of |t| t.1 of M(s, _).  →    G(s, a#0) :- a#0 = max of |t.0, t.1| t.1 of M(s, _, _).

Where rules read only that part of the best tuple by which it is the best, the part is kept in its place.

Members are told apart by the same words as before, so nothing else changes. Only groups of which aggregates are kept
are split: a group as a value has its tuples. A database keeps the layout of the version that made it
(`Options.layout`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.check import typed
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.rules.ir import (
    Aggregate,
    AggregateKind,
    Assign,
    Atom,
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
        if not grouping or not all(map(_is_split, grouping)):
            continue
        made = _tuple_of(rule)
        if made is None:
            continue
        members, parts = _split_members(rule, *made)
        changed[rule.id] = _shown(members)
        changed_relations[rule.head.relation] = _split_columns(relations[rule.head.relation], parts)
        for each in grouping:
            split = _split_group(each, parts, functions)
            readers = [other for other in changed.values() if _reads(other, each.head.relation) is not None]
            split, read = _with_parts_of_best(split, readers, functions)
            changed |= {other.id: other if "#" not in other.head.relation else _shown(other) for other in read}
            changed[each.id] = _shown(split)
            changed_relations[each.head.relation] = _group_columns(relations[each.head.relation], split)
    return changed_relations, tuple(changed.values())


def _is_split(rule: Rule) -> bool:
    """True for aggregates of one value, which may be a tuple; those over rows have the columns that they need."""
    return rule.group is not None and rule.group.aggregates is not None and not rule.group.of_rows


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


def _group_columns(relation: Relation, rule: Rule) -> Relation:
    """Returns the relation of a group whose aggregates may have other types now."""
    assert rule.group is not None
    aggregates = rule.group.aggregates or ()
    first = len(relation.columns) - len(aggregates)
    own = (
        replace(old, type=each.variable.type) for old, each in zip(relation.columns[first:], aggregates, strict=True)
    )
    return replace(relation, columns=(*relation.columns[:first], *own))


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
                return typed.Var(own[index].name, type=own[index].type, span=span)
            case typed.Var(name=name, type=type_, span=span) if name == whole.name:
                return typed.MakeTuple(
                    tuple(typed.Var(each.name, type=each.type, span=span) for each in own), type=type_, span=span
                )
            case _ if whole.name in typed.variables(node):
                return typed.rebuilt(node, split)
            case _:
                return node

    of = split(aggregate.of)
    names = tuple(each.name for each in (*own, *keys))
    return replace(aggregate, parameters=own, of=of, read=compile_scalar(of, names, functions))


# Parts of the best tuple


def _with_parts_of_best(
    rule: Rule, readers: Sequence[Rule], functions: CompiledFunctions
) -> tuple[Rule, Sequence[Rule]]:
    """Returns the rule of a group that keeps only the part of a best tuple that is read, and its changed readers."""
    group = rule.group
    assert group is not None
    assert group.aggregates is not None
    first = len(rule.head.terms) - len(group.aggregates)
    kept = []
    for place, aggregate in enumerate(group.aggregates):
        index = _deciding_part(aggregate)
        if index is not None and all(_reads_only(each, rule, first + place, index) for each in readers):
            part = aggregate.parameters[index]
            readers = [_reading_part(each, rule, first + place, part) for each in readers]
            aggregate = _of_part(aggregate, part, rule, functions)
        kept.append(aggregate)
    terms = (*rule.head.terms[:first], *(each.variable for each in kept))
    body = (replace(group, aggregates=tuple(kept)),)
    return replace(rule, head=replace(rule.head, terms=terms), body=body), readers


def _deciding_part(aggregate: Aggregate) -> int | None:
    """Returns which part of a tuple alone decides whether it is the best one, if it is one."""
    match aggregate.kind, aggregate.of:
        case ((AggregateKind.MIN | AggregateKind.MAX), None):
            return 0
        case ((AggregateKind.ARG_MIN | AggregateKind.ARG_MAX), typed.Var(name=name)):
            names = [each.name for each in aggregate.parameters]
            return names.index(name) if name in names else None
        case _:
            return None


def _of_part(aggregate: Aggregate, part: Variable, rule: Rule, functions: CompiledFunctions) -> Aggregate:
    is_least = aggregate.kind in (AggregateKind.MIN, AggregateKind.ARG_MIN)
    assert rule.group is not None
    of = typed.Var(part.name, type=part.type, span=rule.span)
    keys = [term for term in rule.group.atom.terms if isinstance(term, Variable)]
    read = compile_scalar(of, tuple(each.name for each in (*aggregate.parameters, *keys)), functions)
    kind = AggregateKind.MIN if is_least else AggregateKind.MAX
    return replace(aggregate, kind=kind, variable=replace(aggregate.variable, type=part.type), of=of, read=read)


def _reads(rule: Rule, relation: str) -> Atom | None:
    return next((atom for atom in rule.positives if atom.relation == relation), None)


def _reads_only(rule: Rule, group: Rule, column: int, index: int) -> bool:
    """True if a rule reads nothing of the tuple in this column of a group's row but one part."""
    atom = _reads(rule, group.head.relation)
    assert atom is not None
    term = atom.terms[column]
    if isinstance(term, Wildcard):
        return True
    if not isinstance(term, Variable) or term in rule.head.terms:
        return False
    for literal in rule.body:
        match literal:
            case Assign(expression=expression) | Condition(expression) | Unfold(expression=expression):
                if not _takes_only(expression, term.name, index):
                    return False
            case Positive(other) if other is atom:
                if atom.terms.count(term) > 1:
                    return False
            case _ if term.name in _mentioned(literal):
                return False
    return True


def _takes_only(expression: typed.Expression, name: str, index: int) -> bool:
    taken = whole = 0
    for node in typed.walk(expression):
        match node:
            case typed.TupleItem(operand=typed.Var(name=found), index=place) if found == name and place == index:
                taken += 1
            case typed.Var(name=found) if found == name:
                whole += 1
            case typed.SetPlace(place=place_set) if place_set.variable.name == name:
                return False
    return taken == whole


def _reading_part(rule: Rule, group: Rule, column: int, part: Variable) -> Rule:
    """Returns a rule that reads the part from the column in which the tuple was."""
    atom = _reads(rule, group.head.relation)
    assert atom is not None
    term = atom.terms[column]
    if not isinstance(term, Variable):
        return rule
    own = Variable(term.name, part.type)

    def taken(node: typed.Expression) -> typed.Expression:
        match node:
            case typed.TupleItem(operand=typed.Var(name=name), span=span) if name == own.name:
                return typed.Var(own.name, type=own.type, span=span)
            case _ if own.name in typed.variables(node):
                return typed.rebuilt(node, taken)
            case _:
                return node

    def read(literal: Literal) -> Literal:
        match literal:
            case Assign(expression=expression) | Condition(expression) | Unfold(expression=expression):
                return replace(literal, expression=taken(expression))
            case Positive(other) if other is atom:
                terms = (*atom.terms[:column], own, *atom.terms[column + 1 :])
                return Positive(replace(atom, terms=terms))
            case _:
                return literal

    return replace(rule, body=tuple(map(read, rule.body)))
