"""Plans as text, for `tidelog show --stage plan`: one block a rule, one line a variant.

    Reach(x, z) :- Reach(x, y), Edge(y, z).
      Δ Reach(x, y)   probe Edge[src] → emit Reach(x, z)
      Δ Edge(y, z)    probe Reach[dst] → emit Reach(x, z)
      Δ rule          scan Edge → probe Reach[dst] → emit Reach(x, z)

`Δ` is where the delta stands; `rule` is the rule's hidden fact: the whole body, as a Bootstrap or a new rule runs it.
"""

from __future__ import annotations

from tidelog.check import typed
from tidelog.plan.variant import Antijoin, Delta, DeltaKind, Filter, Join, Let, Sizes, Step, deltas, plan_variant
from tidelog.rules.ir import Atom, Constant, Rule, RuleProgram, Term, Variable


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


def show_atom(atom: Atom) -> str:
    """`Edge(x, "a", _)`."""
    return f"{atom.relation}({', '.join(_show_term(term) for term in atom.terms)})"


def _show_term(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(value):
            return _show_value(value)
        case _:
            return "_"


def _show_value(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def show_expression(expression: typed.Expression) -> str:
    """The expression as a reader would write it, with all parentheses."""
    match expression:
        case typed.Var(name=name):
            return name
        case typed.Lit(value=value):
            return _show_value(value)
        case typed.Unary(op=op, operand=operand):
            return f"{op}{' ' if op == 'not' else ''}{show_expression(operand)}"
        case typed.Binary(op=op, left=left, right=right):
            return f"({show_expression(left)} {op} {show_expression(right)})"
        case typed.Cast(operand=operand, type=type_):
            return f"({show_expression(operand)} as {type_})"
        case typed.ToString(operand=operand):
            return f"to_string({show_expression(operand)})"
        case typed.IfElse(condition=condition, then=then, otherwise=otherwise):
            shown = (show_expression(condition), show_expression(then), show_expression(otherwise))
            return "(if ({}) {} else {})".format(*shown)
