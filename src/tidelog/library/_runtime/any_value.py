"""`Any`: a value with its type. Values of different types are never equal; their order is that of the types' names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any

from tidelog.types import Type
from tidelog.values.definitions import Definitions
from tidelog.values.text import debug_text, record_text


@total_ordering
@dataclass(slots=True, unsafe_hash=True)  # a frozen class would make values six times as slowly
class AnyValue:
    """Immutable. `definitions` are those of the type's program; they are not part of the value."""

    type: Type
    value: Any
    definitions: Definitions = field(compare=False)

    def __lt__(self, other: AnyValue) -> bool:
        if self.type == other.type:
            return bool(self.value < other.value)
        return str(self.type) < str(other.type)

    def __repr__(self) -> str:
        return f"AnyValue({self.type}, {self.value!r})"


def any_record_text(value: AnyValue) -> str:
    return record_text(value.value, value.type, value.definitions)


def any_debug_text(value: AnyValue) -> str:
    return debug_text(value.value, value.type, value.definitions)


def refuse_any(value: Any) -> AnyValue:
    """Raises an error: text does not have the type of a value."""
    raise ValueError("a value of type ddlog_std::Any cannot be read")
