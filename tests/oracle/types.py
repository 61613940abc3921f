"""The oracle's values, their types, and what makes them and takes them apart.

Values are plain Python, so that `<` and `==` are those of the language: bool, int, str, float, tuples (also for
vectors), sorted tuples for sets, sorted tuples of pairs for maps, `Made` for structs and unions, `Grouped` for groups.
A function is a Python function beside its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True, order=True)
class Made:
    """A value of a declared type; `index` is the place of its constructor."""

    index: int
    name: str
    fields: tuple[Any, ...]


class Grouped(NamedTuple):
    """What `group_by` gives: the values of a key, each once with its weight, in order."""

    key: Value
    items: tuple[tuple[Value, int], ...]


Value = bool | int | str | float | tuple[Any, ...] | Made
Row = tuple[Value, ...]
Relations = Mapping[str, frozenset[Row]]
Weights = Mapping[str, Mapping[Row, int]]


@dataclass(frozen=True, slots=True)
class Type:
    """`kind` is bool, string, bit, signed, tuple, vec, set, map, group or the name of a declared type.

    Bit and signed have a width; `items` are the types inside; `text` is how the type is written if not as its kind,
    `declaration` what the program has to declare for it.
    """

    kind: str
    width: int = 0
    items: tuple[Type, ...] = ()
    text: str = ""
    declaration: str = ""

    @property
    def is_integer(self) -> bool:
        return self.width > 0


BOOL = Type("bool")
STRING = Type("string")


def bit(width: int) -> Type:
    return Type("bit", width)


def signed(width: int) -> Type:
    return Type("signed", width)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the program, of the library, a constructor, a field: whatever makes a value from values.

    `template` is how a call is written, `declaration` what the program has to declare for it, with empty lines
    between declarations.
    """

    template: str
    parameters: tuple[Type, ...]
    result: Type
    python: Callable[..., Value]
    declaration: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to take values of a type apart: `take` gives the parts, None for a value of another shape."""

    template: str
    type: Type
    parts: tuple[Type, ...]
    take: Callable[[Any], tuple[Value, ...] | None]
