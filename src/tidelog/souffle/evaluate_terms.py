"""Terms and comparisons of Soufflé's language → Python values, in strata that are recomputed as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.library import souffle_functors as functions
from tidelog.souffle import terms
from tidelog.souffle.constants import rounded, wrapped
from tidelog.values.structs import Shape, Struct, classes, field_values

Row = tuple[Any, ...]
Bindings = dict[str, Any]
_HALF = 32


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of types by kind, and the place of each branch there."""

    types: Mapping[str, Shape]
    places: Mapping[tuple[str, str], int]

    def make(self, kind: str, branch: str, fields: tuple[Any, ...]) -> Struct:
        return classes(self.types[kind])[self.places[kind, branch]](*fields)

    def fields(self, value: Struct, kind: str, branch: str) -> tuple[Any, ...] | None:
        """Returns the fields of a value; None if it has another branch."""
        if value.__variant__.index != self.places[kind, branch]:
            return None
        return field_values(value)


@dataclass(slots=True)
class TermEvaluation:
    """`functors` are those of the program. `counter` returns the next value of `autoinc()`, `round` is the round."""

    shapes: Shapes
    bits: int
    functors: Mapping[str, Callable[..., Any]]
    counter: Callable[[], int]
    round: int = 0

    def value(self, term: terms.Term, bound: Bindings) -> Any:
        match term:
            case terms.Var(name):
                return bound[name]
            case terms.Const(value):
                return value
            case terms.Make(branch, arguments, kind):
                return self.shapes.make(kind, branch, tuple(self.value(each, bound) for each in arguments))
            case terms.Count(_, is_round):
                return self.round if is_round else self.counter()
            case terms.Op(name, arguments, kind):
                given = [self.value(each, bound) for each in arguments]
                return self._operation(name, given, kind, arguments[0].kind)

    def holds(self, test: terms.Test, bound: Bindings) -> bool:
        left, right = self.value(test.left, bound), self.value(test.right, bound)
        match test.operator:
            case "=":
                return bool(left == right)
            case "!=":
                return bool(left != right)
            case "<":
                return bool(left < right)
            case "<=":
                return bool(left <= right)
            case ">":
                return bool(left > right)
            case ">=":
                return bool(left >= right)
            case "match":
                return functions.matches(left, right)
            case "!match":
                return functions.differs(left, right)
            case _:
                return (left in right) is (test.operator == "contains")

    def _operation(self, name: str, given: list[Any], kind: str, first: str) -> Any:
        if name.startswith("@"):
            return self.functors[name[1:]](*given)
        if kind == "float" and name in ("+", "-", "*", "/", "neg", "^"):
            return rounded(_real(name, given), self.bits)
        match name:
            case "min":
                return min(given)
            case "max":
                return max(given)
            case "cat":
                return "".join(given)
            case "+" if kind == "symbol":
                return "".join(given)
            case "strlen":
                return functions.length(given[0])
            case "substr":
                return functions.part(*given)
            case "to_string":
                return self._text(given[0], first)
            case "to_number" | "to_unsigned" | "to_float":
                return self._number(given[0], first, kind)
            case "ord" | "cast":
                return self._cast(given[0], first, kind)
        return wrapped(_integer(name, given, self.bits), kind, self.bits)

    def _text(self, value: Any, kind: str) -> str:
        if kind == "float":
            return functions.float_text(value)
        return str(value)

    def _number(self, value: Any, kind: str, wanted: str) -> Any:
        if kind == "symbol":
            read = {"number": functions.to_signed, "unsigned": functions.to_whole, "float": functions.to_real}[wanted]
            value = read(value)
        elif kind == "float" and wanted != "float":
            value = functions.truncated(value)
        return rounded(float(value), self.bits) if wanted == "float" else wrapped(int(value), wanted, self.bits)

    def _cast(self, value: Any, kind: str, wanted: str) -> Any:
        if kind == wanted:
            return value
        if kind == "float":
            return wrapped(functions.bits_of_float(value, self.bits), wanted, self.bits)
        if wanted == "float":
            return functions.float_of_bits(value, self.bits)
        if wanted in ("number", "unsigned"):
            number = value if isinstance(value, int) else functions.ordinal_of(str(value))
            return wrapped(number, wanted, self.bits)
        return functions.symbol_of(value) if wanted == "symbol" else value


def _real(name: str, given: list[float]) -> float:
    match name:
        case "+":
            return given[0] + given[1]
        case "-":
            return given[0] - given[1]
        case "*":
            return given[0] * given[1]
        case "neg":
            return -given[0]
        case "/":
            try:
                return given[0] / given[1]
            except ZeroDivisionError:
                return math.nan if not given[0] or math.isnan(given[0]) else math.copysign(math.inf, given[0])
        case _:
            try:
                return math.pow(given[0], given[1])
            except (OverflowError, ValueError):
                return math.nan


def _integer(name: str, given: list[int], bits: int) -> int:
    left, right = given[0], given[-1]
    match name:
        case "+":
            return left + right
        case "-" | "neg":
            return left - right if len(given) > 1 else -left
        case "*":
            return left * right
        case "/":
            found = abs(left) // abs(right)
            return found if (left < 0) == (right < 0) else -found
        case "%":
            found = abs(left) % abs(right)
            return -found if left < 0 else found
        case "^":
            return functions.integer_power(left, right)
        case "band":
            return left & right
        case "bor":
            return left | right
        case "bxor":
            return left ^ right
        case "bnot":
            return ~left
        case "bshl":
            return left << (right & (bits - 1))
        case "bshr":
            return left >> (right & (bits - 1))
        case "bshru":
            return (left & ((1 << bits) - 1)) >> (right & (bits - 1))
        case "land":
            return int(bool(left) and bool(right))
        case "lor":
            return int(bool(left) or bool(right))
        case "lxor":
            return int(bool(left) != bool(right))
        case _:
            return int(not left)
