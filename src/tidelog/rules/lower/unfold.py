"""An `Unfold` literal → the Python function that takes values apart.

    (var a, Some{var b}) = FlatMap(f(x))        x  →  [(a, b) for each item of f(x) that fits the pattern]

Both engines use it: a rule continues once for each tuple in the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidelog.check import typed
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import ScalarFunction, compile_flat_map, compile_match
from tidelog.rules.ir import Unfold


@dataclass(frozen=True, slots=True)
class Unfolding:
    """`function` gives a list of ways or (where not `each`) one way, or None where the value does not fit.

    Where ways are `numbered`, each ends with its number.
    """

    function: ScalarFunction
    each: bool
    numbered: bool = False

    def call(self, *arguments: Any) -> list[tuple[Any, ...]]:
        """Returns the ways in which the rule goes on: the values of the pattern's variables."""
        found: Any = self.function.call(*arguments)
        if self.numbered:
            return [(*way, number) for number, way in enumerate(found)]
        if self.each:
            ways: list[tuple[Any, ...]] = found
            return ways
        return [] if found is None else [found]


def compile_unfold(unfold: Unfold, functions: CompiledFunctions) -> Unfolding:
    """Returns the function of the variables that the expression reads, in the order of their names."""
    names = sorted(typed.variables(unfold.expression))
    compile_ = compile_flat_map if unfold.each else compile_match
    return Unfolding(compile_(unfold.pattern, unfold.expression, names, functions), unfold.each, unfold.numbered)
