"""A typed query → flat rules beside those of its program.

    Edge(x, y), not Edge(y, _)        ?(x, y) :- Edge(x, y), not Edge#0(y).       Edge#0(a) :- Edge(a, _).

The query becomes the body of a rule for a relation of its own. The columns of that relation are the query's variables
in the order in which they are bound, without those that begin with `_`. Hidden relations are made as in
`lower_program`, but for the query alone: the program does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.check import program
from tidelog.check.program import Function
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import Atom, Column, Relation, Role, Rule, RuleProgram
from tidelog.rules.lower.program import Lowering, Options

NAME = "?"


@dataclass(frozen=True, slots=True)
class Query:
    """`rule` derives the answer, a relation with the columns of `answer`; `hidden` are the rules of the relations that
    only the query has, by their names. `relations` are all that they read, and themselves."""

    rule: Rule
    answer: Relation
    hidden: Mapping[str, Rule]
    relations: Mapping[str, Relation]
    functions: CompiledFunctions


def lower_query(
    rule: program.Rule,
    missing: Mapping[str, Function],
    source: program.TypedProgram,
    rules: RuleProgram,
) -> Query:
    """Returns the flat rules of a checked query; `missing` are the functions that the program does not have."""
    known = {**rules.relations, NAME: Relation(NAME, (), Role.HIDDEN, rule.span)}
    source = replace(source, functions={**source.functions, **missing})
    return _QueryLowering(source, rules.functions.extended(missing), Options(), known).query(rule)


class _QueryLowering(Lowering):
    """Lowers a query beside the relations of its program."""

    def query(self, rule: program.Rule) -> Query:
        flat = self.body(rule, NAME)
        variables = tuple(each for each in flat.variables() if not each.name.startswith("_"))
        columns = tuple(Column(variable.name, variable.type) for variable in variables)
        answer = Relation(NAME, columns, Role.HIDDEN, rule.span)
        join = next((str(each.value) for each in rule.attributes if each.name == "join"), "")
        query = Rule(-1, Atom(NAME, variables, rule.span), flat.body, rule.span.text, rule.span, join)
        hidden = {head.relation: Rule(-1, head, body, rule.span.text, span, join) for head, body, span in self._hidden}
        return Query(query, answer, hidden, {**self._relations, NAME: answer}, self.functions)
