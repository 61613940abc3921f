"""`TypedProgram` → text: what `tidelog show --stage types` prints.

    input relation Edge(src: string, dst: string)
    Reach(x, z) :- Reach(x, y), Edge(y, z).
        x: string, y: string, z: string

Literals are shown with the type that was found for them, implicit conversions as `to_string(…)`, and the filters of a
body where they take effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.check import program
from tidelog.check.show_expression import show_expression, show_pattern
from tidelog.check.typed import EqualPattern, Expression, Pattern, Var, bindings, subpatterns, walk
from tidelog.check.types import Type


def show_types(typed: program.TypedProgram) -> str:
    """The declarations, then the rules, each with the types of its variables below it."""
    lines = [_relation(relation) for relation in typed.relations.values()]
    for rule in typed.rules:
        heads = ", ".join(_atom(head) for head in rule.heads)
        body = ", ".join(_literal(literal) for literal in rule.body)
        lines += ["", f"{heads} :- {body}." if body else f"{heads}."]
        types = _variable_types(rule)
        if types:
            lines.append("    " + ", ".join(f"{name}: {type_}" for name, type_ in types.items()))
    return "".join(f"{line}\n" for line in lines)


def _relation(relation: program.Relation) -> str:
    name = f"&{relation.name}" if relation.reference else relation.name
    columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    rows = f"[{relation.value}]" if relation.explicit else f"({columns})"
    return f"{relation.role} {relation.kind} {name}{rows}".lstrip()


def _atom(atom: program.Atom) -> str:
    row = f"{atom.row.name} in " if atom.row else ""
    delay = f"-{atom.delay}" if atom.delay else ""
    latest = "'" if atom.latest else ""
    return f"{row}{atom.relation}{delay}{latest}({', '.join(map(_term, atom.terms))})"


def _term(term: program.Term) -> str:
    if isinstance(term, program.Wild):
        return "_"
    return show_pattern(term) if isinstance(term, Pattern) else show_expression(term)


def _literal(literal: program.Literal) -> str:
    match literal:
        case program.Positive(atom):
            return _atom(atom)
        case program.Negative(atom):
            return f"not {_atom(atom)}"
        case program.Condition(expression):
            return show_expression(expression)
        case program.Assign(variable, _, expression):
            return f"var {variable} = {show_expression(expression)}"
        case program.Destructure(pattern, expression):
            return f"{show_pattern(pattern, declares=True)} = {show_expression(expression)}"
        case program.FlatMap(pattern, expression):
            return f"{show_pattern(pattern, declares=True)} = FlatMap({show_expression(expression)})"
        case program.GroupBy(variable, _, value, key):
            return f"var {variable} = {show_expression(value)}.group_by({show_expression(key)})"
        case program.Inspect(expression):
            return f"Inspect {show_expression(expression)}"


def _variable_types(rule: program.Rule) -> dict[str, Type]:
    types: dict[str, Type] = {}
    for literal in rule.body:
        for node in _parts(literal):
            if isinstance(node, Pattern):
                types.update((each.name, each.type) for each in bindings(node) if each.name not in types)
                continue
            for each in walk(node):
                if isinstance(each, Var):
                    types.setdefault(each.name, each.type)
        if isinstance(literal, program.Assign | program.GroupBy):
            types.setdefault(literal.variable, literal.type)
    return types


def _parts(literal: program.Literal) -> Iterator[Expression | Pattern]:
    """The expressions and patterns of a literal, those inside patterns too."""
    match literal:
        case program.Positive(atom) | program.Negative(atom):
            if atom.row:
                yield atom.row
            for term in atom.terms:
                if isinstance(term, Pattern):
                    yield term
                    yield from (each.expression for each in subpatterns(term) if isinstance(each, EqualPattern))
                elif not isinstance(term, program.Wild):
                    yield term
        case program.Condition(expression) | program.Assign(expression=expression) | program.Inspect(expression):
            yield expression
        case program.Destructure(pattern, expression) | program.FlatMap(pattern, expression):
            yield expression
            yield pattern
        case program.GroupBy(value=value):
            yield value
