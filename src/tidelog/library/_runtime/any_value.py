"""`Any`: a value with its type. Values of different types are never equal; their order is that of the types' names."""

from __future__ import annotations

from functools import total_ordering
from typing import Any

from tidelog.types import UNIT, Type
from tidelog.values.definitions import Definitions
from tidelog.values.text import debug_text, record_text


@total_ordering
class AnyValue:
    """Immutable. `definitions` are those of the type's program; they are not part of the value."""

    __slots__ = ("definitions", "type", "value")

    def __init__(self, type_: Type, value: Any, definitions: Definitions) -> None:
        self.type = type_
        self.value = value
        self.definitions = definitions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnyValue):
            return NotImplemented
        return self.type == other.type and bool(self.value == other.value)

    def __lt__(self, other: AnyValue) -> bool:
        if self.type == other.type:
            return bool(self.value < other.value)
        return str(self.type) < str(other.type)

    def __hash__(self) -> int:
        return hash((self.type, self.value))

    def __repr__(self) -> str:
        return f"AnyValue({self.type}, {self.value!r})"

    def __reduce__(self) -> tuple[type[AnyValue], tuple[Type, Any, Definitions]]:
        return AnyValue, (self.type, self.value, self.definitions)


def any_record_text(value: AnyValue) -> str:
    return record_text(value.value, value.type, value.definitions)


def any_debug_text(value: AnyValue) -> str:
    return debug_text(value.value, value.type, value.definitions)


def default_any() -> AnyValue:
    return AnyValue(UNIT, (), Definitions())


def refuse_any(value: Any) -> AnyValue:
    """Raises an error: text does not have the type of a value."""
    raise ValueError("a value of type ddlog_std::Any cannot be read")
