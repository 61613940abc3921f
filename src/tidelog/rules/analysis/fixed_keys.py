"""A recursive stratum with groups → whether the values of its groups decide nothing but values.

    Cost(p, c)   :- Bought(p, c).
    Cost(p, s)   :- Uses(p, q, n), Cost(q, c), var s = (q, n * c).group_by(p).sum_of(|t| t.1).

Columns that hold the value of a group, or a value computed from one, are *values*; the other columns are *keys*. The
keys are fixed if no literal filters, joins, negates, takes apart or groups by a value. Then the rules without their
values are plain Datalog, and tell which keys there are and which key depends on which, whatever the values.

Where no key depends on itself, the rounds X(i + 1) = F(X(i)) end: a key whose longest chain of dependencies has n steps
has its final rows after n rounds, because they are computed from final rows only. Every state with X = F(X) is that
end, so it may be reached in any order (`engine/local/strata/acyclic`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tidelog.check import typed
from tidelog.diagnostics.spans import Span
from tidelog.rules.ir import (
    Assign,
    Condition,
    Constant,
    Group,
    Kind,
    Negative,
    Positive,
    Relation,
    Rule,
    Stratum,
    Unfold,
    Variable,
)

# Functions that have a value for every group.
_TOTAL = (
    "group::sum_of",
    "group::count",
    "group::arg_m",
    "ddlog_std::group_",
    "ddlog_std::count_distinct",
    "ddlog_std::first",
    "ddlog_std::min(Group",
    "ddlog_std::max(Group",
)


class KeysDependError(Exception):
    """The keys of a stratum depend on its values; `span` and `text` say where and how."""

    def __init__(self, span: Span, text: str) -> None:
        super().__init__(text)
        self.span = span
        self.text = text


def has_fixed_keys(stratum: Stratum, relations: Mapping[str, Relation]) -> bool:
    """True if `require_fixed_keys` finds no obstacle."""
    try:
        require_fixed_keys(stratum, relations)
    except KeysDependError:
        return False
    return True


def require_fixed_keys(stratum: Stratum, relations: Mapping[str, Relation]) -> None:
    """Raises KeysDependError at the first place where a value of a group decides more than a value.

    Linear in the size of the stratum, times the columns that values reach.
    """
    for rule in stratum.rules:
        _refuse_kinds(rule, relations)
    values = value_columns(stratum)
    for rule in stratum.rules:
        _refuse_uses(rule, values)


def value_columns(stratum: Stratum) -> dict[str, set[int]]:
    """Returns the columns of each relation of the stratum that hold values."""
    values: dict[str, set[int]] = {name: set() for name in stratum.relations}
    for rule in stratum.rules:
        if rule.group is not None:
            values[rule.head.relation] |= {*range(_key_count(rule.group), len(rule.head.terms))}
    before = -1
    while before != (before := sum(map(len, values.values()))):
        for rule in stratum.rules:
            found = values_of(rule, values)
            columns = values[rule.head.relation]
            columns |= {
                i for i, term in enumerate(rule.head.terms) if isinstance(term, Variable) and term.name in found
            }
    return values


def _refuse_kinds(rule: Rule, relations: Mapping[str, Relation]) -> None:
    for atom in (rule.head, *rule.atoms):
        relation = relations[atom.relation]
        if relation.kind is not Kind.SET or relation.weighted:
            raise KeysDependError(atom.span, "the weights of these rows are read")
    if rule.group is not None and rule.group.weighted:
        raise KeysDependError(rule.group.atom.span, "the weights of this group are read")


def _key_count(group: Group) -> int:
    return sum(isinstance(term, Variable) for term in group.atom.terms)


def values_of(rule: Rule, values: Mapping[str, set[int]]) -> set[str]:
    """Returns the variables that hold values, as far as values have come."""
    if rule.group is not None:
        return set()
    found = {
        term.name
        for atom in rule.positives
        for column, term in enumerate(atom.terms)
        if isinstance(term, Variable) and column in values.get(atom.relation, ())
    }
    before = -1
    while before != (before := len(found)):
        for literal in rule.body:
            if isinstance(literal, Assign) and typed.variables(literal.expression) & found:
                found.add(literal.variable.name)
    return found


def _refuse_uses(rule: Rule, values: Mapping[str, set[int]]) -> None:
    """Raises KeysDependError where a body does more with a value than to compute another one."""
    if rule.group is not None:
        atom = rule.group.atom
        if any(column < _key_count(rule.group) for column in values[atom.relation]):
            raise KeysDependError(atom.span, "the key of this group is made of a value of a group")
        for each in rule.group.aggregates or ():
            if each.of is not None and _may_fail(each.of):
                raise KeysDependError(each.of.span, "this may fail for some values")
        return
    found = values_of(rule, values)
    places: Counter[str] = Counter()
    for literal in rule.body:
        match literal:
            case Positive(atom):
                places.update(term.name for term in atom.terms if isinstance(term, Variable))
                for column, term in enumerate(atom.terms):
                    if isinstance(term, Constant) and column in values.get(atom.relation, ()):
                        raise KeysDependError(atom.span, "the value is compared with a constant here")
            case Negative(atom):
                if any(isinstance(term, Variable) and term.name in found for term in atom.terms):
                    raise KeysDependError(atom.span, "the value is negated here")
            case Assign(variable, expression):
                places[variable.name] += 1
                if typed.variables(expression) & found and _may_fail(expression):
                    raise KeysDependError(expression.span, "this may fail for some values")
            case Condition(expression):
                if typed.variables(expression) & found:
                    raise KeysDependError(expression.span, "the value is compared here")
            case Unfold(expression=expression):
                if typed.variables(expression) & found:
                    raise KeysDependError(expression.span, "the value is taken apart here")
            case _:
                raise KeysDependError(rule.span, "a transformer reads it")
    for atom in rule.positives:
        for term in atom.terms:
            if isinstance(term, Variable) and term.name in found and places[term.name] > 1:
                raise KeysDependError(atom.span, "the value is joined on here")


def _may_fail(expression: typed.Expression) -> bool:
    """True unless it is known that the expression has a value whatever its variables hold.

    A function of the program may fail for values that only some orders of evaluation meet.
    """
    calls = [node for node in typed.walk(expression) if isinstance(node, typed.Call)]
    return any(
        isinstance(node, typed.CallValue | typed.FunctionValue)
        or (isinstance(node, typed.Binary) and node.op in ("/", "%") and typed.may_fail(node))
        for node in typed.walk(expression)
    ) or not all(each.function.startswith(_TOTAL) for each in calls)
