"""`TypedProgram` → text: what `tidelog show --stage types` prints.

    typedef Point = Point{x: u8, y: u8}
    function far(p: Point): bool { p.x > (9: u8) }
    input relation Edge(src: string, dst: string)
    Reach(x, z) :- Reach(x, y), Edge(y, z).
        x: string, y: string, z: string

Literals are shown with the type that was found for them, implicit conversions as `to_string(…)`, and the filters of a
body where they take effect. What the library declares is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tidelog.check import program
from tidelog.check.names.modules import LIBRARY
from tidelog.check.show_expression import show_expression, show_pattern
from tidelog.check.typed import Block, EqualPattern, Expression, Pattern, Var, bindings, subpatterns, walk
from tidelog.types import Type


def show_types(typed: program.TypedProgram) -> str:
    """Returns the text of the declarations, then of the rules, each with the types of its variables below it."""
    lines = [_type(each) for each in typed.types.values() if _is_own(each) and each.name not in typed.relations]
    lines += [_function(function) for function in typed.functions.values() if _is_own(function)]
    lines += [_relation(relation) for relation in typed.relations.values()]
    lines += [_index(index) for index in typed.indexes.values()]
    lines += [_transformer(each) for each in typed.transformers.values() if _is_own(each)]
    lines += [_application(application) for application in typed.applications]
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
    key = ""
    if relation.key is not None:
        key = f" primary key ({relation.key.variable.name}) {show_expression(relation.key.expression)}"
    return f"{relation.role} {relation.kind} {name}{rows}{key}".lstrip()


def _is_own(declared: program.TypeDefinition | program.Function | program.Transformer) -> bool:
    """True if the declaration is the program's own, or one of its modules'."""
    return not Path(declared.span.source.name).is_relative_to(LIBRARY)


def _type(definition: program.TypeDefinition) -> str:
    parameters = ", ".join(f"'{parameter}" for parameter in definition.parameters)
    name = f"{definition.name}<{parameters}>" if parameters else definition.name
    if definition.constructors is None:
        return f"extern type {name}"
    return f"typedef {name} = {' | '.join(map(_constructor, definition.constructors))}"


def _constructor(constructor: program.Constructor) -> str:
    return f"{constructor.name}{{{', '.join(f'{field.name}: {field.type}' for field in constructor.fields)}}}"


def _function(function: program.Function) -> str:
    parameters = ", ".join(f"{each.name}: {'mut ' if each.mutable else ''}{each.type}" for each in function.parameters)
    head = f"function {function.name}({parameters}): {function.result}"
    if function.body is None:
        return f"extern {head}"
    body = show_expression(function.body)
    return f"{head} {body}" if isinstance(function.body, Block) else f"{head} {{{body}}}"


def _index(index: program.Index) -> str:
    columns = ", ".join(f"{column.name}: {column.type}" for column in index.columns)
    return f"index {index.name}({columns}) on {_atom(index.atom)}"


def _transformer(transformer: program.Transformer) -> str:
    inputs, outputs = (
        ", ".join(f"{name}: {type_}" for name, type_ in each) for each in (transformer.inputs, transformer.outputs)
    )
    return f"extern transformer {transformer.name}({inputs}) -> ({outputs})"


def _application(application: program.Apply) -> str:
    inputs = (each if isinstance(each, str) else show_expression(each) for each in application.inputs)
    return f"apply {application.transformer}({', '.join(inputs)}) -> ({', '.join(application.outputs)})"


def _atom(atom: program.Atom) -> str:
    row = f"{atom.row.name} in " if atom.row else ""
    delay = f"-{atom.delay}" if atom.delay else ""
    latest = "'" if atom.latest else ""
    place = f" @ {show_expression(atom.location)}" if atom.location is not None else ""
    return f"{row}{atom.relation}{delay}{latest}({', '.join(map(_term, atom.terms))}){place}"


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
        case program.RowAggregates(values, keys):
            names = ", ".join(f"var {each.variable}" for each in values)
            calls = ", ".join(
                f"{each.function}({'' if each.value is None else show_expression(each.value)})" for each in values
            )
            grouped = ", ".join(key.name for key in keys)
            return f"{names} = {calls} by ({grouped})" if len(values) == 1 else f"({names}) = ({calls}) by ({grouped})"
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
        if isinstance(literal, program.RowAggregates):
            types.update((each.variable, each.type) for each in literal.values if each.variable not in types)
    return types


def _parts(literal: program.Literal) -> Iterator[Expression | Pattern]:
    """Yields the expressions and patterns of a literal, those inside patterns too."""
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
        case program.RowAggregates(values):
            yield from (each.value for each in values if each.value is not None)
