"""A query and the program that it is asked of → its typed body and the functions that it needs.

A query is checked like the body of a rule, with the names of the main module; the program is not checked again. What
depends on the past or on the epoch under way has no answer between epochs, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.check import program
from tidelog.check.check import ONE_AT_A_TIME
from tidelog.check.rule.check_rule import check_body
from tidelog.check.used_library import Reachable
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.syntax.parse_query import ParsedQuery
from tidelog.types import Type


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """The typed rule, without heads; the types of its parameters; the functions that the program does not have yet.

    `places` has the first place of each parameter.
    """

    rule: program.Rule
    parameters: Mapping[str, Type]
    places: Mapping[str, Span]
    missing: Mapping[str, program.Function]


def check_query(parsed: ParsedQuery, source: program.TypedProgram) -> TypedQuery:
    """Returns the typed query. Raises ProgramError with all that is wrong, in the order of the text."""
    with ONE_AT_A_TIME:
        return deeply(_check, parsed, source)


def _check(parsed: ParsedQuery, source: program.TypedProgram) -> TypedQuery:
    environment = source.environment
    assert environment is not None, "a checked program has one"
    diagnostics: list[Diagnostic] = []
    checked = check_body(parsed.rule, environment.modules[""], environment, diagnostics, parsed.parameters)
    if checked is not None:
        _refuse(checked[0], source, diagnostics)
    if diagnostics or checked is None:
        raise ProgramError(tuple(sorted(diagnostics, key=lambda each: each.span.start)))
    rule, types = checked
    missing = Reachable(environment).missing(source.functions, rules=(rule,))
    return TypedQuery(rule, types, parsed.parameters, missing)


def _refuse(rule: program.Rule, source: program.TypedProgram, diagnostics: list[Diagnostic]) -> None:
    """Reports the attributes and the literals that have no meaning between epochs."""
    for attribute in rule.attributes:
        if attribute.name == "maintain":
            message = "a query is answered once, and not maintained"
            diagnostics.append(diagnostic(Code.BAD_QUERY, message, attribute.span, "not in a query"))
    for literal in rule.body:
        if isinstance(literal, program.Inspect):
            message = "`Inspect` shows changes, and a query has none"
            diagnostics.append(diagnostic(Code.BAD_QUERY, message, literal.span, "not in a query"))
        if not isinstance(literal, program.Positive | program.Negative):
            continue
        atom = literal.atom
        relation = source.relations.get(atom.relation)
        if relation is None:
            message = f"the program does not use `{atom.relation}`, so it has no rows"
            diagnostics.append(diagnostic(Code.BAD_QUERY, message, atom.span, "not a relation of the program"))
        elif atom.delay or atom.latest:
            message = "a query sees relations as they are now"
            diagnostics.append(diagnostic(Code.BAD_QUERY, message, atom.span, "not as they were before"))
        elif relation.kind == "stream":
            message = f"`{atom.relation}` is a stream, which keeps no rows between epochs"
            diagnostics.append(diagnostic(Code.BAD_QUERY, message, atom.span, "nothing to look at"))
