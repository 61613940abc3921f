"""Items with other names: of relations, types and branches in one pass, of variables in another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from tidelog.souffle.text import tree

Name = Callable[[str, str], str]
"""A name and what it is a name of (`relation`, `type` or `branch`) → another name."""
AnyItem = TypeVar("AnyItem", bound=tree.Item)
AnyBody = TypeVar("AnyBody", bound=tree.Body)


def renamed(item: tree.Item, name: Name) -> tree.Item:
    """Returns an item with `name` applied to every relation, type and branch in it."""
    match item:
        case tree.TypeDeclaration():
            return replace(
                item,
                name=name(item.name, "type"),
                types=tuple((name(each, "type"), span) for each, span in item.types),
                attributes=_attributes(item.attributes, name),
                branches=tuple(
                    replace(each, name=name(each.name, "branch"), attributes=_attributes(each.attributes, name))
                    for each in item.branches
                ),
            )
        case tree.RelationDeclaration():
            of = name(item.delta_of, "relation") if item.delta_of else ""
            called = name(item.name, "relation")
            return replace(item, name=called, attributes=_attributes(item.attributes, name), delta_of=of)
        case tree.Clause():
            return replace(
                item,
                heads=tuple(_atom(each, name) for each in item.heads),
                body=None if item.body is None else body(item.body, name, None),
                better=None if item.better is None else _atom(item.better, name),
            )
        case tree.Directive():
            return replace(item, name=name(item.name, "relation"))
        case tree.Lattice():
            operators = tuple((key, argument(each, name, None)) for key, each in item.operators)
            return replace(item, name=name(item.name, "type"), operators=operators)
        case _:
            return item


def with_variables(found: AnyBody, put: Callable[[tree.Variable], tree.Argument]) -> AnyBody:
    """Returns a body with every variable replaced."""
    made: AnyBody = body(found, None, put)  # type: ignore[assignment]
    return made


def argument_with_variables(found: tree.Argument, put: Callable[[tree.Variable], tree.Argument]) -> tree.Argument:
    """Returns an argument with every variable replaced."""
    return argument(found, None, put)


Put = Callable[[tree.Variable], tree.Argument]


def body(found: tree.Body, name: Name | None, put: Put | None) -> tree.Body:
    """Returns a body with names and variables replaced."""
    match found:
        case tree.Atom():
            return _atom(found, name, put)
        case tree.Negation(inside):
            return replace(found, body=body(inside, name, put))
        case tree.Constraint(_, left, right):
            return replace(found, left=argument(left, name, put), right=argument(right, name, put))
        case tree.Conjunction(parts) | tree.Disjunction(parts):
            return replace(found, parts=tuple(body(each, name, put) for each in parts))
        case _:
            return found


def argument(found: tree.Argument, name: Name | None, put: Put | None) -> tree.Argument:
    """Returns an argument with names and variables replaced."""
    match found:
        case tree.Variable():
            return found if put is None else put(found)
        case tree.Record(arguments) | tree.Functor(_, arguments) | tree.UserFunctor(_, arguments):
            return replace(found, arguments=tuple(argument(each, name, put) for each in arguments))
        case tree.Branch(branch, arguments):
            made = tuple(argument(each, name, put) for each in arguments)
            return replace(found, name=branch if name is None else name(branch, "branch"), arguments=made)
        case tree.Cast(inside, type_):
            return replace(
                found, argument=argument(inside, name, put), type=type_ if name is None else name(type_, "type")
            )
        case tree.Aggregate(_, target, inside, first):
            return replace(
                found,
                target=None if target is None else argument(target, name, put),
                body=body(inside, name, put),
                first=None if first is None else argument(first, name, put),
            )
        case _:
            return found


def _atom(found: tree.Atom, name: Name | None, put: Put | None = None) -> tree.Atom:
    arguments = tuple(argument(each, name, put) for each in found.arguments)
    return replace(found, name=found.name if name is None else name(found.name, "relation"), arguments=arguments)


def _attributes(found: tuple[tree.Attribute, ...], name: Name) -> tuple[tree.Attribute, ...]:
    return tuple(replace(each, type=name(each.type, "type")) for each in found)
