"""A typed query → flat rules beside those of its program.

    Edge(x, y), not Edge(y, _)        ?(x, y) :- Edge(x, y), not Edge#0(y).       Edge#0(a) :- Edge(a, _).

The query becomes the body of a rule for a relation of its own. The columns of that relation are the query's variables
in the order in which they are bound, without those that begin with `_`. Hidden relations are made as in
`lower_program`, but for the query alone: the program does not change.

The value of a parameter is a constant of the rules, never a text that is parsed:

    Edge($a, x), x != $b              ?(x) :- Edge(<value of a>, x), var $b = <value of b>, x != $b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidelog.check import program, typed
from tidelog.check.check_query import TypedQuery
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import (
    Assign,
    Atom,
    Column,
    Condition,
    Constant,
    Literal,
    Negative,
    Positive,
    Relation,
    Role,
    Rule,
    RuleProgram,
    Unfold,
    Variable,
)
from tidelog.rules.lower.program import Lowering, Options

NAME = "?"


@dataclass(frozen=True, slots=True)
class Query:
    """`rule` derives the answer, a relation with the columns of `answer`; `hidden` are the rules of the relations that
    only the query has, by their names. `relations` are all that they read, and themselves."""

    rule: Rule
    answer: Relation
    hidden: Mapping[str, tuple[Rule, ...]]
    relations: Mapping[str, Relation]
    functions: CompiledFunctions


def lower_query(
    query: TypedQuery, values: Mapping[str, Any], source: program.TypedProgram, rules: RuleProgram
) -> Query:
    """Returns the flat rules of a checked query; `values` are the canonical values of its parameters."""
    rule, missing = query.rule, query.missing
    constants = {name: Constant(values[name], type_) for name, type_ in query.parameters.items()}
    known = {**rules.relations, NAME: Relation(NAME, (), Role.HIDDEN, rule.span)}
    source = replace(source, functions={**source.functions, **missing})
    return _QueryLowering(source, rules.functions.extended(missing), Options(), known).query(rule, constants)


class _QueryLowering(Lowering):
    """Lowers a query beside the relations of its program."""

    def query(self, rule: program.Rule, parameters: Mapping[str, Constant]) -> Query:
        flat = self.body(rule, NAME)
        variables = tuple(each for each in flat.variables() if not each.name.startswith(("_", "$")))
        columns = tuple(Column(variable.name, variable.type) for variable in variables)
        answer = Relation(NAME, columns, Role.HIDDEN, rule.span)
        join = next((str(each.value) for each in rule.attributes if each.name == "join"), "")
        query = Rule(-1, Atom(NAME, variables, rule.span), flat.body, rule.span.text, rule.span, join)
        hidden: dict[str, tuple[Rule, ...]] = {}
        for head, body, span in self._hidden:
            made = Rule(-1, head, body, rule.span.text, span, join)
            own = _with_values(made, parameters) if parameters else made
            hidden[head.relation] = (*hidden.get(head.relation, ()), own)
        if parameters:
            query = _with_values(query, parameters)
        return Query(query, answer, hidden, {**self._relations, NAME: answer}, self.functions)


def _with_values(rule: Rule, values: Mapping[str, Constant]) -> Rule:
    """Returns the rule with the values of its parameters: constants in atoms, assigned before expressions."""
    if rule.group is not None:
        return rule  # its atom gets a parameter of the key from the rule of the members
    body = tuple(_with_constants(literal, values) for literal in rule.body)
    used = {term.name for term in rule.head.terms if isinstance(term, Variable)}
    for literal in body:
        if isinstance(literal, Condition | Assign | Unfold):
            used |= typed.variables(literal.expression)
    assigned = tuple(
        Assign(Variable(name, value.type), typed.Lit(value.value, type=value.type, span=rule.span))
        for name, value in values.items()
        if name in used
    )
    return replace(rule, body=(*assigned, *body))


def _with_constants(literal: Literal, values: Mapping[str, Constant]) -> Literal:
    if not isinstance(literal, Positive | Negative):
        return literal
    atom = literal.atom
    terms = tuple(values.get(term.name, term) if isinstance(term, Variable) else term for term in atom.terms)
    return replace(literal, atom=replace(atom, terms=terms))
