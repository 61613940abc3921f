"""The expressions of rules that Python evaluates on the local engine, as text, for `tidelog show --stage plan`.

    expressions in Python
      C(regex_match(r, x)) :- U(x, r).
        regex::regex_match(r, x): the function `regex::regex_match`

All other expressions run in kernels: on registers of the join (`plan.plain`), or on columns (`column_step`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.check.show_expression import show_expression
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.local.execution.columns.step import ColumnStep, compile_condition, compile_pattern, compile_value
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.plain import is_plain
from tidelog.plan.plan_rules import plan_rules
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Filter, Let, Step, Take
from tidelog.rules.ir import Rule, RuleProgram, Stratum

RulesOf = Callable[[Stratum], Sequence[Rule]]


@dataclass(frozen=True, slots=True)
class InPython:
    """An expression of a rule, and the parts of it that Python evaluates: its functions, or what they have that is not
    compiled."""

    rule: str
    expression: str
    parts: tuple[str, ...]


def show_python(program: RuleProgram, rules_of: RulesOf = lambda each: each.rules) -> str:
    """Returns the expressions that need Python, rule by rule, each with the part that does; nothing if there are
    none. `rules_of` are the rules that are run for a stratum."""
    found = in_python(program, rules_of)
    lines: list[str] = []
    for rule in dict.fromkeys(each.rule for each in found):
        own = (each for each in found if each.rule == rule)
        lines += [f"  {rule}", *(f"    {each.expression}: {', '.join(each.parts)}" for each in own)]
    return "\n".join(["expressions in Python", *lines, ""]) if lines else ""


def in_python(program: RuleProgram, rules_of: RulesOf = lambda each: each.rules) -> list[InPython]:
    """Returns the expressions that need Python, stratum by stratum; see `show_python`."""
    found: dict[InPython, None] = {}
    for stratum in program.strata:
        joined = [rule for rule in rules_of(stratum) if rule.group is None and rule.transform is None]
        for variant in plan_rules(joined, FromSizes(lambda _: 1000)):
            for step in variant.steps:
                if (each := _in_python(step, variant.rule.text, program.functions)) is not None:
                    found[each] = None
    return list(found)


def _in_python(step: Step, rule: str, functions: CompiledFunctions) -> InPython | None:
    """Returns an expression and what in it needs Python; None if kernels evaluate all of it."""
    try:
        match step:
            case Filter(expression) if not is_plain(expression):
                made = compile_condition(expression, functions)
            case Let(_, expression) if not is_plain(expression):
                made = compile_value(expression, functions)
            case Take(unfold):
                expression, made = unfold.expression, compile_pattern(unfold, functions)
            case _:
                return None
    except UsageError:
        made = "an extern function without a Python function"
    parts = made.in_python if isinstance(made, ColumnStep) else (made,)
    return InPython(rule, show_expression(expression), parts) if parts else None
