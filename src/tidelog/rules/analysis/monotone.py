"""A recursive stratum with groups → the stratum to run, if its `min`s and `max`es only ever improve.

    Candidate(m, d + l) :- Best(n, d), Edge(n, m, l).
    Best(n, m)          :- Candidate(n, c), var m = c.group_by(n).min().

Each group of the stratum may only be read through its `min` (or its `max`). Columns that hold such a value, or a value
computed from one, are *costs*. The stratum is monotone when better costs in the body of a rule never make its head
worse and never delete it: costs pass only through expressions with a direction (`expression_direction.py`) and through
lasting conditions; no literal joins on them, groups by them, negates them or compares them for equality. A cycle of
costs must pass through a group: otherwise a copy of a cost that is no longer the best could derive itself.

Then the rounds X(i + 1) = F(X(i)) climb to the least fixpoint, however it is reached
(`docs/decisions/0028-min-and-max-in-recursion.md`). To run, the group is a relation of keys and best values; its rows
are those of the members that were the best when they were inserted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TypeGuard

from tidelog.check import typed
from tidelog.diagnostics.spans import Span
from tidelog.rules import ir
from tidelog.rules.analysis.expression_direction import (
    FALLS,
    RISES,
    STAYS,
    Directions,
    NotMonotoneError,
    Order,
    Part,
)
from tidelog.rules.analysis.scaled_sums import has_range, total_of
from tidelog.types import ScaledType, TupleType, Type

_DIRECTIONS = {
    "ddlog_std::min(Group<'K, 'V>)": FALLS,
    "ddlog_std::group_min": FALLS,
    "ddlog_std::max(Group<'K, 'V>)": RISES,
    "ddlog_std::group_max": RISES,
}
_BY_PART = {"group::arg_min": FALLS, "group::arg_max": RISES}
_BEST = "best#"
_PART = "part#"


@dataclass(frozen=True, slots=True)
class Best:
    """A group: for each key, which is the first `keys` columns of `members`, the best of their last one, `value`.

    In the rules to run, `relation` has the key and that value. `order` is that of tuples that are not compared from the
    first part on; then the smallest in that order is the best.
    """

    relation: str
    members: str
    keys: int
    value: int
    type: Type
    smallest: bool
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class WatchedSum:
    """`cost` plus the addends, all variables of one rule; the caller makes sure that the type has room.

    `expression` is the sum as it stands in the rule: that of dates, times and decimals is one of integers there.
    """

    cost: ir.Variable
    addends: tuple[ir.Variable, ...]
    type: Type
    falls: bool
    expression: typed.Expression


@dataclass(frozen=True, slots=True)
class MonotoneRule:
    """A rule to run, with its sums; their addends are assigned at the end of its body."""

    rule: ir.Rule
    sums: tuple[WatchedSum, ...]


@dataclass(frozen=True, slots=True)
class Monotone:
    """What to run. `costs` are the columns of costs, but for the groups: each relation after those that it reads."""

    rules: tuple[MonotoneRule, ...]
    bests: tuple[Best, ...]
    costs: Mapping[str, frozenset[int]]


def find_monotone(stratum: ir.Stratum, relations: Mapping[str, ir.Relation]) -> Monotone:
    """Returns the form to run of a recursive stratum with groups. Raises NotMonotoneError at the first obstacle.

    Linear in the size of the stratum, times the columns that costs reach.
    """
    return _Search(stratum, relations).result()


def find_bests(stratum: ir.Stratum, relations: Mapping[str, ir.Relation]) -> tuple[Best, ...]:
    """Returns the groups of a recursive stratum that are only read through their best value, monotone or not.

    Raises NotMonotoneError if one is read in another way.
    """
    return _Search(stratum, relations).bests()


def is_monotone(stratum: ir.Stratum, relations: Mapping[str, ir.Relation]) -> bool:
    """True if `find_monotone` finds what to run."""
    try:
        find_monotone(stratum, relations)
    except NotMonotoneError:
        return False
    return True


class _Search:
    def __init__(self, stratum: ir.Stratum, relations: Mapping[str, ir.Relation]) -> None:
        self._inside = frozenset(stratum.relations)
        self._relations = relations
        self._groups = {rule.head.relation: rule for rule in stratum.rules if rule.group is not None}
        self._rules = [rule for rule in stratum.rules if rule.group is None]
        self._directions: dict[str, int] = {}
        self._orders: dict[Type, Order | None] = {}
        # Columns that move, with their directions, in the order in which they were found.
        self._costs: dict[str, dict[int, int]] = {name: {} for name in stratum.relations}
        # Relations whose rows are compared by one such column after another.
        self._in_order: set[str] = set()

    def result(self) -> Monotone:
        self._refuse_kinds()
        rules = [self._with_parts(self._with_best(rule)) for rule in self._rules]
        bests = tuple(self._best(name, rule) for name, rule in self._groups.items())
        self._spread(rules)
        for best in bests:
            self._require_key(best)
        found = [self._directions_of(rule) for rule in rules]
        for rule, directions in zip(rules, found):
            self._move_head(rule, directions)
        self._refuse_mixtures(found)
        return Monotone(tuple(map(_watched, rules, found)), bests, self._order(rules))

    def bests(self) -> tuple[Best, ...]:
        self._refuse_kinds()
        for rule in self._rules:
            self._with_best(rule)
        return tuple(self._best(name, rule) for name, rule in self._groups.items())

    def _refuse_kinds(self) -> None:
        for rule in (*self._rules, *self._groups.values()):
            if self._relations[rule.head.relation].kind is not ir.Kind.SET:
                raise NotMonotoneError(rule.head.span, "this is not a set")
            if rule.group is not None and rule.group.weighted:
                raise NotMonotoneError(rule.group.atom.span, "the weights of this group are read")
            if rule.group is not None and rule.group.aggregates is not None:
                raise self._aggregated(rule.head.relation, rule.group)

    def _aggregated(self, name: str, group: ir.Group) -> NotMonotoneError:
        """Makes the error for a group of which a sum or a count is kept; its span is that of the expression."""
        if group.of_rows:
            return NotMonotoneError(group.atom.span, "only a `min` or `max` of one value can be monotone")
        kept = {each.variable.name for each in group.aggregates or ()}
        for rule in self._rules:
            for literal in rule.body if any(atom.relation == name for atom in rule.positives) else ():
                if isinstance(literal, ir.Condition | ir.Assign | ir.Unfold):
                    expression = literal.expression
                    if kept & typed.variables(expression):
                        return NotMonotoneError(expression.span, "the group is asked for more than its `min` or `max`")
        return NotMonotoneError(group.atom.span, "this group was in no recursion when its rule came")

    # Groups as their best values

    def _with_best(self, rule: ir.Rule) -> ir.Rule:
        """Returns the rule with the best value in the place of each group that it reads."""
        body = list(rule.body)
        for place, literal in enumerate(rule.body):
            if isinstance(literal, ir.Positive) and literal.atom.relation in self._groups:
                atom = literal.atom
                group = atom.terms[-1]
                assert isinstance(group, ir.Variable)
                type_ = self._value_type(atom.relation)
                best = ir.Variable(f"{_BEST}{place}", type_)
                body[place] = ir.Positive(replace(atom, terms=(*atom.terms[:-1], best)))
                for other, each in enumerate(body):
                    if isinstance(each, ir.Condition | ir.Assign | ir.Unfold) and group.name in typed.variables(
                        each.expression
                    ):
                        body[other] = replace(
                            each, expression=self._with_best_value(each.expression, atom, group.name, best)
                        )
        return replace(rule, body=tuple(body))

    def _with_best_value(
        self, expression: typed.Expression, atom: ir.Atom, group: str, best: ir.Variable
    ) -> typed.Expression:
        """Returns the expression with a variable in the place of `min(group)` or `max(group)`."""

        def exchange(node: typed.Expression) -> typed.Expression:
            if isinstance(node, typed.Call) and node.function in (*_DIRECTIONS, *_BY_PART):
                argument, *by = node.arguments
                if isinstance(argument, typed.Var) and argument.name == group:
                    self._ask(node, by, atom.relation, best.type)
                    return typed.Var(best.name, type=best.type, span=node.span)
            if isinstance(node, typed.Var) and node.name == group:
                raise NotMonotoneError(expression.span, "the group is asked for more than its `min` or `max`")
            return typed.rebuilt(node, exchange)

        return exchange(expression)

    def _ask(self, node: typed.Call, by: Sequence[typed.Expression], group: str, type_: Type) -> None:
        """Notes what a group is asked for, and the order of its values."""
        direction, order = _DIRECTIONS.get(node.function, FALLS), None
        if by:
            direction, order = self._order_by(node, by[0], group, type_)
        if self._directions.setdefault(group, direction) != direction:
            raise NotMonotoneError(node.span, "both `min` and `max` of this group are asked for")
        if self._orders.setdefault(type_, order) != order:
            raise NotMonotoneError(node.span, f"values of type {type_} are compared in two orders")

    def _order_by(self, node: typed.Call, by: typed.Expression, group: str, type_: Type) -> tuple[int, Order | None]:
        """Returns the direction and the order of `arg_min` or `arg_max`; the smallest of several values is the best."""
        direction = _BY_PART[node.function]
        literal = self._groups[group].group
        assert literal is not None
        if sum(not isinstance(term, ir.Variable) for term in literal.atom.terms) > 1:
            raise NotMonotoneError(node.span, "the first of several values is told by what is not in the group")
        match by:
            case typed.Closure((parameter,), typed.Var(name)) if name == parameter.name:
                return direction, None
            case typed.Closure((parameter,), typed.TupleItem(typed.Var(name), index)) if name == parameter.name:
                assert isinstance(type_, TupleType)
                others = tuple((each, FALLS) for each in range(len(type_.items)) if each != index)
                is_usual = index == 0 and direction == FALLS
                return FALLS, None if is_usual else ((index, direction), *others)
            case _:
                raise NotMonotoneError(by.span, "only a part of a tuple may decide which value is the best")

    # Tuples as their parts

    def _with_parts(self, rule: ir.Rule) -> ir.Rule:
        """Returns the rule with a variable for each part of a tuple of the recursion that it reads."""
        tuples = {
            term.name
            for atom in rule.positives
            if atom.relation in self._inside
            for term in atom.terms
            if isinstance(term, ir.Variable) and isinstance(term.type, TupleType)
        }
        assigned: dict[tuple[str, int], ir.Assign] = {}

        def part(whole: typed.Var, index: int, span: Span) -> typed.Var:
            assert isinstance(whole.type, TupleType)
            type_ = whole.type.items[index]
            known = assigned.get((whole.name, index))
            if known is None:
                variable = ir.Variable(f"{_PART}{whole.name}.{index}", type_)
                known = ir.Assign(variable, typed.TupleItem(whole, index, type=type_, span=span))
                assigned[whole.name, index] = known
                if isinstance(type_, TupleType):
                    tuples.add(variable.name)
            return typed.Var(known.variable.name, type=type_, span=span)

        def exchange(node: typed.Expression) -> typed.Expression:
            node = typed.rebuilt(node, exchange)
            if (
                isinstance(node, typed.TupleItem)
                and isinstance(node.operand, typed.Var)
                and node.operand.name in tuples
            ):
                return part(node.operand, node.index, node.span)
            return node

        body: list[ir.Literal] = []
        for assign in _in_order(rule):
            if isinstance(assign.expression, typed.Var) and assign.expression.name in tuples:
                tuples.add(assign.variable.name)
        for literal in rule.body:
            match literal:
                case ir.Unfold(_, pattern, typed.Var(name) as whole, False) if name in tuples and _always_fits(pattern):
                    body += [
                        ir.Assign(ir.Variable(own.name, own.type), part(whole, index, own.span))
                        for index, own in enumerate(pattern.items)
                        if isinstance(own, typed.BindPattern)
                    ]
                case ir.Condition() | ir.Assign() | ir.Unfold():
                    body.append(replace(literal, expression=exchange(literal.expression)))
                case _:
                    body.append(literal)
        return replace(rule, body=(*body, *assigned.values()))

    def _value_type(self, group: str) -> Type:
        literal = self._groups[group].group
        assert literal is not None
        return self._relations[literal.atom.relation].columns[-1].type

    def _best(self, name: str, rule: ir.Rule) -> Best:
        literal = rule.group
        assert literal is not None
        direction = self._directions.get(name)
        if direction is None:
            raise NotMonotoneError(literal.atom.span, "neither `min` nor `max` of this group is asked for")
        members = literal.atom.relation
        keys = sum(isinstance(term, ir.Variable) for term in literal.atom.terms)
        self._costs[name][keys] = direction
        self._costs[members][len(literal.atom.terms) - 1] = direction
        type_ = self._value_type(name)
        return Best(
            name, members, keys, len(literal.atom.terms) - 1, type_, direction == FALLS, self._orders.get(type_)
        )

    # Where costs go

    def _spread(self, rules: list[ir.Rule]) -> None:
        """Finds the columns that costs reach."""
        before = -1
        while before != (before := sum(map(len, self._costs.values())) + len(self._in_order)):
            for rule in rules:
                self._move_head(rule, self._directions_of(rule))

    def _move_head(self, rule: ir.Rule, directions: Directions) -> None:
        """Notes the columns of a head that move. Raises NotMonotoneError."""
        name, columns = rule.head.relation, self._costs[rule.head.relation]
        moving: dict[int, typed.Var] = {}
        for column, term in enumerate(rule.head.terms):
            if isinstance(term, ir.Variable):
                expression = typed.Var(term.name, type=term.type, span=rule.head.span)
                if directions.reads(expression):
                    moving[column] = expression
        alone = {column: directions.of.get(each.name, STAYS) for column, each in moving.items()}
        if not all(alone.values()):
            self._in_order.add(name)
        for column in sorted(moving, key=lambda each: not alone[each]):
            columns.setdefault(column, alone[column])  # one without a direction of its own gets it below
        if name in self._in_order:
            order = [column for column in columns if column in moving]
            alone = dict(zip(order, directions.follow([moving[column] for column in order])))
        for column, direction in alone.items():
            columns[column] = columns[column] or direction
            if direction and columns[column] != direction:
                raise NotMonotoneError(rule.head.span, "a value that falls and one that rises meet in a column")

    def _directions_of(self, rule: ir.Rule) -> Directions:
        """Returns the directions of a rule's variables, as far as costs have come."""
        of, parts = self._read_costs(rule)
        directions = Directions(of, parts, orders={type_: order for type_, order in self._orders.items() if order})
        for assign in _in_order(rule):
            directions.assign(assign.variable.name, assign.expression)
        for literal in rule.body:
            match literal:
                case ir.Condition(expression):
                    directions.require_lasting(expression)
                case ir.Unfold(expression=expression) if directions.reads(expression):
                    raise NotMonotoneError(expression.span, "the value is taken apart here")
                case _:
                    pass
        return directions

    def _read_costs(self, rule: ir.Rule) -> tuple[dict[str, int], dict[str, Part]]:
        """Returns the variables that stand in columns of costs, and those that are parts of rows."""
        found: dict[str, int] = {}
        parts: dict[str, Part] = {}
        assigned = {literal.variable.name for literal in rule.body if isinstance(literal, ir.Assign)}
        spans: dict[str, list[Span]] = {}
        for place, literal in enumerate(rule.body):
            if not isinstance(literal, ir.Positive | ir.Negative):
                continue
            atom = literal.atom
            columns = self._costs.get(atom.relation, {})
            levels = [*columns] if atom.relation in self._in_order else []
            for column, term in enumerate(atom.terms):
                if isinstance(term, ir.Variable):
                    spans.setdefault(term.name, []).append(atom.span)
                    if column in columns:
                        found[term.name] = columns[column]
                    if column in levels:
                        parts[term.name] = Part(f"row#{place}", levels.index(column), columns[column])
                elif isinstance(term, ir.Constant) and column in columns:
                    raise NotMonotoneError(atom.span, "the value is compared with a constant here")
                else:
                    assert isinstance(term, ir.Constant | ir.Wildcard)
        for name in found:
            if len(spans[name]) > 1 or name in assigned:
                raise NotMonotoneError(spans[name][-1], "the value is joined on here")
        self._refuse_computed_joins(rule, found, spans)
        return {name: each for name, each in found.items() if name not in parts or not parts[name].level}, parts

    def _refuse_computed_joins(self, rule: ir.Rule, costs: Mapping[str, int], spans: Mapping[str, list[Span]]) -> None:
        """Raises NotMonotoneError where a literal looks up a value computed from costs."""
        made = set(costs)
        for assign in _in_order(rule):
            if typed.variables(assign.expression) & made:
                made.add(assign.variable.name)
                if assign.variable.name in spans:
                    raise NotMonotoneError(spans[assign.variable.name][0], "a value computed from it is joined on")

    def _require_key(self, best: Best) -> None:
        if any(column < best.keys for column in self._costs[best.members]):
            literal = self._groups[best.relation].group
            assert literal is not None
            raise NotMonotoneError(literal.atom.span, "the key of this group is made of a value that gets better")

    def _refuse_mixtures(self, found: list[Directions]) -> None:
        """Raises NotMonotoneError where costs pass through anything beside a sum of fixed width: overflow could not be
        bounded."""
        sums = [each for directions in found for each in directions.sums if has_range(each.type)]
        others = [span for directions in found for span in directions.others]
        if sums and others:
            raise NotMonotoneError(
                others[0], f"a sum of type {sums[0].type} beside this may run over; `bigint` has no end"
            )

    def _order(self, rules: list[ir.Rule]) -> dict[str, frozenset[int]]:
        """Returns the columns of costs, each relation after those that it reads; groups, which start over, are left
        out."""
        with_costs = {name for name, columns in self._costs.items() if columns and name not in self._groups}
        sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(with_costs, ()))
        for rule in rules:
            if rule.head.relation in with_costs:
                sorter.add(
                    rule.head.relation, *(atom.relation for atom in rule.positives if atom.relation in with_costs)
                )
        try:
            return {name: frozenset(self._costs[name]) for name in sorter.static_order()}
        except CycleError as error:
            cycle = error.args[1]
            # Each name of the cycle is read by the next.
            rule, atom = next(
                (rule, atom)
                for rule in rules
                for atom in rule.positives
                if rule.head.relation == cycle[1] and atom.relation == cycle[0]
            )
            raise NotMonotoneError(atom.span, "the value passes around a cycle here without a group") from None


def _always_fits(pattern: typed.Pattern) -> TypeGuard[typed.TuplePattern]:
    """True if a pattern takes any tuple apart, and no part of it."""
    return isinstance(pattern, typed.TuplePattern) and all(
        isinstance(item, typed.BindPattern | typed.AnyPattern) for item in pattern.items
    )


def _in_order(rule: ir.Rule) -> list[ir.Assign]:
    """Returns the assignments of a rule, each after those that it reads; they may be written in another order."""
    waiting = {literal.variable.name: literal for literal in rule.body if isinstance(literal, ir.Assign)}
    sorter: TopologicalSorter[str] = TopologicalSorter(
        {name: typed.variables(literal.expression) & waiting.keys() for name, literal in waiting.items()}
    )
    return [waiting[name] for name in sorter.static_order()]


def _watched(rule: ir.Rule, directions: Directions) -> MonotoneRule:
    """Returns the rule, with the addends of its sums as variables."""
    sums: list[WatchedSum] = []
    exchanged: dict[int, typed.Expression] = {}
    for each in directions.sums:
        exchanged[id(each.expression)] = (
            total_of(each.cost, each.addends, each.expression.type)
            if isinstance(each.type, ScaledType)
            else each.expression
        )
    body = [_with_exchanged(literal, exchanged) for literal in rule.body]
    for each in directions.sums:
        addends = []
        for expression in each.addends:
            variable = ir.Variable(f"addend#{len(body)}", expression.type)
            body.append(ir.Assign(variable, expression))
            addends.append(variable)
        cost = ir.Variable(each.cost.name, each.cost.type)
        sums.append(WatchedSum(cost, tuple(addends), each.type, each.falls, exchanged[id(each.expression)]))
    return MonotoneRule(replace(rule, body=tuple(body)), tuple(sums))


def _with_exchanged(literal: ir.Literal, exchanged: Mapping[int, typed.Expression]) -> ir.Literal:
    """Returns the literal with other sums, each the very object that is given for it."""

    def exchange(node: typed.Expression) -> typed.Expression:
        found = exchanged.get(id(node))
        return typed.rebuilt(node, exchange) if found is None else found

    if isinstance(literal, ir.Assign | ir.Condition | ir.Unfold) and any(
        exchanged.get(id(node), node) is not node for node in typed.walk(literal.expression)
    ):
        return replace(literal, expression=exchange(literal.expression))
    return literal
