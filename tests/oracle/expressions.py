"""Randomness → values and expressions of a given type, over the variables that a body has bound so far."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.oracle.program import Apply, Assign, Condition, Const, Expression, Literal, Positive, Var
from tests.oracle.types import BOOL, STRING, Type, Value, bit

STRINGS = (
    "",
    "a",
    "b",
    "ab",
    "é",
    "z",
    "A",
    "10",
    "9",
    "a b",
    'quo"te',
    "back\\slash",
    "日本",
    "𝄞",
    "line\nbreak",
    "x,y",
)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def values(rng: random.Random, type_: Type, size: int) -> list[Value]:
    """Up to `size` different values of the type, the edges of its range among the candidates."""
    candidates: list[Value]
    match type_:
        case Type("bool"):
            candidates = [False, True]
        case Type("string"):
            candidates = list(STRINGS)
        case Type("bit", width):
            top = 1 << width
            candidates = sorted({n % top for n in (0, 1, 2, 3, 4, 5, top // 2 - 1, top // 2, top - 2, top - 1)})
        case Type(_, width):
            top = 1 << (width - 1)
            candidates = sorted({0, 1, -1, 2, -2, 3, top - 2, top - 1, -top, 1 - top})
    return rng.sample(candidates, min(size, len(candidates)))


@dataclass
class Scope:
    """The variables bound so far. `makes_values(type)`: expressions may leave the pool of the type here."""

    rng: random.Random
    pools: dict[Type, list[Value]]
    makes_values: Callable[[Type], bool]
    variables: list[Var] = field(default_factory=list)

    def of_type(self, type_: Type) -> list[Var]:
        return [variable for variable in self.variables if variable.type == type_]

    def bind(self, literal: Literal) -> None:
        """Takes in the variables that the literal binds."""
        match literal:
            case Positive(atom):
                bound = [term for term in atom.terms if isinstance(term, Var)]
            case Assign(variable):
                bound = [variable]
            case _:
                bound = []
        self.variables += [variable for variable in dict.fromkeys(bound) if variable not in self.variables]


def expression(scope: Scope, type_: Type, depth: int) -> Expression:
    """An expression of the type. It holds at least one variable, or is a constant: so every literal has a type.

    Something must be bound.
    """
    rng = scope.rng
    bound = scope.of_type(type_)
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(bound) if bound else Const(rng.choice(scope.pools[type_]), type_)
    if type_ == BOOL:
        return comparison(scope, depth - 1)
    if type_ == STRING:
        left: Expression = rng.choice(bound) if bound else Const(rng.choice(scope.pools[STRING]), STRING)
        right = rng.choice(scope.variables)
        return Apply("++", (left, right if right.type == STRING else Apply("text", (right,), STRING)), STRING)
    return _integer(scope, type_, depth)


def _integer(scope: Scope, type_: Type, depth: int) -> Expression:
    rng = scope.rng
    bound = scope.of_type(type_)
    if not bound:
        return _cast(scope, type_) or Const(rng.choice(scope.pools[type_]), type_)
    left = rng.choice(bound)
    right = expression(scope, type_, depth - 1)
    match rng.choice(("+", "+", "-", "*", "&|^", "shift", "unary", "if", "divide", "cast", "concat")):
        case "+" | "-" | "*" as op:
            return Apply(op, (left, right) if rng.random() < 0.7 else (right, left), type_)
        case "&|^":
            return Apply(rng.choice("&|^"), (left, right), type_)
        case "shift":
            amount = Const(rng.choice((0, 1, 2, type_.width - 1, type_.width, 33)), bit(32))
            return Apply(rng.choice(("<<", ">>")), (left, amount), type_)
        case "unary":
            return Apply(rng.choice(("neg", "~")), (left,), type_)
        case "if":
            return Apply("if", (comparison(scope, 0), left, right), type_)
        case "divide":
            divisors = [value for value in scope.pools[type_] if value != 0]
            if divisors:
                return Apply(rng.choice("/%"), (left, Const(rng.choice(divisors), type_)), type_)
        case "cast":
            return _cast(scope, type_) or left
        case "concat" if type_.kind == "bit" and type_.width > 1:
            low = rng.randint(1, type_.width - 1)
            high = Apply("as", (left,), bit(type_.width - low))
            return Apply("++", (high, Apply("as", (rng.choice(bound),), bit(low))), type_)
    return Apply("-", (left, right), type_)


def _cast(scope: Scope, type_: Type) -> Expression | None:
    """A variable of another integer type as this one; the language casts between signs only at equal widths."""
    sources = [
        variable
        for variable in scope.variables
        if variable.type.is_integer
        and variable.type != type_
        and (variable.type.kind == type_.kind or variable.type.width == type_.width)
    ]
    return Apply("as", (scope.rng.choice(sources),), type_) if sources else None


def comparison(scope: Scope, depth: int) -> Expression:
    """A condition over the bound variables. Something must be bound."""
    rng = scope.rng
    left = rng.choice(scope.variables)
    if left.type == BOOL and rng.random() < 0.5:
        return left if rng.random() < 0.5 else Apply("not", (left,), BOOL)
    others = [variable for variable in scope.of_type(left.type) if variable != left]
    right: Expression = rng.choice(others or [left])
    if not others or rng.random() < 0.4:
        right = Const(rng.choice(scope.pools[left.type]), left.type)
    elif depth and rng.random() < 0.4:
        right = expression(scope, left.type, depth)
    sides = (left, right) if rng.random() < 0.7 else (right, left)
    single = Apply(rng.choice(COMPARISONS), sides, BOOL)
    if depth and rng.random() < 0.25:
        return Apply(rng.choice(("and", "or", "=>")), (single, comparison(scope, depth - 1)), BOOL)
    return single


def guarded_division(scope: Scope, fresh: Var) -> list[Literal]:
    """`y != 0, var fresh = x / y`: a division that is safe only because of the condition in front of it."""
    left, right = (scope.rng.choice(scope.of_type(fresh.type)) for _ in range(2))
    guard = Condition(Apply("!=", (right, Const(0, fresh.type)), BOOL))
    return [guard, Assign(fresh, Apply(scope.rng.choice("/%"), (left, right), fresh.type))]
