"""A warning where a sum or a count over a `group_by` drops equal values of different rows.

    Turnover(s, t) :- Sale(_, s, p), var t = p.group_by(s).sum_of(|x| x).     W302: two sales of one price are one value

A group has each value once. That is meant where a value is a tuple that tells rows apart, `(id, p).group_by(s)`, and
does not matter where the key and the value are all that the rows have. Elsewhere an aggregate over rows is the likelier
wish, and the help has it as it can be pasted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.check import program, typed
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.rules import ir

_ADDED = (ir.AggregateKind.SUM, ir.AggregateKind.COUNT_IF)


def dropped_duplicates(source: TypedProgram, rules: ir.RuleProgram) -> TypedProgram:
    """Returns the program with these warnings; expects rules as the pass `aggregates` leaves them."""
    found = tuple(_warnings(source, rules))
    return replace(source, warnings=(*source.warnings, *found)) if found else source


def _warnings(source: TypedProgram, rules: ir.RuleProgram) -> Iterator[Diagnostic]:
    made_by = {rule.head.relation: rule for rule in rules.rules}
    groups = {
        _place(literal.span): literal
        for rule in source.rules
        for literal in rule.body
        if isinstance(literal, program.GroupBy)
    }
    own = {id(each) for each in source.sources.values()}
    for rule in rules.rules:
        group = rule.group
        if group is None or group.of_rows or not group.aggregates:
            continue
        added = next((each for each in group.aggregates if each.kind in _ADDED), None)
        written = groups.get(_place(group.atom.span))
        if added is None or written is None or id(written.span.source) not in own:
            continue
        if _drops(made_by[group.atom.relation], group):
            yield diagnostic(
                Code.EQUAL_VALUES_DROPPED,
                "equal values of different rows are one value of the group",
                written.span,
                "each value counts once",
                help=_help(added, group.aggregates, written),
            )


def _place(span: Span) -> tuple[int, int, int]:
    return id(span.source), span.start, span.end


def _drops(members: ir.Rule, group: ir.Group) -> bool:
    """True if rows of the body may differ where their members do not."""
    if len(members.head.terms) > sum(isinstance(term, ir.Variable) for term in group.atom.terms) + 1:
        return False  # what keeps duplicates apart is part of the members
    value = members.head.terms[-1]
    told = {term.name for term in members.head.terms if isinstance(term, ir.Variable)}
    for literal in members.body:
        if isinstance(literal, ir.Assign) and literal.variable == value:
            inside = literal.expression
            if isinstance(inside, typed.MakeTuple | typed.Construct):
                return False
            while isinstance(inside, typed.Cast):
                inside = inside.operand
            told |= {inside.name} if isinstance(inside, typed.Var) else set()
    return any(
        isinstance(term, ir.Wildcard) or (isinstance(term, ir.Variable) and term.name not in told)
        for atom in members.positives
        for term in atom.terms
    )


def _help(added: ir.Aggregate, aggregates: Sequence[ir.Aggregate], written: program.GroupBy) -> str:
    keys = ", ".join(key.name for key in written.keys)
    value = written.value.span.text
    number = value
    if added.of is not None and added.of.span.source is written.span.source:
        number = _text_of(added.of, added.parameters[0].name, value)
    if added.kind is ir.AggregateKind.COUNT_IF:
        return f"`{number}, var n = count() by ({keys})` counts rows"
    if any(each.kind is ir.AggregateKind.COUNT for each in aggregates):
        return f"`var mean = avg({number}) by ({keys})` is the average over rows"
    return f"`var total = sum({number}) by ({keys})` adds up rows"


def _text_of(of: typed.Expression, parameter: str, value: str) -> str:
    """Returns the text of a function's body with another text in the place of its parameter."""
    places: list[Span] = [
        node.span for node in typed.walk(of) if isinstance(node, typed.Var) and node.name == parameter
    ]
    text, start = of.span.text, of.span.start
    inside = value if value.isidentifier() or value.startswith("(") else f"({value})"
    for span in sorted(places, key=lambda each: -each.start):
        if of.span.start <= span.start and span.end <= of.span.end:
            text = f"{text[: span.start - start]}{inside}{text[span.end - start :]}"
    return text
