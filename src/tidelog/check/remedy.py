"""Help that can be pasted: what would repair a rule whose variable is not bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.check.declare import Signature
from tidelog.check.types import Type
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast
from tidelog.syntax.show import show_rule

_LONGEST = 100


def did_you_mean(name: str, bound: Iterable[str]) -> str | None:
    """A bound variable with nearly the same name. Short names are all alike: nothing is said about them."""
    guess = suggest(name, bound) if len(name) > 2 else None
    return f"did you mean `{guess}`?" if guess else None


def binding_example(rule: ast.Rule, name: str, wanted: Type, signatures: Mapping[str, Signature]) -> str | None:
    """The rule with one more literal that binds the variable, or None where no relation has a column of its type.

    The new literal prefers the relation that the body mentions last, its last column of the type, and beside it
    variables that the body binds and the head does not use.
    """
    mentioned = [literal.atom.relation.text for literal in rule.body if isinstance(literal, ast.Positive)]
    heads = {head.relation.text for head in rule.heads}
    for relation in dict.fromkeys([*reversed(mentioned), *(each for each in signatures if each not in heads)]):
        columns = signatures[relation].columns if relation in signatures else ()
        fits = [place for place, column in enumerate(columns) if column.type == wanted]
        if fits:
            arguments = _arguments(rule, signatures[relation], fits[-1], name, signatures)
            atom = ast.Atom(ast.Name(relation, span=rule.span), arguments, span=rule.span)
            literal = ast.Positive(atom, span=rule.span)
            return _short(ast.Rule(rule.heads, (*rule.body, literal), span=rule.span))
    return None


def reordered_example(rule: ast.Rule, early: ast.Literal, binder: Span) -> str | None:
    """The rule with a literal moved to behind the one that binds what it needs."""
    at = next(place for place, literal in enumerate(rule.body) if literal is early)
    to = next(place for place, each in enumerate(rule.body) if each.span.start <= binder.start < each.span.end)
    if to <= at:
        return None
    body = (*rule.body[:at], *rule.body[at + 1 : to + 1], early, *rule.body[to + 1 :])
    return _short(ast.Rule(rule.heads, body, span=rule.span))


def _short(rule: ast.Rule) -> str | None:
    text = show_rule(rule)
    return text if len(text) <= _LONGEST else None


def _arguments(
    rule: ast.Rule, signature: Signature, place: int, name: str, signatures: Mapping[str, Signature]
) -> tuple[ast.Argument, ...]:
    types = _variable_types(rule, signatures)
    in_heads = {node.name for head in rule.heads for each in head.arguments for node in _names(each.value)}
    candidates = sorted(types, key=lambda variable: variable in in_heads)
    values: list[ast.Expression] = []
    used: set[str] = set()
    for at, column in enumerate(signature.columns):
        link = next((each for each in candidates if types[each] == column.type and each not in used), None)
        if at == place:
            values.append(ast.Variable(name, span=rule.span))
        elif link is None or link in in_heads:
            values.append(ast.Wildcard(span=rule.span))
        else:
            used.add(link)
            values.append(ast.Variable(link, span=rule.span))
    return tuple(ast.Argument(None, value, span=rule.span) for value in values)


def _variable_types(rule: ast.Rule, signatures: Mapping[str, Signature]) -> dict[str, Type | None]:
    """The types of the variables that positional arguments of the body bind; the last bound comes first."""
    types: dict[str, Type | None] = {}
    for literal in reversed(rule.body):
        signature = signatures.get(literal.atom.relation.text) if isinstance(literal, ast.Positive) else None
        if signature is None or not isinstance(literal, ast.Positive):
            continue
        for argument, column in reversed(list(zip(literal.atom.arguments, signature.columns))):
            if isinstance(argument.value, ast.Variable) and argument.name is None:
                types.setdefault(argument.value.name, column.type)
    return types


def _names(value: ast.Expression) -> list[ast.Variable]:
    return [node for node in ast.walk(value) if isinstance(node, ast.Variable)]
