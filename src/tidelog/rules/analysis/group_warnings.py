"""The warnings of `check` → those that still hold once the rules are known.

    Best(n, d.group_by(n).min()) :- Candidate(n, d).     monotone: no warning
    Cost(p, s.group_by(p).sum()) :- Uses(p, q), Cost(q, s).   W301, with a note on cycles in the data
    Mean(n, d.group_by(n).sum()) :- Candidate(n, d), d < 9.   W301, with a label at `sum`

`check/rule/recursion.py` warns about every `group_by` in a recursion. This pass drops the warning where the recursion
is monotone (`monotone.py`), acyclic by its own word (`fixed_keys.py`, `#[cycle = "error"]`) or bounded
(`#[max_rounds = n]`); elsewhere it adds a label that shows which expression is in the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.check.program import GroupBy, RowAggregates, TypedProgram
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.report import Diagnostic, Label
from tidelog.diagnostics.spans import Span
from tidelog.rules.analysis.aggregates import aggregates
from tidelog.rules.analysis.dropped_duplicates import dropped_duplicates
from tidelog.rules.analysis.expression_direction import NotMonotoneError
from tidelog.rules.analysis.fixed_keys import has_fixed_keys
from tidelog.rules.analysis.monotone import find_monotone
from tidelog.rules.analysis.weights import weights
from tidelog.rules.ir import RuleProgram, Stratum
from tidelog.rules.lower.program import Options, lower_program
from tidelog.rules.stratify import stratify

_NOTE = "a recursion that reads only a `min` or `max` that never gets worse is updated incrementally"
_CYCLES = (
    "while no row depends on itself it is updated incrementally, without rounds;"
    ' `#[cycle = "error"]` in front of the rule refuses data with a cycle'
)


def group_warnings(typed: TypedProgram, rules: RuleProgram) -> TypedProgram:
    """Returns the program with the warnings that still hold."""
    if not any(warning.code is Code.GROUP_IN_CYCLE for warning in typed.warnings):
        return typed
    return replace(typed, warnings=tuple(_judged(typed.warnings, rules)))


def warnings_of_typed(typed: TypedProgram) -> TypedProgram:
    """Returns a program that may lack extern functions with the warnings of `check` that still hold, and with those of
    `dropped_duplicates`."""
    if not any(isinstance(literal, GroupBy | RowAggregates) for rule in typed.rules for literal in rule.body):
        return typed
    try:
        rules = lower_program(typed, Options(), to_run=False)
        typed = group_warnings(typed, weights(stratify(rules)))
        return dropped_duplicates(typed, aggregates(rules, Options()))
    except (ProgramError, UsageError):
        return typed


def _judged(warnings: Iterable[Diagnostic], rules: RuleProgram) -> Iterable[Diagnostic]:
    for warning in warnings:
        stratum = _stratum_of(warning.span, rules) if warning.code is Code.GROUP_IN_CYCLE else None
        if stratum is None:
            yield warning
            continue
        if any(rule.max_rounds for rule in stratum.rules):
            continue
        try:
            find_monotone(stratum, rules.relations)
        except NotMonotoneError as found:
            notes = [*warning.notes, _NOTE]
            if has_fixed_keys(stratum, rules.relations):
                if any(rule.cycle == "error" for rule in stratum.rules):
                    continue
                notes.append(_CYCLES)
            labels = (*warning.labels, Label(found.span, found.text))
            yield replace(warning, labels=labels, notes=tuple(notes), help=found.help or warning.help)


def _stratum_of(span: Span, rules: RuleProgram) -> Stratum | None:
    """Returns the recursive stratum of the group that stands here."""
    for stratum in rules.strata:
        for rule in stratum.rules if stratum.recursive else ():
            if rule.group is not None and _is_within(rule.group.atom.span, span):
                return stratum
    return None


def _is_within(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.end <= outer.end
