"""Adds the fact of `ddlog_std::Singleton`, the relation that always has its one row.

    A(1) :- Singleton().    →    A(1) :- Singleton().    Singleton().

The library declares the relation. A program gets the fact if it reads the relation or shows all internal relations.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.check import program
from tidelog.types import NamedType

NAME = "ddlog_std::Singleton"


def with_singleton(source: program.TypedProgram, *, always: bool) -> program.TypedProgram:
    """Returns the program with the fact where it mentions the relation; with `always`, with the relation in any
    case."""
    relation = source.relations.get(NAME)
    if relation is None:
        if not always or NAME not in source.types:
            return source
        relation = program.Relation(NAME, "", (), source.types[NAME].span, value=NamedType(NAME))
    return replace(source, relations={**source.relations, NAME: relation}, rules=(*source.rules, the_fact(relation)))


def the_fact(relation: program.Relation) -> program.Rule:
    """Returns the rule that says that the row is there."""
    return program.Rule((program.Atom(NAME, (), relation.span),), (), relation.span)
