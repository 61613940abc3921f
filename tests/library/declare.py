"""Types and a context for tests of extern functions, and those functions by module, without a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from tidelog.check.program import Attribute, Constructor, Field, TypeDefinition
from tidelog.diagnostics.spans import Source, Span
from tidelog.library._runtime.extern import ExternContext
from tidelog.library._runtime.registry import library_externs
from tidelog.library._runtime.representations import LIBRARY_TYPES
from tidelog.types import BOOL, DOUBLE, S128, STRING, NamedType, Type, TypeVariable
from tidelog.values.definitions import Definitions

SPAN = Span(Source("test.dl", ""), 0, 0)
A, B = TypeVariable("A"), TypeVariable("B")


def vec(item: Type) -> NamedType:
    return NamedType("ddlog_std::Vec", (item,))


def set_(item: Type) -> NamedType:
    return NamedType("ddlog_std::Set", (item,))


def map_(key: Type, value: Type) -> NamedType:
    return NamedType("ddlog_std::Map", (key, value))


def option(item: Type) -> NamedType:
    return NamedType("ddlog_std::Option", (item,))


def result(value: Type, error: Type) -> NamedType:
    return NamedType("ddlog_std::Result", (value, error))


def interned(item: Type) -> NamedType:
    return NamedType("internment::Intern", (item,))


ISTRING = interned(STRING)
JSON = NamedType("json::JsonValue")


def serde(text: str) -> tuple[Attribute, ...]:
    return (Attribute("rust", f"serde({text})", SPAN),)


def field(name: str, type_: Type, *attributes: Attribute) -> Field:
    return Field(name, type_, attributes)


def type_(
    name: str, *constructors: Constructor, parameters: tuple[str, ...] = (), attributes: tuple[Attribute, ...] = ()
) -> TypeDefinition:
    return TypeDefinition(name, parameters, constructors, attributes, SPAN)


def constructor(name: str, *fields: Field, attributes: tuple[Attribute, ...] = ()) -> Constructor:
    return Constructor(name, fields, attributes)


def struct(name: str, *fields: Field, attributes: tuple[Attribute, ...] = ()) -> TypeDefinition:
    return type_(name, constructor(name, *fields), attributes=attributes)


_BASIC = (
    type_(
        "ddlog_std::Option",
        constructor("ddlog_std::None"),
        constructor("ddlog_std::Some", field("x", A)),
        parameters=("A",),
    ),
    type_(
        "ddlog_std::Result",
        constructor("ddlog_std::Ok", field("res", A)),
        constructor("ddlog_std::Err", field("err", B)),
        parameters=("A", "B"),
    ),
    type_(
        "json::JsonNum",
        constructor("json::JsonInt", field("i", S128)),
        constructor("json::JsonFloat", field("d", DOUBLE)),
    ),
    type_(
        "json::JsonValue",
        constructor("json::JsonNull"),
        constructor("json::JsonBool", field("b", BOOL)),
        constructor("json::JsonNumber", field("n", NamedType("json::JsonNum"))),
        constructor("json::JsonString", field("s", ISTRING)),
        constructor("json::JsonArray", field("a", vec(JSON))),
        constructor("json::JsonObject", field("o", map_(ISTRING, JSON))),
    ),
    type_("json::JsonWrapper", constructor("json::JsonWrapper", field("x", A)), parameters=("A",)),
)


def context(*types: TypeDefinition, functions: Mapping[str, Callable[..., Any]] | None = None) -> ExternContext:
    """Returns a context with the basic types of the library, the given ones, and functions by their names."""
    table = {each.name: each for each in (*_BASIC, *types)}
    known = functions or {}
    return ExternContext(Definitions(table, LIBRARY_TYPES), table, lambda name, _: known[name])


def externs_of(module: str) -> SimpleNamespace:
    """Returns the extern functions of a module as attributes."""
    found = {name.rpartition("::") for name in library_externs()}
    return SimpleNamespace(**{name: library_externs()[f"{own}::{name}"] for own, _, name in found if own == module})
