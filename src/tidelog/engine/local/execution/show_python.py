"""The expressions of rules that Python evaluates on the local engine, as text, for `tidelog show --stage plan`.

    expressions in Python
      C(join(v, x)) :- U(x, v).
        ddlog_std::join(v, x): the function `ddlog_std::string_join`

All other expressions run in kernels: on registers of the join (`plan.plain`), or on columns (`column_step`).
"""

from __future__ import annotations

from tidelog.check.show_expression import show_expression
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.local.execution.column_step import ColumnStep, compile_condition, compile_pattern, compile_value
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.plain import is_plain
from tidelog.plan.plan_rules import plan_rules
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Filter, Let, Step, Take
from tidelog.rules.ir import RuleProgram


def show_python(program: RuleProgram) -> str:
    """Returns the expressions that need Python, rule by rule, each with the part that does; nothing if there are
    none."""
    lines: list[str] = []
    for stratum in program.strata:
        joined = [rule for rule in stratum.rules if rule.group is None and rule.transform is None]
        found: dict[tuple[str, str], None] = {}
        for variant in plan_rules(joined, FromSizes(lambda _: 1000)):
            for step in variant.steps:
                if (reason := _reason(step, program.functions)) is not None:
                    found[variant.rule.text, reason] = None
        for rule in dict.fromkeys(rule for rule, _ in found):
            lines += [f"  {rule}", *(f"    {reason}" for own, reason in found if own == rule)]
    return "\n".join(["expressions in Python", *lines, ""]) if lines else ""


def _reason(step: Step, functions: CompiledFunctions) -> str | None:
    """Returns an expression and what in it needs Python; None if kernels evaluate it."""
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
    return None if isinstance(made, ColumnStep) else f"{show_expression(expression)}: {made}"
