"""Names that generated source refers to but does not contain, and the unit of source that is compiled at once.

Source is text that can be sent to another process. A link says what one of its names stands for, and is resolved where
the source is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidelog.types import Type
from tidelog.values.function_value import Key


@dataclass(frozen=True, slots=True)
class FunctionLink:
    """A function of the program that another unit defines."""

    id: str


@dataclass(frozen=True, slots=True)
class ExternLink:
    """The Python function of an extern function, called with the values of its arguments and nothing else."""

    id: str


@dataclass(frozen=True, slots=True)
class ContextLink:
    """The `ExternContext` that extern functions may ask for beside their arguments."""


@dataclass(frozen=True, slots=True)
class ClassLink:
    """The class of a constructor."""

    constructor: str


@dataclass(frozen=True, slots=True)
class ConstantLink:
    """The one value of a constructor without fields."""

    constructor: str


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A value that has no literal: of a struct, a union, a collection or another declared type."""

    value: Any
    type: Type


@dataclass(frozen=True, slots=True)
class TypeLink:
    """A type without variables."""

    type: Type


@dataclass(frozen=True, slots=True)
class TemplateLink:
    """A type with these variables."""

    type: Type
    variables: tuple[str, ...]


Link = FunctionLink | ExternLink | ContextLink | ClassLink | ConstantLink | ValueLink | TypeLink | TemplateLink


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """A `FunctionCode` that the unit needs: `name` is that of the code, `maker` that of the function that makes it."""

    name: str
    maker: str
    key: Key
    text: str
    captured: tuple[Type, ...]
    type_parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """Python source, what its names stand for, the functions of the program that it defines (by their mangled names),
    and the codes of its function values."""

    source: str
    links: tuple[tuple[str, Link], ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    codes: tuple[CodeEntry, ...] = ()
