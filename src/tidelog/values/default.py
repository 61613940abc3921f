"""The default value of a type: what `default()` gives, and a field that a record leaves out.

False, 0, the empty text, an empty collection, a tuple of defaults, the first constructor with defaults in its fields; a
function returns the default of its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.deep_recursion import at_any_depth
from tidelog.scaled_values import from_units
from tidelog.types import (
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    FunctionType,
    NamedType,
    StringType,
    TimestampType,
    TupleType,
    Type,
)
from tidelog.values.definitions import Definitions
from tidelog.values.externs import ExternKind
from tidelog.values.function_value import FunctionCode, FunctionValue, Key

DEFAULT_FUNCTION = "default closure"


def default_value(type_: Type, definitions: Definitions) -> Any:
    """Raises RecursionError for a type whose first constructor always holds another value of the type."""
    return at_any_depth(_default, type_, definitions)


def _default(type_: Type, definitions: Definitions) -> Any:
    match type_:
        case BoolType():
            return False
        case FloatType():
            return 0.0
        case StringType():
            return ""
        case TupleType(items):
            return tuple([_default(item, definitions) for item in items])
        case FunctionType():
            return FunctionValue(_Constant(type_, definitions).code)
        case NamedType(_, arguments) if (extern := definitions.extern(type_)) is not None:
            if extern.default is not None:
                return extern.default
            if extern.kind is ExternKind.SEQUENCE:
                return extern.make(())
            return extern.make(_default(extern.inner(*arguments), definitions))
        case NamedType():
            first = definitions.variants(type_)[0]
            fields = [_default(field, definitions) for _, field in first.fields]
            return first.cls(*fields)
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return from_units(0, type_)
        case _:
            return 0


class _Constant:
    """The home of the default function of a type."""

    def __init__(self, type_: FunctionType, definitions: Definitions) -> None:
        self._type = type_
        self._definitions = definitions
        self.code = FunctionCode((DEFAULT_FUNCTION, 0, 0, str(type_)), DEFAULT_FUNCTION, (), (), self._make, self)

    def function_code(self, key: Key) -> FunctionCode:
        assert key == self.code.key
        return self.code

    def _make(self) -> Callable[..., Any]:
        places = [place for place, (_, mutable) in enumerate(self._type.parameters) if mutable]
        result, definitions = self._type.result, self._definitions

        def call(*arguments: Any) -> Any:
            value = _default(result, definitions)
            return (value, *(arguments[place] for place in places)) if places else value

        return call

    def __reduce__(self) -> tuple[Any, ...]:
        return _Constant, (self._type, self._definitions)
