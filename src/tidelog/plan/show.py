"""Plans as text, for `tidelog show --stage plan`: one block a rule, one line a variant.

    Reach(x, z) :- Reach(x, y), Edge(y, z).
      Δ Reach(x, y)   probe Edge[src] → emit Reach(x, z)
      Δ Edge(y, z)    probe Reach[dst] → emit Reach(x, z)
      Δ rule          scan Edge → probe Reach[dst] → emit Reach(x, z)

`Δ` is where the delta stands; `rule` is the rule's hidden fact: the whole body, as a Bootstrap or a new rule runs it.
"""

from __future__ import annotations

from tidelog.check.show_expression import show_expression
from tidelog.plan.variant import Antijoin, Delta, DeltaKind, Filter, Join, Let, Sizes, Step, Take, deltas, plan_variant
from tidelog.rules.ir import Rule, RuleProgram, Unfold
from tidelog.rules.show import show_atom, show_rule


def show_plan(program: RuleProgram, sizes: Sizes | None = None) -> str:
    """The plans of all rules, stratum by stratum; without `sizes` every relation counts as equally large."""
    known = sizes or (lambda _: 1000)
    parts = []
    for number, stratum in enumerate(program.strata):
        if not stratum.rules:
            continue
        kind = "recursive" if stratum.recursive else "not recursive"
        parts.append(f"stratum {number}: {', '.join(stratum.relations)} ({kind})")
        parts += [_show_rule(program, rule, known) for rule in stratum.rules]
    return "\n".join(parts) + "\n"


def _show_rule(program: RuleProgram, rule: Rule, sizes: Sizes) -> str:
    if rule.group is not None:
        return f"  {show_rule(rule)}\n    group the touched keys of {rule.group.atom.relation}"
    variants = [plan_variant(rule, delta, sizes) for delta in deltas(rule)]
    labels = [_show_delta(variant.delta) for variant in variants]
    width = max(map(len, labels))
    lines = [f"  {rule.text}"]
    for label, variant in zip(labels, variants, strict=True):
        steps = [_show_step(program, step) for step in variant.steps]
        lines.append(f"    Δ {label:<{width}}   " + " → ".join([*steps, f"emit {show_atom(rule.head)}"]))
    return "\n".join(lines)


def _show_delta(delta: Delta) -> str:
    if delta.atom is None:
        return "rule"
    return ("not " if delta.kind is DeltaKind.NEGATIVE else "") + show_atom(delta.atom)


def _show_step(program: RuleProgram, step: Step) -> str:
    match step:
        case Join(atom, _, keys):
            if len(keys) == len(atom.terms):
                return f"find {show_atom(atom)}"
            if not keys:
                return f"scan {show_atom(atom)}"
            columns = program.relations[atom.relation].columns
            return f"probe {show_atom(atom)} by {', '.join(columns[i].name for i in keys)}"
        case Antijoin(atom):
            return f"absent {show_atom(atom)}"
        case Let(variable, expression, compare):
            return f"{'check' if compare else 'let'} {variable.name} = {show_expression(expression)}"
        case Filter(expression):
            return f"where {show_expression(expression)}"
        case Take(Unfold(variables, _, expression, each)):
            names = ", ".join(variable.name for variable in variables)
            return f"take ({names}) {'from each of' if each else 'from'} {show_expression(expression)}"
