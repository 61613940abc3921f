"""The sums of a monotone stratum → columns whose largest values bound them (`bounds`).

Kernels add up words and do not look whether a sum overflows. Where a cost and its addends stand in columns, or are
constants, their largest values are enough. Where they are computed, the rule is cut in front of its sums:

    Way(m, d + 2 * l) :- Best(n, d), Edge(n, m, l).     →    Way#sums0(m, d, a) :- Best(n, d), Edge(n, m, l), a = 2 * l.
                                                             Way(m, d + a) :- Way#sums0(m, d, a).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.check import typed
from tidelog.rules.analysis.monotone import Monotone, MonotoneRule, WatchedSum
from tidelog.rules.analysis.scaled_sums import total_of
from tidelog.rules.ir import Assign, Atom, Condition, Literal, Negative, Positive, Rule, Unfold, Variable
from tidelog.types import BitType, ScaledType, SignedType, Type, integer_range

Place = tuple[str, int]
"""A column of a relation."""
Typed = tuple[Place, Type]
"""A column and its type."""


@dataclass(frozen=True, slots=True)
class BoundedSum:
    """A sum of a cost, which stands in a column of all rows, of constants, and of addends in columns.

    `below` are addends in relations of lower strata, `inside` those in relations that `CheckedSums` made.
    """

    cost: Typed
    type: Type
    constant: int
    below: tuple[Typed, ...]
    inside: tuple[Typed, ...]
    falls: bool


class CheckedSums:
    """The rules over all rows, cut where their sums need it. `relations` are those between the parts, with the types of
    their columns."""

    def __init__(self, monotone: Monotone, inside: set[str]) -> None:
        self._inside = inside
        self.rules: list[Rule] = []
        self.sums: list[BoundedSum] = []
        self.relations: dict[str, tuple[Type, ...]] = {}
        for each in monotone.rules:
            found = [self._bounded(each.rule, one) for one in each.sums]
            sums = [one for one in found if one is not None]
            if len(sums) < len(found):
                self._cut(each)
            else:
                self.rules.append(without_addends(each))
                self.sums += sums

    def _bounded(self, rule: Rule, each: WatchedSum) -> BoundedSum | None:
        """Returns the sum, if its cost stands in a column of the recursion and its addends below it."""
        assigned = _assigned(rule)
        cost = _place(rule, each.cost.name, assigned)
        if cost is None or cost[0] not in self._inside:
            return None
        constant = 0
        below = []
        for variable in each.addends:
            expression = _bare(assigned[variable.name])
            if isinstance(expression, typed.Lit) and isinstance(expression.value, int):
                constant += expression.value
            elif isinstance(expression, typed.Var):
                place = _place(rule, expression.name, assigned)
                if place is None or place[0] in self._inside:
                    return None
                below.append((place, _type_of(rule, place)))
            elif not isinstance(expression, typed.Lit):
                return None
        return BoundedSum((cost, _type_of(rule, cost)), each.type, constant, tuple(below), (), each.falls)

    def _cut(self, each: MonotoneRule) -> None:
        """Adds the two parts of a rule, and its sums."""
        addends = {addend.name for one in each.sums for addend in one.addends}
        behind = _behind_sums(each, addends)
        first = tuple(literal for literal in each.rule.body if literal not in behind)
        second = tuple(_with_parts(literal, each.sums) for literal in behind)
        wanted = {term.name for term in each.rule.head.terms if isinstance(term, Variable)}
        for literal in second:
            assert isinstance(literal, Assign | Condition | Unfold)
            wanted |= typed.variables(literal.expression)
        wanted |= {one.cost.name for one in each.sums} | addends
        terms = tuple(variable for name, variable in sorted(_bound(first).items()) if name in wanted)
        name = f"{each.rule.head.relation}#sums{len(self.relations)}"
        atom = Atom(name, terms, each.rule.head.span)
        self.relations[name] = tuple(term.type for term in terms)
        self.rules.append(replace(each.rule, head=atom, body=first))
        self.rules.append(replace(each.rule, body=(Positive(atom), *second)))
        column = {term.name: place for place, term in enumerate(terms)}
        for one in each.sums:
            inside = tuple(((name, column[addend.name]), addend.type) for addend in one.addends)
            cost = (name, column[one.cost.name]), one.cost.type
            self.sums.append(BoundedSum(cost, one.type, 0, (), inside, one.falls))


def without_addends(each: MonotoneRule) -> Rule:
    """Returns the rule without the variables of its sums' addends."""
    names = {addend.name for one in each.sums for addend in one.addends}
    if not names:
        return each.rule
    body = tuple(
        literal for literal in each.rule.body if not (isinstance(literal, Assign) and literal.variable.name in names)
    )
    return replace(each.rule, body=body)


def _behind_sums(each: MonotoneRule, addends: set[str]) -> list[Literal]:
    """Returns the literals of a rule that need its sums, in their order."""
    sums = {id(one.expression) for one in each.sums}
    found: list[Literal] = []
    made: set[str] = set()
    before = -1
    while before != (before := len(found)):  # an assignment may stand behind those that read it
        found = []
        for literal in each.rule.body:
            if isinstance(literal, Assign) and literal.variable.name in addends:
                continue
            if isinstance(literal, Assign | Condition | Unfold) and (
                typed.variables(literal.expression) & made
                or any(id(node) in sums for node in typed.walk(literal.expression))
            ):
                found.append(literal)
                made |= _made_by(literal).keys()
    return found


def _with_parts(literal: Literal, sums: tuple[WatchedSum, ...]) -> Literal:
    """Returns the literal with sums of variables in the place of sums."""
    by_expression = {id(one.expression): one for one in sums}

    def exchange(node: typed.Expression) -> typed.Expression:
        one = by_expression.get(id(node))
        if one is None:
            return typed.rebuilt(node, exchange)
        total: typed.Expression = typed.Var(one.cost.name, type=one.cost.type, span=node.span)
        added = tuple(typed.Var(addend.name, type=addend.type, span=node.span) for addend in one.addends)
        if isinstance(one.type, ScaledType):
            return total_of(total, added, node.type)
        for addend in added:
            total = typed.Binary("+", total, addend, type=one.type, span=node.span)
        return total

    assert isinstance(literal, Assign | Condition | Unfold)
    return replace(literal, expression=exchange(literal.expression))


def _bound(body: tuple[Literal, ...]) -> dict[str, Variable]:
    """Returns the variables that literals bind, by their names."""
    found: dict[str, Variable] = {}
    for literal in body:
        match literal:
            case Positive(atom):
                found |= {term.name: term for term in atom.terms if isinstance(term, Variable)}
            case Negative():
                pass
            case _:
                found |= _made_by(literal)
    return found


def _made_by(literal: Literal) -> dict[str, Variable]:
    match literal:
        case Assign(variable):
            return {variable.name: variable}
        case Unfold(variables):
            return {variable.name: variable for variable in variables}
        case _:
            return {}


def _assigned(rule: Rule) -> dict[str, typed.Expression]:
    return {literal.variable.name: literal.expression for literal in rule.body if isinstance(literal, Assign)}


def _place(rule: Rule, name: str, assigned: Mapping[str, typed.Expression]) -> Place | None:
    """Returns the column of a positive literal in which a variable stands, or the one that it is assigned."""
    while name in assigned:
        expression = _bare(assigned[name])
        if not isinstance(expression, typed.Var):
            return None
        name = expression.name
    for atom in rule.positives:
        for column, term in enumerate(atom.terms):
            if isinstance(term, Variable) and term.name == name:
                return atom.relation, column
    return None


def _type_of(rule: Rule, place: Place) -> Type:
    """Returns the type of the variable that stands in a column."""
    for atom in rule.positives:
        if atom.relation == place[0] and isinstance(term := atom.terms[place[1]], Variable):
            return term.type
    raise AssertionError(f"no variable stands in {place}")


def _bare(expression: typed.Expression) -> typed.Expression:
    """Returns the expression inside casts that change no value, or that only make it the integer of its unit."""
    while isinstance(expression, typed.Cast | typed.Units):
        if isinstance(expression, typed.Units):
            if not isinstance(expression.operand.type, ScaledType):
                break
            expression = expression.operand
            continue
        given, wanted = expression.operand.type, expression.type
        if not isinstance(given, BitType | SignedType) or not isinstance(wanted, BitType | SignedType):
            break
        (low, high), (lowest, highest) = integer_range(given), integer_range(wanted)
        if low < lowest or high > highest:
            break
        expression = expression.operand
    return expression
