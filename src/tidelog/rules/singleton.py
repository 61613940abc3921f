"""`ddlog_std::Singleton()`: the relation that always has its one row.

The library declares it; a program that reads it, or wants to see all internal relations, gets the fact with it.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.check import program
from tidelog.check.types import NamedType

_NAME = "ddlog_std::Singleton"


def with_singleton(source: program.TypedProgram, *, always: bool) -> program.TypedProgram:
    """The program with the fact where it mentions the relation; with `always`, with the relation in any case."""
    relation = source.relations.get(_NAME)
    if relation is None:
        if not always or _NAME not in source.types:
            return source
        relation = program.Relation(_NAME, "", (), source.types[_NAME].span, value=NamedType(_NAME))
    fact = program.Rule((program.Atom(_NAME, (), relation.span),), (), relation.span)
    return replace(source, relations={**source.relations, _NAME: relation}, rules=(*source.rules, fact))
