"""How the recursions through groups are updated on the local engine, as text, for `tidelog show --stage plan`.

recursion through groups
  Way, Best: monotone, in kernels
  Near, Far: monotone, row by row in Python: `Seen` is not a set
  Cost: in rounds, or by depth while no row depends on itself: the group is asked for more than its `min` or `max`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.engine.local.strata.monotone.kernel_plan import kernel_plan
from tidelog.rules.analysis.expression_direction import NotMonotoneError
from tidelog.rules.analysis.fixed_keys import has_fixed_keys
from tidelog.rules.analysis.monotone import find_monotone
from tidelog.rules.ir import Role, Rule, RuleProgram, Stratum


def show_recursion(program: RuleProgram) -> str:
    """Returns a line for each recursive stratum with groups, with the reason for its path; nothing without any."""
    lines = list(_lines(program))
    return "\n".join(["recursion through groups", *lines, ""]) if lines else ""


def rules_to_run(stratum: Stratum, program: RuleProgram) -> Sequence[Rule]:
    """Returns the rules that are run for a stratum: those over all rows, where kernels run a monotone recursion."""
    if stratum.recursive and any(rule.group is not None for rule in stratum.rules):
        try:
            plan = kernel_plan(stratum, program)
        except NotMonotoneError:
            return stratum.rules
        return stratum.rules if isinstance(plan, str) else plan.rules
    return stratum.rules


def _lines(program: RuleProgram) -> Iterator[str]:
    for stratum in program.strata:
        if stratum.recursive and any(rule.group is not None for rule in stratum.rules):
            names = [name for name in stratum.relations if program.relations[name].role is not Role.HIDDEN]
            yield f"  {', '.join(names)}: {_path(stratum, program)}"


def _path(stratum: Stratum, program: RuleProgram) -> str:
    try:
        find_monotone(stratum, program.relations)
    except NotMonotoneError as found:
        acyclic = ", or by depth while no row depends on itself" if has_fixed_keys(stratum, program.relations) else ""
        return f"in rounds{acyclic}: {found.text} (`{found.span.text}`, {found.span})"
    plan = kernel_plan(stratum, program)
    return f"monotone, row by row in Python: {plan}" if isinstance(plan, str) else "monotone, in kernels"
