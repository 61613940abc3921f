"""The variables of a flat rule and their types."""

from __future__ import annotations

from tidelog.rules.ir import Assign, Rule, Unfold, Variable
from tidelog.types import Type


def variable_types(rule: Rule) -> dict[str, Type]:
    """Returns the type of every variable that the rule binds, hidden ones included."""
    types: dict[str, Type] = {}
    for atom in (rule.head, *rule.atoms):
        types |= {term.name: term.type for term in atom.terms if isinstance(term, Variable)}
    for literal in rule.body:
        match literal:
            case Assign(variable):
                types[variable.name] = variable.type
            case Unfold(variables):
                types |= {variable.name: variable.type for variable in variables}
            case _:
                pass
    return types
