"""The oracle's form → program text.

Every operator stands in parentheses, so the text means the same under any precedence.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.oracle.program import (
    Apply,
    Assign,
    Atom,
    Condition,
    Const,
    Literal,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Type,
    Value,
    Var,
    Wildcard,
)

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def write(program: Program) -> str:
    """The text of a program: its declarations, then its rules, one on a line."""
    return "\n".join([*map(write_relation, program.relations), "", *map(write_rule, program.rules), ""])


def write_relation(relation: Relation) -> str:
    role = "" if relation.role == "internal" else relation.role + " "
    columns = ", ".join(f"c{i}: {write_type(type_)}" for i, type_ in enumerate(relation.columns))
    return f"{role}relation {relation.name}({columns})"


def write_type(type_: Type) -> str:
    match type_:
        case Type("bit", 8 | 16 | 32 | 64 | 128 as width):
            return f"u{width}"
        case Type("signed", 8 | 16 | 32 | 64 | 128 as width):
            return f"s{width}"
        case Type("bit" | "signed" as kind, width):
            return f"{kind}<{width}>"
        case _:
            return type_.kind


def write_rule(rule: Rule) -> str:
    body = ", ".join(map(_literal, rule.body))
    return f"{_atom(rule.head)} :- {body}." if body else f"{_atom(rule.head)}."


def write_value(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return '"' + "".join(ESCAPES.get(char, char) for char in value) + '"'


def _literal(literal: Literal) -> str:
    match literal:
        case Positive(atom):
            return _atom(atom)
        case Negative(atom):
            return f"not {_atom(atom)}"
        case Condition(expression):
            return _term(expression)
        case Assign(variable, expression):
            return f"var {variable.name} = {_term(expression)}"


def _atom(atom: Atom) -> str:
    return f"{atom.relation}({_list(atom.terms)})"


def _list(terms: Sequence[Term]) -> str:
    return ", ".join(map(_term, terms))


def _term(term: Term) -> str:
    match term:
        case Wildcard():
            return "_"
        case Var(name):
            return name
        case Const(value):
            return write_value(value)
        case Apply("neg" | "~" | "not" as op, (operand,)):
            return f"({'-' if op == 'neg' else op + ' '}{_operand(operand)})"
        case Apply("as", (operand,), type_):
            return f"({_operand(operand)} as {write_type(type_)})"
        case Apply("text", (operand,)):
            return _term(operand)  # only the right side of `++` asks for text, and there it is implied
        case Apply("if", (condition, then, otherwise)):
            return f"(if ({_term(condition)}) {_operand(then)} else {_operand(otherwise)})"
        case Apply(op, (left, right)):
            return f"({_operand(left)} {op} {_operand(right)})"
        case _:
            raise ValueError(term)


def _operand(term: Term) -> str:
    text = _term(term)
    return f"({text})" if text.startswith("-") else text
