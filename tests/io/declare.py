"""Relations for tests that need no program."""

from __future__ import annotations

from tidelog.diagnostics.spans import Source, Span
from tidelog.rules.ir import Column, Relation, Role
from tidelog.types import Type

NOWHERE = Span(Source("<test>", ""), 0, 0)


def relation(name: str, /, **columns: Type) -> Relation:
    """`relation("Edge", src=STRING, dst=U32)` is `input relation Edge(src: string, dst: u32)`."""
    return Relation(name, tuple(Column(key, type_) for key, type_ in columns.items()), Role.INPUT, NOWHERE)
