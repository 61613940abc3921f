"""`RuleProgram` → text: what `tidelog show --stage rules` and `--stage strata` print."""

from __future__ import annotations

from tidelog.check.show_expression import show_expression, show_pattern, show_value
from tidelog.rules import ir


def show_rules(program: ir.RuleProgram) -> str:
    """Returns the relations with their roles, and every rule with its id."""
    lines = [_relation(relation) for relation in program.relations.values()]
    if program.rules:
        lines.append("")
    lines += [f"[{rule.id}] {show_rule(rule)}" for rule in program.rules]
    return "".join(f"{line}\n" for line in lines)


def show_strata(program: ir.RuleProgram) -> str:
    """Returns the strata in their order, each with its relations and rules."""
    lines: list[str] = []
    for number, stratum in enumerate(program.strata):
        names = ", ".join(stratum.relations)
        lines.append(f"stratum {number}{' (recursive)' if stratum.recursive else ''}: {names}")
        lines += [f"    [{rule.id}] {show_rule(rule)}" for rule in stratum.rules]
    return "".join(f"{line}\n" for line in lines)


def show_rule(rule: ir.Rule) -> str:
    """Returns the flat rule on one line, as the engines see it."""
    body = ", ".join(_literal(literal) for literal in rule.body)
    return f"{show_atom(rule.head)} :- {body}." if body else f"{show_atom(rule.head)}."


def _relation(relation: ir.Relation) -> str:
    columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    role = "" if relation.role is ir.Role.INTERNAL else f"{relation.role.value} "
    return f"{role}{relation.kind.value} {relation.name}({columns}){' with weights' if relation.weighted else ''}"


def _literal(literal: ir.Literal) -> str:
    match literal:
        case ir.Positive(atom):
            return show_atom(atom)
        case ir.Negative(atom):
            return f"not {show_atom(atom)}"
        case ir.Condition(expression):
            return show_expression(expression)
        case ir.Assign(variable, expression):
            return f"var {variable.name} = {show_expression(expression)}"
        case ir.Group(atom, aggregates=aggregates, finer=finer) if aggregates is not None:
            kept = ", ".join(f"var {each.variable.name} = {show_aggregate(each)}" for each in aggregates)
            return f"{kept or 'keys'} of {'distinct ' if finer else ''}{show_atom(atom)}"
        case ir.Group(atom, variable):
            return f"var {variable.name} = group of {show_atom(atom)}"
        case ir.Transform(name, _, inputs, place):
            given = ", ".join(show_atom(each) if isinstance(each, ir.Atom) else "function" for each in inputs)
            return f"output {place} of {name}({given})"
        case ir.Unfold(variables, pattern, expression, numbered=True):
            shown = show_pattern(pattern, declares=True)
            return f"{shown}, var {variables[-1].name} = numbered FlatMap({show_expression(expression)})"
        case ir.Unfold(_, pattern, expression, each):
            value = show_expression(expression)
            return f"{show_pattern(pattern, declares=True)} = {f'FlatMap({value})' if each else value}"


def show_aggregate(aggregate: ir.Aggregate) -> str:
    """`min`, `sum of |x| 2 * x`, `join "; "`."""
    separator = f" {show_value(aggregate.separator)}" if aggregate.kind is ir.AggregateKind.JOIN else ""
    read = ""
    if aggregate.of is not None:
        read = f" of |{', '.join(each.name for each in aggregate.parameters)}| {show_expression(aggregate.of)}"
    return f"{aggregate.kind.value}{separator}{read}"


def show_atom(atom: ir.Atom) -> str:
    """`Edge(x, "a", _)`."""
    return f"{atom.relation}({', '.join(_term(term) for term in atom.terms)})"


def _term(term: ir.Term) -> str:
    match term:
        case ir.Variable(name):
            return name
        case ir.Constant(value):
            return show_value(value)
        case _:
            return "_"
