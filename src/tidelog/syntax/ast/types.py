"""Types as written. `(T)` is `T`: parentheses leave no node."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.syntax.ast.nodes import Node


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """`string`, `bigint`, `u32`, `Vec<u8>`, `net::ipv4::Addr`, or a name that means nothing."""

    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeNumber(Node):
    """`10` among the arguments of a type: `decimal<10, 2>`."""

    value: int


@dataclass(frozen=True, slots=True)
class SizedType(Node):
    """`bit<width>` or `signed<width>`; `family` is the word before the `<`."""

    family: str
    width: int


@dataclass(frozen=True, slots=True)
class TypeVariable(Node):
    """`'A`; the name has no quote."""

    name: str


@dataclass(frozen=True, slots=True)
class TupleType(Node):
    """`(A, B)`, or `()`: never one item."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class ArgumentType(Node):
    """`T` or `mut T`: the type of an argument of a function."""

    mutable: bool
    type: Type


@dataclass(frozen=True, slots=True)
class FunctionType(Node):
    """`function(A, mut B): C`, or `|A, mut B|: C` where `bars`. Without a result it is `()`."""

    arguments: tuple[ArgumentType, ...]
    result: Type | None
    bars: bool = False


Type = NamedType | TypeNumber | SizedType | TypeVariable | TupleType | FunctionType
