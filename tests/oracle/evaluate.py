"""A program and its input facts → the rows of every relation: Datalog by definition.

Relations are numbered so that a relation stands no lower than what it reads and higher than what it negates. Number
by number, every rule is run on everything, again and again, until a round brings nothing new. No delta, no index that
outlives a literal, no state: slow, and easy to believe.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import cast

from tests.oracle.program import (
    Apply,
    Assign,
    Atom,
    Condition,
    Const,
    Expression,
    Literal,
    Negative,
    Positive,
    Program,
    Relations,
    Row,
    Rule,
    Term,
    Type,
    Value,
    Var,
    Wildcard,
    variables,
)

Environment = dict[str, Value]
BodyRows = tuple[tuple[str, Row], ...]
Instance = tuple[Row, BodyRows]


class TooLargeError(Exception):
    """A rule has more instances than the caller wants to wait for."""


class NotStratifiedError(Exception):
    """A relation depends on its own negation."""


def evaluate(program: Program, facts: Relations, limit: int | None = None) -> Relations:
    """All rows of all relations. Raises TooLargeError when a body matches more than `limit` times on the way."""
    rows: dict[str, frozenset[Row]] = {
        relation.name: frozenset(facts.get(relation.name, ())) for relation in program.relations
    }
    number = strata(program)
    for current in sorted(set(number.values())):
        rules = [rule for rule in program.rules if number[rule.head.relation] == current]
        while True:
            derived = [(rule.head.relation, row) for rule in rules for row, _ in instances(rule, rows, limit)]
            if all(row in rows[name] for name, row in derived):
                break
            for name in {name for name, _ in derived}:
                rows[name] |= {row for other, row in derived if other == name}
    return rows


def strata(program: Program) -> dict[str, int]:
    """The number of each relation's stratum. Raises NotStratifiedError."""
    number = {relation.name: 0 for relation in program.relations}
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            for literal in rule.body:
                if isinstance(literal, Positive | Negative):
                    least = number[literal.atom.relation] + isinstance(literal, Negative)
                    if number[rule.head.relation] < least:
                        number[rule.head.relation] = least
                        changed = True
        if max(number.values(), default=0) > len(number):
            raise NotStratifiedError
    return number


def instances(rule: Rule, rows: Relations, limit: int | None = None) -> list[Instance]:
    """Each way in which the body holds: the head's row, and the row at each positive literal.

    Literals are taken in the order in which they stand, so an expression runs only where those before it hold; but
    one that reads what only a later literal binds has to wait for it.
    """
    found: list[tuple[Environment, BodyRows]] = [({}, ())]
    bound: set[str] = set()
    waiting = list(rule.body)
    while waiting:
        literal = next(literal for literal in waiting if _reads(literal) <= bound)
        waiting.remove(literal)
        match literal:
            case Positive(atom):
                match_ = _matcher(atom, rows[atom.relation], bound)
                found = [
                    (extended, (*body, (atom.relation, row))) for env, body in found for extended, row in match_(env)
                ]
                bound |= {term.name for term in atom.terms if isinstance(term, Var)}
            case Negative(atom):
                match_ = _matcher(atom, rows[atom.relation], bound)
                found = [(env, body) for env, body in found if not match_(env)]
            case Condition(expression):
                found = [(env, body) for env, body in found if value(expression, env)]
            case Assign(variable, expression):
                found = [({**env, variable.name: value(expression, env)}, body) for env, body in found]
                bound.add(variable.name)
        if limit is not None and len(found) > limit:
            raise TooLargeError
    return [(_row(rule.head, env), body) for env, body in found]


def _reads(literal: Literal) -> set[str]:
    """The variables that have to be bound before the literal can be taken."""
    read: list[Term]
    match literal:
        case Positive(atom):
            read = [term for term in atom.terms if isinstance(term, Apply)]
        case Negative(atom):
            read = [*atom.terms]
        case Condition(expression) | Assign(_, expression):
            read = [expression]
    return {variable.name for term in read for variable in variables(term)}


def _matcher(
    atom: Atom, rows: Iterable[Row], bound: set[str]
) -> Callable[[Environment], list[tuple[Environment, Row]]]:
    """A function from the variables bound so far to each row that agrees with them, and what they are with that row."""
    known = [(i, term) for i, term in enumerate(atom.terms) if not isinstance(term, Wildcard)]
    free = [(i, term.name) for i, term in known if isinstance(term, Var) and term.name not in bound]
    fixed = [(i, term) for i, term in known if (i, getattr(term, "name", None)) not in free]
    by_key: dict[Row, list[Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(row[i] for i, _ in fixed), []).append(row)

    def match_(env: Environment) -> list[tuple[Environment, Row]]:
        agreeing = by_key.get(tuple(value(term, env) for _, term in fixed), ())
        extended = [({**env, **{name: row[i] for i, name in free}}, row) for row in agreeing]
        return [(new, row) for new, row in extended if all(new[name] == row[i] for i, name in free)]

    return match_


def _row(head: Atom, env: Environment) -> Row:
    return tuple(value(cast(Expression, term), env) for term in head.terms)


def value(expression: Expression, env: Environment) -> Value:
    """The value of an expression. Raises ZeroDivisionError."""
    match expression:
        case Var(name):
            return env[name]
        case Const(constant):
            return constant
        case Apply("if", (condition, then, otherwise)):
            return value(then if value(condition, env) else otherwise, env)
        case Apply("and", (left, right)):
            return value(left, env) and value(right, env)
        case Apply("or", (left, right)):
            return value(left, env) or value(right, env)
        case Apply("=>", (left, right)):
            return not value(left, env) or value(right, env)
        case Apply("text", (operand,)):
            shown = value(operand, env)
            return str(shown).lower() if isinstance(shown, bool) else str(shown)
        case Apply("++", (left, right), type_) if type_.is_integer:
            return cast(int, value(left, env)) << right.type.width | cast(int, value(right, env))
        case Apply("<<" | ">>" as op, (left, right), type_):
            machine_width = max(8, 1 << (type_.width - 1).bit_length())
            amount = cast(int, value(right, env)) % machine_width
            number = cast(int, value(left, env))
            return _wrap(number << amount if op == "<<" else number >> amount, type_)
        case Apply(op, args, type_):
            result = OPERATORS[op](*(value(arg, env) for arg in args))
            return _wrap(cast(int, result), type_) if type_.is_integer else result


def _wrap(number: int, type_: Type) -> int:
    number %= 1 << type_.width
    return number - (1 << type_.width) if type_.kind == "signed" and number >> (type_.width - 1) else number


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


OPERATORS: dict[str, Callable[..., Value]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": lambda a, b: a - b * _divide(a, b)},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor, "~": operator.invert, "neg": operator.neg},
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"not": operator.not_, "++": operator.add, "as": lambda a: a},
}
