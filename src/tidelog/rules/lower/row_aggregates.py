"""Aggregates over rows → groups whose members are the combinations of rows themselves.

    Turnover(s, t) :- Sale(_, s, p), var t = sum(p) by (s).

    M(s, w#0, p) :- Sale(w#0, s, p).
    G(s, a#0) :- a#0 = total of |p| p of M(s, _, _).
    Turnover(s, t) :- G(s, t).

A member has the keys, then everything that tells one combination of rows from another, then the columns that aggregates
read. Each wildcard gets a variable, and each item of a `FlatMap` its number, so members are different wherever the
combinations are: a set of members has the aggregates of the multiset of values. Where the body reads a multiset or a
stream, the members have its weights. If the body is one relation, the members are a copy of it, which no engine stores
(`analysis/copies`).

`avg` is a sum and a count, divided behind the group. Of values that are `None`, `sum` adds nothing and `count` counts
nothing; the others are `None` if all values are. `None` comes before all other values, so the least one is that of pairs
of which the first part says whether it is `None`. Without keys, `sum` and `count` have a row even if there are no members: a second
rule derives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.check import program, typed
from tidelog.check.rule.row_aggregates import AVG, COUNT, MIN, NONE, SOME, SUM, inside_option, some_of
from tidelog.diagnostics.spans import Span
from tidelog.functions.scalar import compile_scalar
from tidelog.rules import ir
from tidelog.rules.lower.sums_of_units import average_of_units, joined_halves
from tidelog.types import (
    BIGINT,
    BOOL,
    DOUBLE,
    S64,
    U32,
    U64,
    BitType,
    FloatType,
    ScaledType,
    SignedType,
    TupleType,
    Type,
    is_word,
)

if TYPE_CHECKING:
    from tidelog.rules.lower.program import Lowering

Fresh = Callable[[Type, str], ir.Variable]

_HALF_BITS = 32
_HALF = (1 << _HALF_BITS) - 1


@dataclass(frozen=True, slots=True)
class Lowered:
    """The body behind the aggregates, and its variables."""

    body: tuple[ir.Literal, ...]
    variables: tuple[ir.Variable, ...]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A column of the groups: the aggregate, the expression that it reads of a member, and the variable behind it."""

    kind: ir.AggregateKind
    variable: ir.Variable
    of: typed.Expression | None = None


def lower_row_aggregates(
    lowering: Lowering, head: str, before: Sequence[ir.Literal], literal: program.RowAggregates, fresh: Fresh
) -> Lowered:
    """Returns the body in which the literals before the aggregates are a hidden relation of groups."""
    rows = _Rows(lowering, head, literal, fresh)
    body = tuple(rows.told_apart(before))
    keys = tuple(ir.Variable(key.name, key.type) for key in literal.keys)
    wanted, after = rows.wanted(body)
    groups = rows.group(body, keys, wanted)
    if not keys and all(each.function in (COUNT, SUM) for each in literal.values):
        groups = rows.with_default(groups)
    bound = tuple(ir.Variable(each.variable, each.type) for each in literal.values)
    return Lowered((ir.Positive(groups), *after), (*keys, *bound))


class _Rows:
    def __init__(self, lowering: Lowering, head: str, literal: program.RowAggregates, fresh: Fresh) -> None:
        self._lowering = lowering
        self._head = head
        self._literal = literal
        self._fresh = fresh

    # The members

    def told_apart(self, body: Sequence[ir.Literal]) -> Iterator[ir.Literal]:
        """Yields the literals with a variable for everything that tells combinations of rows apart.

        Where some rows have weights, those of a set count once, though others may ask how often they are derived.
        """
        has_weights = any(map(self._has_weights, body))
        for literal in body:
            match literal:
                case ir.Positive(atom):
                    if has_weights and not self._has_weights(literal) and self._may_be_weighed(atom.relation):
                        atom = replace(atom, relation=self._lowering.distinct(atom.relation))
                    columns = self._lowering.relation(atom.relation).columns
                    terms = tuple(
                        self._fresh(column.type, "w#") if isinstance(term, ir.Wildcard) else term
                        for term, column in zip(atom.terms, columns, strict=True)
                    )
                    yield ir.Positive(replace(atom, terms=terms))
                case ir.Unfold(variables=variables, each=True, numbered=False):
                    yield replace(literal, variables=(*variables, self._fresh(U64, "n#")), numbered=True)
                case _:
                    yield literal

    def group(self, body: tuple[ir.Literal, ...], keys: tuple[ir.Variable, ...], wanted: Sequence[_Wanted]) -> ir.Atom:
        """Hides the members and their groups; returns the atom that reads the groups."""
        lowering, span = self._lowering, self._literal.span
        body, wanted = self._with_columns(body, keys, wanted)
        names = {key.name for key in keys}
        read = {name for each in wanted if each.of is not None for name in typed.variables(each.of)} - names
        bound = {each.name: each for literal in body for each in _bound(literal)}
        record = [each for each in _of_rows(body) if each.name not in names]
        parts: list[ir.Term] = [each for name, each in bound.items() if name in read]
        record = [each for each in record if each.name not in read]
        if not parts:
            parts = [record.pop() if record else ir.Constant(True, BOOL)]
        members = lowering.fresh_name(self._head, "members")
        key_columns = _columns("k", keys)
        columns = (*key_columns, *_columns("r", record), *_columns("v", parts))
        lowering.hide(members, columns, (*keys, *record, *parts), body)
        groups = lowering.fresh_name(self._head, "groups")
        atom = ir.Atom(members, (*keys, *(ir.Wildcard(),) * (len(record) + len(parts))), span)
        aggregates = tuple(self._aggregate(place, each, parts, keys) for place, each in enumerate(wanted))
        literal = ir.Group(
            atom,
            ir.Variable("g#", U64),
            plain=False,
            weighted=any(map(self._has_weights, body)),
            aggregates=aggregates,
            parts=len(parts),
            of_rows=True,
        )
        kept = tuple(each.variable for each in aggregates)
        lowering.hide(groups, (*key_columns, *_columns("a", kept)), (*keys, *kept), (literal,))
        return ir.Atom(groups, (*keys, *(each.variable for each in wanted)), span)

    def _with_columns(
        self, body: tuple[ir.Literal, ...], keys: Sequence[ir.Variable], wanted: Sequence[_Wanted]
    ) -> tuple[tuple[ir.Literal, ...], list[_Wanted]]:
        """Returns the body with an assignment for each expression that has to be a column of the members: what is
        compared, what might have another value when it is computed again, and what reads a parameter of a query."""
        computed: list[ir.Literal] = []
        made: list[_Wanted] = []
        for each in wanted:
            of = each.of
            is_column = isinstance(of, typed.Var) and of.name not in {key.name for key in keys}
            is_compared = each.kind in (ir.AggregateKind.MIN, ir.AggregateKind.MAX)
            if of is not None and not is_column and (is_compared or self._may_differ(of)):
                variable = self._fresh(of.type, "e#")
                computed.append(ir.Assign(variable, of))
                of = _var(variable, of.span)
            made.append(replace(each, of=of))
        return (*body, *computed), made

    def _may_differ(self, of: typed.Expression) -> bool:
        """True if an expression may have another value, or none, when it is computed behind the members."""
        is_parameter = any(name.startswith("$") for name in typed.variables(of))
        return is_parameter or self._lowering.functions.has_side_effects(of)

    def _aggregate(
        self, place: int, wanted: _Wanted, parts: Sequence[ir.Term], keys: Sequence[ir.Variable]
    ) -> ir.Aggregate:
        variable = ir.Variable(f"a#{place}", wanted.variable.type)
        parameters = tuple(
            part if isinstance(part, ir.Variable) else ir.Variable("value#", part.type)
            for part in parts
            if not isinstance(part, ir.Wildcard)
        )
        of = wanted.of
        if of is None or (len(parts) == 1 and isinstance(of, typed.Var) and of.name == parameters[0].name):
            return ir.Aggregate(wanted.kind, variable, parameters)
        names = tuple(each.name for each in (*parameters, *keys))
        return ir.Aggregate(wanted.kind, variable, parameters, of, compile_scalar(of, names, self._lowering.functions))

    def _has_weights(self, literal: ir.Literal) -> bool:
        if not isinstance(literal, ir.Positive):
            return False
        name = literal.atom.relation
        shown = any(each.relation == name for each in self._lowering.inspections)
        return shown or self._lowering.relation(name).kind is not ir.Kind.SET

    def _may_be_weighed(self, name: str) -> bool:
        """True for a set whose weights the pass `weights` may want."""
        return self._lowering.relation(name).role in (ir.Role.INTERNAL, ir.Role.HIDDEN) and "#groups" not in name

    # The aggregates

    def wanted(self, body: Sequence[ir.Literal]) -> tuple[list[_Wanted], list[ir.Literal]]:
        """Returns the columns of the group, and the literals behind it."""
        wanted: list[_Wanted] = []
        after: list[ir.Literal] = []
        has_weights = any(map(self._has_weights, body))
        for each in self._literal.values:
            variable, value = ir.Variable(each.variable, each.type), each.value
            if value is None:
                wanted.append(_Wanted(ir.AggregateKind.COUNT, variable))
                continue
            inside = inside_option(value.type)
            match each.function:
                case function if function == COUNT:
                    wanted.append(self._count(variable, value))
                case function if function == SUM and isinstance(each.type, ScaledType):
                    sums, total = self._integer_sum(value, has_weights=has_weights)
                    wanted += sums
                    after.append(ir.Assign(variable, typed.Units(total, type=each.type, span=value.span)))
                case function if function == SUM:
                    kind = ir.AggregateKind.TOTAL
                    if isinstance(each.type, FloatType):
                        kind = ir.AggregateKind.SUM
                    wanted.append(_Wanted(kind, variable, self._number(value, lambda it: it)))
                case function if function == AVG:
                    columns, literals = self._average(variable, value, has_weights=has_weights)
                    wanted += columns
                    after += literals
                case function if function == MIN and inside is not None:
                    pair = self._none_last(value)
                    best = self._fresh(pair.type, "e#")
                    wanted.append(_Wanted(ir.AggregateKind.MIN, best, pair))
                    least = typed.TupleItem(_var(best, value.span), 1, type=value.type, span=value.span)
                    after.append(ir.Assign(variable, least))
                case _:
                    kind = ir.AggregateKind.MIN if each.function == MIN else ir.AggregateKind.MAX
                    wanted.append(_Wanted(kind, variable, value))
        return wanted, after

    def _none_last(self, value: typed.Expression) -> typed.MakeTuple:
        """Returns a pair with a value that comes behind all others if the value is `None`."""
        inside = inside_option(value.type)
        assert inside is not None
        pattern = some_of(typed.AnyPattern(type=inside, span=value.span), value.type)
        no, yes = (typed.Lit(is_none, type=BOOL, span=value.span) for is_none in (False, True))
        type_ = TupleType((BOOL, value.type))
        return typed.MakeTuple((_matched(value, pattern, no, yes), value), type=type_, span=value.span)

    def with_default(self, groups: ir.Atom) -> ir.Atom:
        """Returns the atom of a relation that has the row of the groups, or zeros if there is none."""
        lowering = self._lowering
        relation = lowering.relation(groups.relation)
        if relation.kind is ir.Kind.STREAM:
            return groups
        name = lowering.fresh_name(self._head, "total")
        lowering.hide(name, relation.columns, groups.terms, (ir.Positive(groups),))
        zeros = tuple(_zero(column.type) for column in relation.columns)
        absent = lowering.projection(replace(groups, terms=(ir.Wildcard(),) * len(groups.terms)))
        lowering.hide_more(name, zeros, (ir.Negative(absent),))
        return replace(groups, relation=name)

    def _count(self, variable: ir.Variable, value: typed.Expression) -> _Wanted:
        """Returns the number of rows whose value is not `None`."""
        inside = inside_option(value.type)
        if inside is None:
            return _Wanted(ir.AggregateKind.COUNT, variable)
        pattern = some_of(typed.AnyPattern(type=inside, span=value.span), value.type)
        truth = (typed.Lit(is_some, type=BOOL, span=value.span) for is_some in (True, False))
        return _Wanted(ir.AggregateKind.COUNT_IF, variable, _matched(value, pattern, *truth))

    def _number(self, value: typed.Expression, of: Callable[[typed.Expression], typed.Expression]) -> typed.Expression:
        """Returns what is added for a value: a function of it, or 0 for `None`."""
        inside = inside_option(value.type)
        if inside is None:
            return of(value)
        found = self._fresh(inside, "o#")
        pattern = some_of(typed.BindPattern(found.name, type=inside, span=value.span), value.type)
        made = of(_var(found, value.span))
        zero = _zero(made.type).value
        return _matched(value, pattern, made, typed.Lit(zero, type=made.type, span=value.span))

    def _average(
        self, variable: ir.Variable, value: typed.Expression, *, has_weights: bool
    ) -> tuple[list[_Wanted], list[ir.Literal]]:
        """Returns the columns of an average, and the literals that divide."""
        span = self._literal.span
        count = self._count(self._fresh(U64, "e#"), value)
        mean: typed.Expression
        result = inside_option(variable.type) or variable.type
        if isinstance(result, ScaledType):
            given = inside_option(value.type) or value.type
            sums, total = self._integer_sum(value, has_weights=has_weights)
            mean = average_of_units(total, _var(count.variable, span), given, result)
        else:
            sums, total = self._exact_sum(value, has_weights=has_weights)
            divisor = typed.Cast(_var(count.variable, span), type=DOUBLE, span=span)
            mean = typed.Binary("/", total, divisor, type=DOUBLE, span=span)
        if inside_option(variable.type) is not None:
            zero = typed.Lit(0, type=U64, span=span)
            has_some = typed.Binary(">", _var(count.variable, span), zero, type=BOOL, span=span)
            some = typed.Construct(SOME, (mean,), type=variable.type, span=span)
            none = typed.Construct(NONE, (), type=variable.type, span=span)
            mean = typed.IfElse(has_some, some, none, type=variable.type, span=span)
        return [*sums, count], [ir.Assign(variable, mean)]

    def _integer_sum(self, value: typed.Expression, *, has_weights: bool) -> tuple[list[_Wanted], typed.Expression]:
        """Returns columns whose values have the exact sum of the integers of scaled values, and that sum, a bigint."""
        span = value.span
        type_ = inside_option(value.type) or value.type
        if has_weights or not is_word(type_):
            total = self._fresh(BIGINT, "e#")
            units = self._number(value, lambda it: typed.Units(it, type=BIGINT, span=span))
            return [_Wanted(ir.AggregateKind.TOTAL, total, units)], _var(total, span)
        low, high = self._fresh(S64, "e#"), self._fresh(S64, "e#")
        bits, mask = typed.Lit(_HALF_BITS, type=U32, span=span), typed.Lit(_HALF, type=S64, span=span)

        def half(op: str, by: typed.Lit) -> typed.Expression:
            return self._number(
                value, lambda it: typed.Binary(op, typed.Units(it, type=S64, span=span), by, type=S64, span=span)
            )

        sums = [
            _Wanted(ir.AggregateKind.SUM, low, half("&", mask)),
            _Wanted(ir.AggregateKind.SUM, high, half(">>", bits)),
        ]
        return sums, joined_halves(_var(low, span), _var(high, span))

    def _exact_sum(self, value: typed.Expression, *, has_weights: bool) -> tuple[list[_Wanted], typed.Expression]:
        """Returns columns whose values have the exact sum, and the expression that makes one double of them."""
        span = value.span
        type_ = inside_option(value.type) or value.type
        if isinstance(type_, FloatType):
            total = self._fresh(DOUBLE, "e#")

            def double(it: typed.Expression) -> typed.Expression:
                return it if it.type == DOUBLE else typed.Cast(it, type=DOUBLE, span=span)

            return [_Wanted(ir.AggregateKind.SUM, total, self._number(value, double))], _var(total, span)
        if has_weights or not is_word(type_):
            total = self._fresh(BIGINT, "e#")
            wanted = _Wanted(ir.AggregateKind.TOTAL, total, self._number(value, lambda it: it))
            return [wanted], typed.Cast(_var(total, span), type=DOUBLE, span=span)
        assert isinstance(type_, BitType | SignedType)
        if type_.width <= _HALF_BITS:
            # A relation has less than 2**31 rows, so no sum of their values needs more than 64 bits.
            total = self._fresh(S64, "e#")
            wanted = _Wanted(ir.AggregateKind.SUM, total, self._number(value, lambda it: it))
            return [wanted], typed.Cast(_var(total, span), type=DOUBLE, span=span)
        bits, mask = typed.Lit(_HALF_BITS, type=U32, span=span), typed.Lit(_HALF, type=type_, span=span)
        low, high = self._fresh(S64, "e#"), self._fresh(S64, "e#")

        def low_half(it: typed.Expression) -> typed.Expression:
            return typed.Binary("&", it, mask, type=type_, span=span)

        def high_half(it: typed.Expression) -> typed.Expression:
            return typed.Binary(">>", it, bits, type=type_, span=span)

        sums = [
            _Wanted(ir.AggregateKind.SUM, low, self._number(value, low_half)),
            _Wanted(ir.AggregateKind.SUM, high, self._number(value, high_half)),
        ]
        return sums, _joined_halves(_var(low, span), _var(high, span))


def _joined_halves(low: typed.Var, high: typed.Var) -> typed.Expression:
    """Returns `high * 2**32 + low` as a double; it is rounded once while the sum is below 2**85."""
    span = low.span
    bits, mask = typed.Lit(_HALF_BITS, type=U32, span=span), typed.Lit(_HALF, type=S64, span=span)
    carry = typed.Binary(">>", low, bits, type=S64, span=span)
    upper = typed.Cast(typed.Binary("+", high, carry, type=S64, span=span), type=DOUBLE, span=span)
    lower = typed.Cast(typed.Binary("&", low, mask, type=S64, span=span), type=DOUBLE, span=span)
    scale = typed.Lit(float(1 << _HALF_BITS), type=DOUBLE, span=span)
    return typed.Binary("+", typed.Binary("*", upper, scale, type=DOUBLE, span=span), lower, type=DOUBLE, span=span)


def _matched(
    value: typed.Expression, pattern: typed.Pattern, then: typed.Expression, otherwise: typed.Expression
) -> typed.Expression:
    rest = typed.AnyPattern(type=value.type, span=value.span)
    arms = (typed.Arm(pattern, then), typed.Arm(rest, otherwise))
    return typed.Match(value, arms, type=then.type, span=value.span)


def _var(variable: ir.Variable, span: Span) -> typed.Var:
    return typed.Var(variable.name, type=variable.type, span=span)


def _zero(type_: Type) -> ir.Constant:
    return ir.Constant(0.0 if isinstance(type_, FloatType) else 0, type_)


def _of_rows(body: Sequence[ir.Literal]) -> list[ir.Variable]:
    """Returns the variables that tell combinations apart: those of atoms, and the numbers of items. All others follow
    from these."""
    found: dict[str, ir.Variable] = {}
    for literal in body:
        if isinstance(literal, ir.Positive):
            found |= {term.name: term for term in literal.atom.terms if isinstance(term, ir.Variable)}
        elif isinstance(literal, ir.Unfold) and literal.numbered:
            found[literal.variables[-1].name] = literal.variables[-1]
    return [*found.values()]


def _bound(literal: ir.Literal) -> tuple[ir.Variable, ...]:
    match literal:
        case ir.Positive(atom):
            return tuple(term for term in atom.terms if isinstance(term, ir.Variable))
        case ir.Assign(variable):
            return (variable,)
        case ir.Unfold(variables):
            return variables
        case _:
            return ()


def _columns(prefix: str, terms: Sequence[ir.Term]) -> tuple[ir.Column, ...]:
    """Returns columns for variables and constants."""
    return tuple(
        ir.Column(f"{prefix}{place}", term.type)
        for place, term in enumerate(terms)
        if not isinstance(term, ir.Wildcard)
    )
