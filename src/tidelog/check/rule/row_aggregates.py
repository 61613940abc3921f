"""`var total = sum(price) by (shop)`: aggregates over the rows that make the literals before them true.

    (var s, var n) = (sum(p), count()) by (shop, m = month(day))

The arguments are read with the variables before the literal; behind it only those of the key and the new ones are left.
A name means an aggregate because `by` follows its call, whatever else has that name. Where all that is asked for is the
least or the greatest of one value, it does not matter how often a value occurs: that is a `group_by`, and recursion
through it can be monotone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.check import program, typed
from tidelog.check.functions.elaborate import Elaborator
from tidelog.check.functions.free_variables import name_of, pattern_variables
from tidelog.check.inference import Local
from tidelog.check.inference.drafts import BROKEN, Draft, Kind, Unknown, current, describe, is_number, named, shape
from tidelog.check.rule.groups import GROUP, find_groups
from tidelog.check.rule.state import RuleState
from tidelog.diagnostics.codes import Code
from tidelog.scaled_values import average_type, sum_type
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import (
    DOUBLE,
    DURATION,
    S64,
    U64,
    BigIntType,
    BitType,
    DecimalType,
    DurationType,
    FloatType,
    NamedType,
    SignedType,
    TupleType,
    Type,
    is_word,
)

OPTION = "ddlog_std::Option"
SOME = "ddlog_std::Some"
NONE = "ddlog_std::None"

COUNT, SUM, AVG, MIN, MAX = "count", "sum", "avg", "min", "max"
FUNCTIONS = (SUM, COUNT, AVG, MIN, MAX)
_ENDS = {MIN: "ddlog_std::group_min", MAX: "ddlog_std::group_max"}

_ALL = "aggregates over rows are `sum(e)`, `count()`, `avg(e)`, `min(e)` and `max(e)`"
_ITEMS = "a group has its items: `import group`, then `var g = x.group_by(shop), var items = g.to_vec()`"
_BEST = "`var last = max((at, item)) by (shop)` is the greatest tuple, and `last.1` its item"
_WINDOWS = f"there are no windows; {_BEST}"
# Aggregates of other languages, and how to say them here.
_OTHERS = {
    **dict.fromkeys(("nunique", "count_distinct", "approx_count_distinct"), "`x.group_by(shop).count_distinct()`"),
    **dict.fromkeys(("string_agg", "group_concat", "listagg"), f'{_ITEMS}, and `items.join(",")` is one text'),
    **dict.fromkeys(("list", "array_agg", "collect_list", "collect_set", "set", "unique"), _ITEMS),
    **dict.fromkeys(
        ("first", "last", "any_value", "argmax", "argmin", "arg_max", "arg_min", "idxmax", "max_by"), _BEST
    ),
    **dict.fromkeys(("rank", "row_number", "dense_rank", "lag", "lead", "cumsum"), _WINDOWS),
    **dict.fromkeys(("mean", "average"), "`avg(e)`"),
    **dict.fromkeys(("total",), "`sum(e)`"),
    **dict.fromkeys(("size", "len", "length"), "`count()`"),
    **dict.fromkeys(
        ("median", "std", "stddev", "var", "variance", "quantile", "percentile", "mode"),
        f"{_ALL}; for another, an extern function takes the items of a group: `var g = x.group_by(shop), var m = f(g)`",
    ),
}

Make = Callable[[Elaborator], list[program.Literal]]


@dataclass(slots=True)
class _Asked:
    """One of the calls: its argument, if it has one, and the variable that it binds."""

    function: str
    argument: ast.Expression | None
    target: ast.VariableDeclaration
    annotation: ast.Type | None
    draft: Draft = BROKEN
    local: Local | None = None


def has_default(literal: ast.RowAggregates) -> bool:
    """True if the literal gives a row where there are no rows before it: it counts and adds, by no key."""
    calls = literal.value.items if isinstance(literal.value, ast.Tuple) else (literal.value,)
    return not literal.keys and all(_function(call) in (COUNT, SUM) for call in calls)


def read_row_aggregates(state: RuleState, literal: ast.RowAggregates, group_name: str) -> list[Make]:
    """Reads the literal, and ends the variables that are not part of the key; a group has the given name."""
    asked = _asked(state, literal)
    for each in asked or ():
        _read_argument(state, each, literal)
    keys = [_read_key(state, key, literal) for key in literal.keys]
    names = {local.name: local for local, _ in filter(None, keys)}
    state.keep_only(names if asked is not None and all(keys) else set(state.scope), literal.span, "by")
    if asked is None:
        for node in pattern_variables(literal.pattern):
            state.break_(name_of(node), node.span)
        return []
    for each in asked:
        _bind(state, each)
    computed = [value for _, value in filter(None, keys) if value is not None]
    made: list[Make] = [*computed]
    whole = _Literal(tuple(asked), tuple(names.values()), literal)
    if all(each.function in _ENDS for each in asked) and len({_text(each) for each in asked}) == 1:
        group = state.at.declare(group_name, U64, literal.span, "rule")
        del state.at.scopes[0][group_name]
        return [*made, lambda make: _grouped(make, whole, group)]
    return [*made, lambda make: [_typed(make, whole)]]


@dataclass(frozen=True, slots=True)
class _Literal:
    asked: tuple[_Asked, ...]
    keys: tuple[Local, ...]
    node: ast.RowAggregates


# What is written


def _asked(state: RuleState, literal: ast.RowAggregates) -> list[_Asked] | None:
    """Returns the calls with their variables; None after an error."""
    calls = literal.value.items if isinstance(literal.value, ast.Tuple) else (literal.value,)
    targets: Sequence[ast.Expression] = (literal.pattern,)
    if isinstance(literal.value, ast.Tuple):
        if not isinstance(literal.pattern, ast.Tuple) or len(literal.pattern.items) != len(calls):
            names = ", ".join(f"var x{number}" for number in range(1, len(calls) + 1))
            state.at.report(
                Code.BAD_ROW_AGGREGATE,
                f"{len(calls)} aggregates need a tuple of {len(calls)} variables",
                literal.pattern.span,
                "this is not one",
                related=[(literal.value.span, "the aggregates")],
                help=f"`({names}) = {show_expression(literal.value)} by …`",
            )
            return None
        targets = literal.pattern.items
    found = [_one(state, call, target) for call, target in zip(calls, targets)]
    return None if None in found or not found else [each for each in found if each is not None]


def _one(state: RuleState, call: ast.Expression, target: ast.Expression) -> _Asked | None:
    function = _function(call)
    if function is None or not isinstance(call, ast.Call):
        inner = next((node for node in ast.walk(call) if _function(node) is not None), None)
        called = call.function.name if isinstance(call, ast.Call) and isinstance(call.function, ast.Variable) else ""
        help = _OTHERS.get(called, _ALL)
        if inner is not None and inner is not call:
            help = f"bind the aggregate, then compute: `var x = {show_expression(inner)} by (…)`"
        message = "only a call of an aggregate stands before `by`"
        state.at.report(Code.BAD_ROW_AGGREGATE, message, call.span, "this is something else", help=help)
        return None
    count = len(call.arguments)
    if count > 1 or (count == 0 and function != COUNT):
        wanted = "at most one value" if function == COUNT else "one value"
        message = f"`{function}` over rows takes {wanted}, {count} given"
        meant = None if count else f"`{function}(price) by (…)`; `count() by (…)` counts rows"
        state.at.report(Code.BAD_ROW_AGGREGATE, message, call.span, f"expected {wanted}", help=meant)
        return None
    argument = call.arguments[0] if call.arguments else None
    if argument is not None and (groups := find_groups(argument)):
        message = "a `group_by` stands inside an aggregate over rows"
        state.at.report(Code.BAD_ROW_AGGREGATE, message, groups[0].span, "group before it, in a literal of its own")
        return None
    match target:
        case ast.VariableDeclaration():
            return _Asked(function, argument, target, None)
        case ast.Annotation(ast.VariableDeclaration() as variable, annotation):
            return _Asked(function, argument, variable, annotation)
    state.at.report(
        Code.BAD_ROW_AGGREGATE,
        "the result of an aggregate over rows is a new variable",
        target.span,
        "expected `var` and a name",
        help=f"`var {target.name} = {show_expression(call)} by …`" if isinstance(target, ast.Variable) else None,
    )
    return None


def _function(call: ast.Node) -> str | None:
    """Returns the aggregate that a node calls, if it is such a call."""
    if isinstance(call, ast.Call) and isinstance(call.function, ast.Variable) and call.function.name in FUNCTIONS:
        return call.function.name
    return None


def _text(asked: _Asked) -> str:
    return "" if asked.argument is None else show_expression(asked.argument)


# Types


def _read_argument(state: RuleState, asked: _Asked, literal: ast.RowAggregates) -> None:
    if asked.argument is None:
        asked.draft = U64
        return
    state.require_before(asked.argument, literal)
    asked.draft = _result(state, asked, asked.argument, state.at.infer(asked.argument))


def _result(state: RuleState, asked: _Asked, argument: ast.Expression, given: Draft) -> Draft:
    """Returns the draft of what an aggregate gives, of arguments with a draft."""
    at = state.at
    if asked.function == COUNT:
        return U64
    if asked.function == AVG:
        return _average(state, asked, argument, given)
    result = Unknown()

    def attempt() -> bool:
        if not _is_known(given):
            return False
        inner = current(_inside(given))
        if inner is BROKEN:  # reported already
            at.solver.unify(result, BROKEN)
            return True
        if asked.function in _ENDS:
            return at.solver.unify(result, given)
        if not _require_number(state, asked, argument, given):
            at.solver.unify(result, BROKEN)
            return True
        if isinstance(inner, FloatType | DurationType):
            return _agree(inner)
        if isinstance(inner, DecimalType):
            return _agree(sum_type(inner))
        if isinstance(inner, Unknown):
            return _agree(inner)
        # An integer: the place of the sum may want any type of integers.
        if not at.solver.require(result, Kind.INTEGER):
            return _agree(inner)
        return not isinstance(current(result), Unknown)

    def _agree(inner: Draft) -> bool:
        at.agree(argument, inner, result)
        return True

    def guess() -> bool:
        return _decide(state, result, _sum_type(current(_inside(given))))

    at.defer(attempt, lambda: [given, result], _no, guess)
    return result


def _average(state: RuleState, asked: _Asked, argument: ast.Expression, given: Draft) -> Draft:
    """Returns the draft of an average: that of decimals and durations is exact, up to rounding."""
    at, result = state.at, Unknown()

    def attempt() -> bool:
        if not _is_known(given):
            return False
        _require_number(state, asked, argument, given)
        match current(_inside(given)):
            case DecimalType() as type_:
                found: Draft = average_type(type_)
            case DurationType():
                found = DURATION
            case _:
                found = DOUBLE
        at.agree(argument, found if _inside(given) is given else named(OPTION, found), result)
        return True

    at.defer(attempt, lambda: [given], _no, lambda: _decide(state, result, DOUBLE))
    return result


def _decide(state: RuleState, result: Unknown, type_: Draft) -> bool:
    """Gives an open result a type; False if that decides nothing: such a guess would be made for ever."""
    before = current(result)
    return isinstance(before, Unknown) and state.at.solver.unify(before, type_) and current(result) is not before


def _no() -> None:
    """Reports nothing: what is open gets a default."""


def _is_known(given: Draft) -> bool:
    draft = current(given)
    return not isinstance(draft, Unknown) or draft.kind is not Kind.ANY


def _inside(given: Draft) -> Draft:
    """Returns the draft of the value inside an `Option`, or the draft itself."""
    whole = shape(given)
    return whole.parts[0] if whole is not None and whole.head == OPTION else given


def _require_number(state: RuleState, asked: _Asked, argument: ast.Expression, given: Draft) -> bool:
    """True if the argument is a number, or an `Option` of one; else that is reported."""
    inner = current(_inside(given))
    if is_number(inner) or isinstance(inner, DurationType):
        return True
    state.at.report(
        Code.BAD_ROW_AGGREGATE,
        f"`{asked.function}` takes numbers, found {describe(given)}",
        argument.span,
        f"this is {describe(given)}",
        help=f"`count() by …` counts rows, `max({show_expression(argument)}) by …` takes values of every type",
    )
    return True


def _sum_type(inner: Draft) -> Draft:
    """Returns the type of a sum that its place says nothing about: 64 bits, or the type of the numbers if wider."""
    match inner:
        case BitType() if is_word(inner):
            return U64
        case SignedType() if is_word(inner):
            return S64
        case _:
            return inner


# Keys and variables


def _read_key(state: RuleState, key: ast.Expression, literal: ast.RowAggregates) -> tuple[Local, Make | None] | None:
    """Returns the variable of a key, and the literal that computes it; None after an error."""
    match key:
        case ast.Variable(name):
            state.require_before(key, literal)
            state.at.infer(key)
            local = state.scope.get(name)
            return None if local is None else (local, None)
        case ast.Assign(ast.Variable() | ast.VariableDeclaration() as target, value):
            name = target.name if isinstance(target, ast.Variable) else target.name.text
            state.require_before(value, literal)
            draft = state.at.infer(value)
            if state.already_bound(name, target.span, value):
                return None
            bound = state.bind(key, name, draft, target.span)

            def make(elaborator: Elaborator) -> list[program.Literal]:
                computed = elaborator.expression(value)
                return [program.Assign(bound.unique, computed.type, computed, key.span)]

            return bound, make
    state.at.report(
        Code.BAD_ROW_AGGREGATE,
        "a key of an aggregate is a variable, or a new one with its value",
        key.span,
        "this is neither",
        help=f"`key = {show_expression(key)}`",
    )
    return None


def _bind(state: RuleState, asked: _Asked) -> None:
    name, span = asked.target.name.text, asked.target.name.span
    draft = asked.draft
    if asked.annotation is not None:
        wanted = state.at.resolve(asked.annotation)
        is_number = asked.argument is not None and asked.function in (SUM, COUNT)
        shown = asked.argument if is_number and asked.argument is not None else asked.target
        why = (asked.annotation.span, "because of this annotation")
        draft = wanted if state.at.agree(shown, draft, wanted, why) is not BROKEN else BROKEN
    if not state.already_bound(name, span):
        asked.local = state.bind(asked.target, name, draft, span)


# Typed literals


def _keys(make: Elaborator, whole: _Literal) -> tuple[typed.Var, ...]:
    span = whole.node.span
    return tuple(typed.Var(each.unique, type=make.at.solved(each.draft, span), span=span) for each in whole.keys)


def _typed(make: Elaborator, whole: _Literal) -> program.RowAggregates:
    values = []
    for each in whole.asked:
        assert each.local is not None
        argument = None if each.argument is None else make.expression(each.argument)
        type_ = make.at.solved(each.local.draft, each.target.span)
        values.append(program.RowAggregate(each.function, each.local.unique, type_, argument))
    return program.RowAggregates(tuple(values), _keys(make, whole), whole.node.span)


def _grouped(make: Elaborator, whole: _Literal, group: Local) -> list[program.Literal]:
    """Returns the least and the greatest value as those of a group."""
    span, keys = whole.node.span, _keys(make, whole)
    argument = whole.asked[0].argument
    assert argument is not None
    value = make.expression(argument)
    if inside_option(value.type) is not None and any(each.function == MIN for each in whole.asked):
        return [_typed(make, whole)]  # `None` is the least value of a group, but not of rows
    key: typed.Expression
    if len(keys) == 1:
        key = keys[0]
    else:
        key = typed.MakeTuple(keys, type=TupleType(tuple(each.type for each in keys)), span=span)
    type_ = NamedType(GROUP, (key.type, value.type))
    made: list[program.Literal] = [program.GroupBy(group.unique, type_, value, key, keys, span)]
    for each in whole.asked:
        assert each.local is not None
        read = typed.Var(group.unique, type=type_, span=span)
        call = typed.Call(_ENDS[each.function], (key.type, value.type), (read,), type=value.type, span=span)
        made.append(program.Assign(each.local.unique, value.type, call, span))
    return made


def inside_option(type_: Type) -> Type | None:
    """Returns the type of the value inside an `Option`; None for every other type."""
    return type_.arguments[0] if isinstance(type_, NamedType) and type_.name == OPTION else None


def some_of(pattern: typed.Pattern, type_: Type) -> typed.Pattern:
    """Returns the pattern `Some{pattern}`, for a value of the given `Option` type."""
    return typed.ConstructPattern(SOME, (pattern,), type=type_, span=pattern.span)


def is_integer_type(type_: Type) -> bool:
    """True for integers of every width."""
    return isinstance(type_, BitType | SignedType | BigIntType)
