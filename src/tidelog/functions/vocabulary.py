"""Everything that generated code can name: a handful of functions, and nothing of Python's own.

Generated code has no builtins, reads one attribute (`call`, of functions that are values) and otherwise consists of
operators, mangled names, literals and these names. So no program can reach Python, whatever it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tidelog.deep_recursion import deeply, is_deep
from tidelog.functions.runtime_errors import retry_deep
from tidelog.iso_texts import value_text
from tidelog.scaled_values import (
    decimal_arithmetic,
    decimal_of_decimal,
    decimal_of_float,
    decimal_of_integer,
    float_of_decimal,
    integer_of_decimal,
    negative,
    time_arithmetic,
    to_units,
    within,
)
from tidelog.types import Type
from tidelog.values.big_integers import product, shifted_left
from tidelog.values.definitions import substitute
from tidelog.values.floats import NAN, double, double_of, float_text, single, single_of
from tidelog.values.floats import quotient as real_quotient
from tidelog.values.floats import remainder as real_remainder
from tidelog.values.function_value import FunctionValue
from tidelog.values.maps import Map
from tidelog.values.structs import construct, with_item
from tidelog.values.text import integer_text
from tidelog.values.vec import Vec


def quotient(left: int, right: int) -> int:
    """left / right, truncated toward zero."""
    return left // right if (left < 0) == (right < 0) else -(abs(left) // abs(right))


def remainder(left: int, right: int) -> int:
    """Returns the remainder of `quotient`; it has the sign of left."""
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


class TypeTemplate:
    """A type with variables in it; called with the types that they stand for at run time, it gives the whole type."""

    def __init__(self, type_: Type, variables: tuple[str, ...]) -> None:
        self._type = type_
        self._variables = variables
        self._made: dict[tuple[Type, ...], Type] = {}

    def __call__(self, *types: Type) -> Type:
        found = self._made.get(types)
        if found is None:
            found = self._made[types] = substitute(self._type, dict(zip(self._variables, types)))
        return found


def vocabulary(function_text: Callable[[FunctionValue], str]) -> dict[str, Any]:
    """Returns a fresh scope; `function_text` depends on the program's types."""
    return {
        "__builtins__": {},
        "Exception": Exception,
        "str": str,
        "min": min,
        "inf": math.inf,
        "NAN": NAN,
        "product": product,
        "shifted_left": shifted_left,
        "quotient": quotient,
        "remainder": remainder,
        "real_quotient": real_quotient,
        "real_remainder": real_remainder,
        "double": double,
        "single": single,
        "double_of": double_of,
        "single_of": single_of,
        "decimal_arithmetic": decimal_arithmetic,
        "decimal_of_decimal": decimal_of_decimal,
        "decimal_of_float": decimal_of_float,
        "decimal_of_integer": decimal_of_integer,
        "float_of_decimal": float_of_decimal,
        "integer_of_decimal": integer_of_decimal,
        "time_arithmetic": time_arithmetic,
        "negative": negative,
        "to_units": to_units,
        "within": within,
        "value_text": value_text,
        "integer_text": integer_text,
        "float_text": float_text,
        "function_text": function_text,
        "join": "".join,
        "new": tuple.__new__,
        "construct": construct,
        "with_item": with_item,
        "Vec": Vec,
        "Map": Map,
        "FunctionValue": FunctionValue,
        "is_deep": is_deep,
        "deeply": deeply,
        "retry_deep": retry_deep,
    }
