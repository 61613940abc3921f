"""Plans as text, for `tidelog show --stage plan`: one block a rule, one line a variant; then the arrangements.

    Reach(x, z) :- Reach(x, y), Edge(y, z).
      Δ Reach(x, y)   probe Edge(y, z) by .src = y → emit Reach(x, z)
      Δ Edge(y, z)    probe Reach(x, y) by .dst = y → emit Reach(x, z)
      Δ rule          scan Reach(x, y) → probe Edge(y, z) by .src = y → emit Reach(x, z)
    arrangements
      Edge by src
      Reach by dst

`Δ` is the position of the delta; `rule` is the rule's hidden fact: the whole body, as a Bootstrap or a new rule runs
it. `by .src = y` looks up the rows whose column `src` equals the rule's variable `y`. A line below a variant names the
prefix that it shares with another one, which is enumerated once (`plan.shared`). `leap z over E(y, z), E(x, z)` is a
leapfrog join of z over tries: of the values that all of the literals have, as far as they are known. `without F(z)`
skips the values that a negated literal has, run by run. For a group, a line says whether kernels change its aggregates
by what changed, and which functions run in Python, for each touched group or for each value.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.check.show_expression import show_expression, show_value
from tidelog.plan.aggregate_ways import Way, reads_in_python, way_of
from tidelog.plan.plan_rules import arrangements, plan_rules, tries
from tidelog.plan.shared import Shared, shared_steps
from tidelog.plan.statistics import FromSizes, Keys, Statistics
from tidelog.plan.variant import Antijoin, Delta, DeltaKind, Filter, Join, Leap, Let, Part, Step, Take, Variant
from tidelog.rules.ir import Atom, Constant, Group, Rule, RuleProgram, Term, Unfold, Variable, Wildcard
from tidelog.rules.show import show_aggregate, show_atom, show_rule


def show_plan(program: RuleProgram, statistics: Statistics | None = None) -> str:
    """Returns the plans of all rules, stratum by stratum; without statistics every relation counts as equally large."""
    known = statistics or FromSizes(lambda _: 1000)
    parts, planned = [], list[Variant]()
    for number, stratum in enumerate(program.strata):
        if not stratum.rules:
            continue
        kind = "recursive" if stratum.recursive else "not recursive"
        parts.append(f"stratum {number}: {', '.join(stratum.relations)} ({kind})")
        variants = plan_rules([rule for rule in stratum.rules if _is_joined(rule)], known)
        planned += variants
        both = list(zip(variants, shared_steps(variants, stratum.relations), strict=True))
        parts += [_show_rule(program, rule, [each for each in both if each[0].rule is rule]) for rule in stratum.rules]
    found = arrangements(planned)
    if found:
        parts.append("arrangements")
        parts += [f"  {relation} by {_names(program, relation, keys)}" for relation, keys in sorted(found)]
    if sorted_by := tries(planned):
        parts.append("tries")
        in_order = sorted((relation, order.columns) for relation, order in sorted_by)
        parts += [f"  {relation} in the order {_names(program, relation, order)}" for relation, order in in_order]
    return "\n".join(parts) + "\n"


def _is_joined(rule: Rule) -> bool:
    return rule.group is None and rule.transform is None


def _show_rule(program: RuleProgram, rule: Rule, variants: list[tuple[Variant, Shared | None]]) -> str:
    if rule.group is not None:
        return "\n".join([f"  {show_rule(rule)}", *_show_group(rule.group)])
    if rule.transform is not None:
        return f"  {show_rule(rule)}\n    transform whole relations"
    labels = [_show_delta(variant.delta) for variant, _ in variants]
    width = max(map(len, labels))
    lines = [f"  {rule.text}"]
    for label, (variant, shared) in zip(labels, variants, strict=True):
        steps = [_show_step(program, step) for step in variant.steps]
        lines.append(f"    Δ {label:<{width}}   " + " → ".join([*steps, f"emit {show_atom(rule.head)}"]))
        if shared is not None and (shared.steps or shared.whole):
            lines.append(f"      {'':<{width}}   {_show_shared(rule, shared)}")
    return "\n".join(lines)


def _show_group(group: Group) -> list[str]:
    """Says how a group is maintained, and what of it Python runs."""
    members = group.atom.relation
    if group.aggregates is None:
        return [f"    group the touched keys of {members}, in Python"]
    whole = [each for each in group.aggregates if way_of(each) is Way.WHOLE]
    lines = [f"    aggregate the changes of {members}"]
    if whole:
        lines = [f"    aggregate the touched keys of {members}, in Python: {', '.join(map(show_aggregate, whole))}"]
    called = [each for each in group.aggregates if each not in whole and reads_in_python(each)]
    lines += [f"    call Python for each value: {show_aggregate(each)}" for each in called]
    return lines


def _show_shared(rule: Rule, shared: Shared) -> str:
    """Formats a prefix shared with another rule or another head of this one: `shares its first 2 steps with …`."""
    other = shared.other.rule
    whom = f"the head {show_atom(other.head)}" if other.text == rule.text else f"`{other.text}`"
    if shared.whole:
        return f"shares all of its body with {whom}"
    return f"shares its first {'step' if shared.steps == 1 else f'{shared.steps} steps'} with {whom}"


def _names(program: RuleProgram, relation: str, keys: Keys) -> str:
    columns = program.relations[relation].columns
    return ", ".join(columns[i].name for i in keys)


def _show_keys(program: RuleProgram, atom: Atom, keys: Keys) -> str:
    """Formats the columns that are looked up, as the language writes named arguments: `.src = y`."""
    columns = program.relations[atom.relation].columns
    return ", ".join(f".{columns[i].name} = {_show_known(atom.terms[i])}" for i in keys)


def _show_known(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(value):
            return show_value(value)
        case Wildcard():
            raise AssertionError("a wildcard is nothing to look up by")


def _show_part(part: Part) -> str:
    """Formats a literal as far as it is known at this level: `E(x, _)`."""
    reached = part.order.columns[: part.level + 1]
    terms = (term if column in reached else Wildcard() for column, term in enumerate(part.atom.terms))
    return show_atom(replace(part.atom, terms=tuple(terms)))


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
            return f"probe {show_atom(atom)} by {_show_keys(program, atom, keys)}"
        case Leap(variable, parts, without):
            name = "_" if variable is None else variable.name
            left_out = f" without {', '.join(map(_show_part, without))}" if without else ""
            return f"leap {name} over {', '.join(map(_show_part, parts))}{left_out}"
        case Antijoin(atom):
            return f"absent {show_atom(atom)}"
        case Let(variable, expression, compare):
            return f"{'check' if compare else 'let'} {variable.name} = {show_expression(expression)}"
        case Filter(expression):
            return f"where {show_expression(expression)}"
        case Take(Unfold(variables, _, expression, each)):
            names = ", ".join(variable.name for variable in variables)
            return f"take ({names}) {'from each of' if each else 'from'} {show_expression(expression)}"
