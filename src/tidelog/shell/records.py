"""Records: values as a script writes them, before their type is known.

    Scalar              true    -5    0xff    1.5    "text"
    Serialized          @json"{}"
    TupleRecord         (1, "a")
    ArrayRecord         [1, 2]          for vectors, sets and maps alike
    StructRecord        C    C{1, 2}    C{.x = 1}

Every record has its position, for errors. `str` writes one as an error shows it, shortened.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.shell.place import Place
from tidelog.values.floats import float_text
from tidelog.values.quote import quote
from tidelog.values.text import integer_text

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Scalar:
    """A Boolean, an integer, a float or a string, by the class of `value`."""

    value: bool | int | float | str
    place: Place
    digits: str = ""
    """The text of a float, which may be a decimal."""

    def __str__(self) -> str:
        match self.value:
            case bool():
                return "true" if self.value else "false"
            case int():
                return _cut(integer_text(self.value))
            case float():
                text = float_text(self.value, 64)
                return text if "." in text or "n" in text else f"{text}.0"
            case _:
                return _cut(quote(self.value))


@dataclass(frozen=True, slots=True)
class Serialized:
    """Text in another format, for a value of any type."""

    format: str
    text: str
    place: Place

    def __str__(self) -> str:
        return _cut(f"@{self.format}{quote(self.text)}")


@dataclass(frozen=True, slots=True)
class TupleRecord:
    items: tuple[Record, ...]
    place: Place

    def __str__(self) -> str:
        return _listed("(", self.items, ")")


@dataclass(frozen=True, slots=True)
class ArrayRecord:
    items: tuple[Record, ...]
    place: Place

    def __str__(self) -> str:
        return _listed("[", self.items, "]")


@dataclass(frozen=True, slots=True)
class StructRecord:
    """`names` are the names of the fields, or None if they are given by position."""

    name: str
    fields: tuple[Record, ...]
    names: tuple[str, ...] | None
    place: Place

    def __str__(self) -> str:
        if self.names is None:
            return self.name + _listed("{", self.fields, "}") if self.fields else self.name
        first = f".{self.names[0]} = {self.fields[0]}"
        return f"{self.name}{{{first}{', ...' if len(self.names) > 1 else ''}}}"


Record = Scalar | Serialized | TupleRecord | ArrayRecord | StructRecord


def _listed(before: str, items: tuple[Record, ...], after: str) -> str:
    shown: list[str] = []
    for item in items:
        # Deeper records are not visited: records may be nested a thousand levels deep.
        shown.append(str(item) if isinstance(item, Scalar) else "...")
        if sum(map(len, shown)) > _LONGEST:
            shown.append("...")
            break
    return f"{before}{', '.join(shown)}{after}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
