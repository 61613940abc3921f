"""The oracle's form → program text.

Every operator stands in parentheses, so the text means the same under any precedence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.oracle.history import RuleCall
from tests.oracle.program import (
    Apart,
    Apply,
    Assign,
    Atom,
    Call,
    Condition,
    Const,
    GroupBy,
    Literal,
    Negative,
    Over,
    OverRows,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Unpack,
    Var,
    Wildcard,
    terms_of,
)
from tests.oracle.types import Type, Value

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def write(program: Program) -> str:
    """The text of a program: its declarations, then its rules, one on a line."""
    relations, rules = map(write_relation, program.relations), map(write_rule, (*program.rules, *program.repeated))
    return "\n".join([*dict.fromkeys(_declarations(program)), *relations, "", *rules, ""])


def write_call(call: RuleCall) -> str:
    """The text that a call adds or removes: a rule, and the relations that come with it."""
    return "\n".join([*map(write_relation, call.declares), write_rule(call.rule)])


def _declarations(program: Program) -> Iterator[str]:
    """What the types, functions and patterns of the program need, as often as they stand there."""
    for relation in program.relations:
        for type_ in relation.columns:
            yield from _declared(type_)
    for rule in program.rules:
        for literal in rule.body:
            for term in terms_of(literal):
                yield from _needed(term)
        for term in rule.head.terms:
            yield from _needed(term)


def _declared(type_: Type) -> Iterator[str]:
    if type_.declaration:
        yield type_.declaration
    for item in type_.items:
        yield from _declared(item)


def _needed(term: Term) -> Iterator[str]:
    match term:
        case Call(function, args):
            for type_ in (*function.parameters, function.result):
                yield from _declared(type_)
            if function.declaration:
                yield from function.declaration.split("\n\n")
        case Apply(args=args):
            pass
        case Apart(shape, args):
            yield from _declared(shape.type)
        case _:
            args = ()
    for arg in args:
        yield from _needed(arg)


def write_relation(relation: Relation) -> str:
    role = "" if relation.role == "internal" else relation.role + " "
    columns = ", ".join(f"c{i}: {write_type(type_)}" for i, type_ in enumerate(relation.columns))
    return f"{role}{relation.kind} {relation.name}({columns})"


def write_type(type_: Type) -> str:
    match type_:
        case Type("bit", 8 | 16 | 32 | 64 | 128 as width):
            return f"u{width}"
        case Type("signed", 8 | 16 | 32 | 64 | 128 as width):
            return f"s{width}"
        case Type("bit" | "signed" as kind, width):
            return f"{kind}<{width}>"
        case _:
            return type_.text or type_.kind


def write_rule(rule: Rule) -> str:
    if rule.as_statement and rule.body:
        return " ".join([*map(_statement, rule.body), _atom(rule.head)])
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
        case _:
            raise ValueError(f"{value} is made by a call")


def _literal(literal: Literal) -> str:
    match literal:
        case Positive(atom, row):
            return f"{row.name} in {_atom(atom)}" if row else _atom(atom)
        case Negative(atom):
            return f"not {_atom(atom)}"
        case Condition(expression):
            return _term(expression)
        case Assign(variable, expression):
            return f"var {variable.name} = {_term(expression)}"
        case Unpack(pattern, expression, each):
            text = f"FlatMap({_term(expression)})" if each else _term(expression)
            return f"{_pattern(pattern)} = {text}"
        case GroupBy(variable, expression, keys):
            names = ", ".join(key.name for key in keys)
            by = names if len(keys) == 1 else f"({names})"
            return f"var {variable.name} = ({_term(expression)}).group_by({by})"
        case OverRows(values, keys):
            names, calls = (", ".join(map(write_one, values)) for write_one in (_declaration, _aggregate))
            by = f"by ({', '.join(key.name for key in keys)})"
            return f"{names} = {calls} {by}" if len(values) == 1 else f"({names}) = ({calls}) {by}"


def _declaration(over: Over) -> str:
    return f"var {over.variable.name}: {write_type(over.variable.type)}"


def _aggregate(over: Over) -> str:
    return f"{over.function}({'' if over.expression is None else _term(over.expression)})"


def _statement(literal: Literal) -> str:
    """The beginning of a statement for all that comes behind the literal."""
    match literal:
        case Condition(expression):
            return f"if ({_term(expression)})"
        case Assign():
            return f"{_literal(literal)} in"
        case _:
            return f"for ({_literal(literal)})"


def _pattern(pattern: Term) -> str:
    """A pattern before `=`, where the variables are new."""
    match pattern:
        case Var(name):
            return f"var {name}"
        case Apart(shape, terms):
            return shape.template.format(*map(_pattern, terms))
        case _:
            return _term(pattern)


def _atom(atom: Atom) -> str:
    return f"{atom.source}({_list(atom.terms)})"


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
        case Call(function, args):
            return function.template.format(*map(_argument, args))
        case Apart(shape, terms):
            return shape.template.format(*map(_term, terms))
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


def _argument(term: Term) -> str:
    """A number has its width with it, so that overloads do not have to guess."""
    match term:
        case Const(int() as number, Type("bit", width)) if not isinstance(number, bool):
            return f"{width}'d{number}"
        case _:
            return _term(term)
