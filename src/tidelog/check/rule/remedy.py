"""A rule whose variable is not bound → a help that can be pasted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.check.functions.free_variables import free_variables
from tidelog.check.names.scope import RelationEntry
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast
from tidelog.syntax.show import show_rule
from tidelog.types import Type

_LONGEST = 100


def did_you_mean(name: str, bound: Iterable[str]) -> str | None:
    """Returns a bound variable with nearly the same name. Short names are all alike: nothing is said about them."""
    if name == "null":
        return "an `Option` without a value is `None`; `is_none(x)` and `is_some(x)` tell"
    if name == "distinct":
        return "a relation has each of its rows once, whatever the rules derive"
    guess = suggest(name, bound) if len(name) > 2 else None
    return f"did you mean `{guess}`?" if guess else None


def binding_example(
    rule: ast.Rule, missing: Mapping[str, Type | None], signatures: Mapping[str, RelationEntry]
) -> str | None:
    """Returns the rule with one more literal that binds all the missing variables, or None where no relation could.

    The new literal prefers the relation that the body mentions last, its last columns of the right types, and beside
    them variables that the body binds and the head does not use.
    """
    mentioned = [literal.atom.relation.text for literal in rule.body if isinstance(literal, ast.Positive)]
    heads = {head.relation.text for head in rule.heads}
    for relation in dict.fromkeys([*reversed(mentioned), *(each for each in signatures if each not in heads)]):
        signature = signatures.get(relation)
        places = _places(signature, missing) if signature else None
        if signature and places:
            arguments = _arguments(rule, signature, places, signatures)
            atom = ast.Atom(ast.Name(relation, span=rule.span), arguments, span=rule.span)
            literal = ast.Positive(atom, span=rule.span)
            return _short(ast.Rule(rule.heads, (*rule.body, literal), span=rule.span))
    return None


def reordered_example(rule: ast.Rule, early: ast.Literal, binder: Span) -> str | None:
    """Returns the rule with a literal moved to behind the one that binds what it needs, if nothing between needs it."""
    at = next(place for place, literal in enumerate(rule.body) if literal is early)
    holding = (place for place, each in enumerate(rule.body) if each.span.start <= binder.start < each.span.end)
    to = next(holding, at)
    between = rule.body[at + 1 : to + 1]
    bound = early.variable.text if isinstance(early, ast.Assignment) else None
    if not between or any(bound in _mentioned(literal) for literal in between):
        return None
    return _short(ast.Rule(rule.heads, (*rule.body[:at], *between, early, *rule.body[to + 1 :]), span=rule.span))


def _places(signature: RelationEntry, missing: Mapping[str, Type | None]) -> dict[int, str] | None:
    """Returns a column for each of the variables, or None when there are not enough."""
    places: dict[int, str] = {}
    free = list(enumerate(signature.columns))
    for name, type_ in list(missing.items())[::-1]:
        while free and (type_ is None or free[-1][1].type != type_):
            free.pop()
        if not free:
            return None
        places[free.pop()[0]] = name
    return places


def _short(rule: ast.Rule) -> str | None:
    text = show_rule(rule)
    return text if len(text) <= _LONGEST else None


def _arguments(
    rule: ast.Rule, signature: RelationEntry, places: Mapping[int, str], signatures: Mapping[str, RelationEntry]
) -> tuple[ast.Argument, ...]:
    types = _variable_types(rule, signatures)
    in_heads = {node.name for head in rule.heads for each in head.arguments for node in free_variables(each.value)}
    links = [name for name in types if name not in in_heads]
    values: list[ast.Expression] = []
    for place, column in enumerate(signature.columns):
        name = places.get(place) or next((each for each in links if types[each] == column.type), None)
        values.append(ast.Variable(name, span=rule.span) if name else ast.Wildcard(span=rule.span))
        if name in links:
            links.remove(name)
    return tuple(ast.Argument(None, value, span=rule.span) for value in values)


def _variable_types(rule: ast.Rule, signatures: Mapping[str, RelationEntry]) -> dict[str, Type | None]:
    """Returns the types of the variables that positional arguments of the body bind; the last bound comes first."""
    types: dict[str, Type | None] = {}
    for literal in reversed(rule.body):
        signature = signatures.get(literal.atom.relation.text) if isinstance(literal, ast.Positive) else None
        if signature is None or not isinstance(literal, ast.Positive):
            continue
        for argument, column in reversed(list(zip(literal.atom.arguments, signature.columns))):
            if isinstance(argument.value, ast.Variable) and argument.name is None:
                types.setdefault(argument.value.name, column.type)
    return types


def _mentioned(literal: ast.Literal) -> set[str]:
    """Returns all names of variables in a literal."""
    return {node.name for node in ast.nodes(literal) if isinstance(node, ast.Variable)}
