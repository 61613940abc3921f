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
from tidelog.check.typed import Binary, Cast, Expression, IfElse, Lit, ToString, Unary, Var, walk
from tidelog.check.types import IntegerType, Type
from tidelog.syntax.show import escaped


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


def show_expression(expression: Expression) -> str:
    """The expression with all its parentheses; integer literals carry their type."""
    match expression:
        case Var(name):
            return name
        case Lit(value, type_):
            return show_value(value) + (f": {type_}" if isinstance(type_, IntegerType) else "")
        case Unary(op, operand):
            return f"{op}{' ' if op == 'not' else ''}{_operand(operand)}"
        case Binary(op, left, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case Cast(operand, type_):
            return f"{_operand(operand)} as {type_}"
        case ToString(operand):
            return f"to_string({show_expression(operand)})"
        case IfElse(condition, then, otherwise):
            return f"if ({show_expression(condition)}) {_operand(then)} else {_operand(otherwise)}"


def show_value(value: bool | int | str) -> str:
    """A value as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{escaped(value)}"' if isinstance(value, str) else str(value)


def _operand(expression: Expression) -> str:
    text = show_expression(expression)
    plain = isinstance(expression, Var | ToString) or (isinstance(expression, Lit) and ": " not in text)
    return text if plain else f"({text})"


def _relation(relation: program.Relation) -> str:
    columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    return f"{relation.role} relation {relation.name}({columns})".lstrip()


def _atom(atom: program.Atom) -> str:
    terms = ("_" if isinstance(term, program.Wild) else show_expression(term) for term in atom.terms)
    return f"{atom.relation}({', '.join(terms)})"


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


def _variable_types(rule: program.Rule) -> dict[str, Type]:
    types: dict[str, Type] = {}
    for literal in rule.body:
        for expression in _expressions(literal):
            for node in walk(expression):
                if isinstance(node, Var):
                    types.setdefault(node.name, node.type)
        if isinstance(literal, program.Assign):
            types.setdefault(literal.variable, literal.type)
    return types


def _expressions(literal: program.Literal) -> Iterator[Expression]:
    match literal:
        case program.Positive(atom) | program.Negative(atom):
            yield from (term for term in atom.terms if not isinstance(term, program.Wild))
        case program.Condition(expression) | program.Assign(expression=expression):
            yield expression
