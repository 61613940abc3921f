"""A rule and the rows of the relations that it reads → every way in which its body holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple, cast

from tests.oracle.over_rows import aggregated
from tests.oracle.program import (
    Apart,
    Apply,
    Assign,
    Atom,
    Call,
    Condition,
    Expression,
    GroupBy,
    Literal,
    Negative,
    OverRows,
    Positive,
    Rule,
    Term,
    Unpack,
    Var,
    Wildcard,
    variables,
)
from tests.oracle.types import Grouped, Made, Row, Value, Weights
from tests.oracle.value import Environment, value

BodyRows = tuple[tuple[str, Row], ...]
Found = tuple[Environment, BodyRows, int]


class Instance(NamedTuple):
    """One way in which a body holds: the head's row, the row at each positive literal, the product of their weights."""

    row: Row
    body: BodyRows
    weight: int


class TooLargeError(Exception):
    """A rule has more instances, or a recursion more rounds, than the caller wants to wait for."""


def instances(
    rule: Rule, rows: Weights, limit: int | None = None, kinds: Mapping[str, str] | None = None
) -> list[Instance]:
    """Each way in which the body holds. Raises TooLargeError when there are more than `limit` after some literal.

    `kinds` says of each relation whether it is a relation, a multiset or a stream, for aggregates over rows.

    Literals are taken in the order in which they stand, so an expression runs only where those before it hold; but
    one that reads what only a later literal binds has to wait for it.
    """
    found: list[Found] = [({}, (), 1)]
    bound: set[str] = set()
    waiting = list(rule.body)
    while waiting:
        literal = next(literal for literal in waiting if _reads(literal) <= bound)
        waiting.remove(literal)
        if isinstance(literal, OverRows):
            found = _over_rows(literal, found, rows, kinds or {}, rule)
        else:
            found = _step(literal, found, bound, rows)
        bound = _binds(literal) | (set() if isinstance(literal, GroupBy | OverRows) else bound)
        if limit is not None and len(found) > limit:
            raise TooLargeError
    head = cast(tuple[Expression, ...], rule.head.terms)
    return [Instance(tuple(value(term, env) for term in head), body, weight) for env, body, weight in found]


def _over_rows(
    literal: OverRows, found: list[Found], rows: Weights, kinds: Mapping[str, str], rule: Rule
) -> list[Found]:
    """One way for each key of the combinations of rows; a row of a set counts once, whatever its weight is."""

    def kind(source: str) -> str:
        return "multiset" if source.endswith("'") else kinds[source.split("-")[0]]

    names = [key.name for key in literal.keys]
    groups: dict[Row, list[tuple[Environment, int]]] = {}
    for env, body, _ in found:
        weight = prod(rows[source][row] for source, row in body if kind(source) != "relation")
        if weight > 0:
            groups.setdefault(tuple(env[name] for name in names), []).append((env, weight))
    reads_stream = any(isinstance(each, Positive) and kind(each.atom.source) == "stream" for each in rule.body)
    if not names and not groups and not reads_stream:
        groups[()] = []
    made: list[Found] = []
    for key, members in groups.items():
        results = {each.variable.name: aggregated(each, members) for each in literal.values}
        bound = {name: result for name, result in results.items() if result is not None}
        if len(bound) == len(results):
            made.append(({**dict(zip(names, key)), **bound}, (), 1))
    return made


def _step(literal: Literal, found: list[Found], bound: set[str], rows: Weights) -> list[Found]:
    match literal:
        case Positive(atom, name):
            weights, match_ = rows[atom.source], _matcher(atom, rows[atom.source], bound)
            return [
                (
                    {**extended, name.name: Made(0, atom.relation, row)} if name else extended,
                    (*body, (atom.source, row)),
                    weight * weights[row],
                )
                for env, body, weight in found
                for extended, row in match_(env)
            ]
        case Negative(atom):
            match_ = _matcher(atom, rows[atom.source], bound)
            return [each for each in found if not match_(each[0])]
        case Condition(expression):
            return [each for each in found if value(expression, each[0])]
        case Assign(variable, expression):
            return [({**env, variable.name: value(expression, env)}, body, n) for env, body, n in found]
        case Unpack(pattern, expression, each):
            return [
                (extended, body, weight)
                for env, body, weight in found
                for item in (cast(tuple[Value, ...], value(expression, env)) if each else (value(expression, env),))
                if (extended := unify(pattern, item, env)) is not None
            ]
        case GroupBy(variable, expression, keys):
            return _group(variable.name, expression, [key.name for key in keys], found)
        case OverRows():
            raise AssertionError("it needs to know what the relations are")


def _group(name: str, expression: Expression, keys: list[str], found: list[Found]) -> list[Found]:
    groups: dict[Row, Counter[Any]] = {}
    for env, _, weight in found:
        groups.setdefault(tuple(env[key] for key in keys), Counter())[value(expression, env)] += weight
    return [
        ({**dict(zip(keys, key)), name: Grouped(key[0] if len(key) == 1 else key, tuple(items))}, (), 1)
        for key, values in groups.items()
        if (items := sorted((item, weight) for item, weight in values.items() if weight))
    ]


def _reads(literal: Literal) -> set[str]:
    """The variables that have to be bound before the literal can be taken."""
    read: list[Term]
    match literal:
        case Positive(atom):
            computed = [each for term in atom.terms for each in _computed(term)]
            return {variable.name for term in computed for variable in variables(term)} - _binds(literal)
        case Negative(atom):
            read = [*atom.terms]
        case Condition(expression) | Assign(_, expression):
            read = [expression]
        case Unpack(pattern, expression):
            read = [expression, *_computed(pattern)]
        case GroupBy(_, expression, keys):
            read = [expression, *keys]
        case OverRows(values, keys):
            read = [*(each.expression for each in values if each.expression is not None), *keys]
    return {variable.name for term in read for variable in variables(term)}


def _computed(term: Term) -> list[Term]:
    """The expressions in a pattern, apart from plain variables."""
    match term:
        case Apply() | Call():
            return [term]
        case Apart(_, terms):
            return [each for inner in terms for each in _computed(inner)]
        case _:
            return []


def _binds(literal: Literal) -> set[str]:
    match literal:
        case Positive(atom, row):
            return {name for term in atom.terms for name in _bound_by(term)} | ({row.name} if row else set())
        case Assign(variable):
            return {variable.name}
        case Unpack(pattern):
            return set(_bound_by(pattern))
        case GroupBy(variable, _, keys):
            return {variable.name, *(key.name for key in keys)}
        case OverRows(values, keys):
            return {*(each.variable.name for each in values), *(key.name for key in keys)}
        case _:
            return set()


def _bound_by(term: Term) -> list[str]:
    match term:
        case Var(name):
            return [name]
        case Apart(_, terms):
            return [name for inner in terms for name in _bound_by(inner)]
        case _:
            return []


def unify(term: Term, found: Value, env: Environment) -> Environment | None:
    """What is bound when the value fits the pattern; None when it does not."""
    match term:
        case Wildcard():
            return env
        case Var(name) if name not in env:
            return {**env, name: found}
        case Apart(shape, terms):
            parts = shape.take(found)
            for inner, part in zip(terms, parts or ()):
                extended = unify(inner, part, env)
                if extended is None:
                    return None
                env = extended
            return None if parts is None else env
        case _:
            return env if value(term, env) == found else None


def _matcher(
    atom: Atom, rows: Mapping[Row, int], bound: set[str]
) -> Callable[[Environment], list[tuple[Environment, Row]]]:
    """A function from the variables bound so far to each row that agrees with them, and what they are with that row."""
    terms = list(enumerate(atom.terms))
    known = [
        not isinstance(term, Wildcard | Apart) and {variable.name for variable in variables(term)} <= bound
        for term in atom.terms
    ]
    fixed = [(i, term) for i, term in terms if known[i]]
    rest = sorted(((i, term) for i, term in terms if not known[i]), key=lambda each: isinstance(each[1], Apply | Call))
    by_key: dict[Row, list[Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(row[i] for i, _ in fixed), []).append(row)

    def match_(env: Environment) -> list[tuple[Environment, Row]]:
        found = []
        for row in by_key.get(tuple(value(cast(Expression, term), env) for _, term in fixed), ()):
            extended: Environment | None = env
            for i, term in rest:
                extended = None if extended is None else unify(term, row[i], extended)
            if extended is not None:
                found.append((extended, row))
        return found

    return match_
