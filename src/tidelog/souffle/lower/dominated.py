"""Subsumption without recursion → ordinary rules, where the better rows are those of an order.

    cost(a, c) <= cost(a, d) :- d < c.      cost(a, c) :- cost.candidates(a, c), c = min d : { cost.candidates(a, d) }.

    p(a, c, n) <= p(a, d, m) :- d <= c, m <= n.

    p.dominated(a, c, n) :- p.candidates(a, c, n), p.candidates(a, d, m), d <= c, m <= n, c != d.   (and … n != m)
    p(a, c, n) :- p.candidates(a, c, n), !p.dominated(a, c, n).

Each column is the same in both rows, or compared by `<`, `<=`, `>` or `>=`. Then it makes no difference in which order
rows are dropped: a row stays if no other one is better. All else is left to `evaluate_stratum`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.souffle.plan import terms
from tidelog.souffle.plan.strata import Stratum

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
Orders = tuple[str, ...]


def orders_of(stratum: Stratum) -> Orders | None:
    """Returns for each column how a better row's value compares, empty for an equal one; None for anything else."""
    subsuming = [rule for rule in stratum.rules if rule.better is not None]
    if stratum.why != "subsumption" or len(stratum.relations) != 1 or len(subsuming) != 1 or stratum.counts:
        return None
    (name,) = stratum.relations
    plain = [rule for rule in stratum.rules if rule.better is None]
    if any(name in terms.reads(step) or _by_functor(step) for rule in plain for step in rule.steps):
        return None
    (rule,) = subsuming
    assert rule.better is not None
    worse, better = rule.terms, rule.better
    scans = [step for step in rule.steps if isinstance(step, terms.Scan) and step.relation == name]
    tests = [step for step in rule.steps if step not in scans]
    if [scan.terms for scan in scans] != [worse, better] or not all(isinstance(step, terms.Test) for step in tests):
        return None
    sides = [each.name for each in (*worse, *better) if isinstance(each, terms.Var)]
    shared = [one for one, other in zip(worse, better, strict=True) if one == other]
    if len(sides) != 2 * len(worse) or len(set(sides)) != len(sides) - len(shared):
        return None
    found = [None if one != other else "" for one, other in zip(worse, better, strict=True)]
    for step in tests:
        assert isinstance(step, terms.Test)
        for left, right, operator in (
            (step.left, step.right, step.operator),
            (step.right, step.left, _MIRRORED.get(step.operator, "")),
        ):
            if operator in _MIRRORED and left in better and right in worse and better.index(left) == worse.index(right):
                place = better.index(left)
                if found[place] is not None:
                    return None
                found[place] = operator
                break
        else:
            return None
    return None if None in found or not any(found) else tuple(each or "" for each in found)


def undominated(stratum: Stratum, orders: Orders, kinds: Sequence[str], candidates: str) -> list[terms.Planned]:
    """Returns the rules that derive the relation from its candidates, and the relation of dominated rows, if needed."""
    (name,) = stratum.relations
    (rule,) = [each for each in stratum.rules if each.better is not None]
    span = rule.span
    rows = tuple(terms.Var(f"c{place}", kind) for place, kind in enumerate(kinds))
    others = tuple(terms.Var(f"d{place}", kind) if orders[place] else rows[place] for place, kind in enumerate(kinds))
    scan, other = terms.Scan(candidates, rows, span), terms.Scan(candidates, others, span)
    compared = [place for place, each in enumerate(orders) if each]
    if len(compared) == 1:
        (place,) = compared
        function = "min" if orders[place].startswith("<") else "max"
        keys = tuple(each for each in rows if each is not rows[place])
        best = terms.Var("best", kinds[place])
        fold = terms.Fold(best, function, others[place], (other,), keys, span, None, (other,))
        test = terms.Test("=", rows[place], best, span)
        return [terms.Planned(name, rows, (scan, fold, test), span)]
    tests = tuple(terms.Test(orders[place], others[place], rows[place], span) for place in compared)
    dominated = dominated_name(name)
    if any(orders[place] in ("<", ">") for place in compared):
        made = [terms.Planned(dominated, rows, (scan, other, *tests), span)]
    else:
        made = [
            terms.Planned(
                dominated, rows, (scan, other, *tests, terms.Test("!=", others[place], rows[place], span)), span
            )
            for place in compared
        ]
    return [*made, terms.Planned(name, rows, (scan, terms.Absent(dominated, rows, span)), span)]


def dominated_name(name: str) -> str:
    return f"{name}.dominated"


def _by_functor(step: terms.Step) -> bool:
    return isinstance(step, terms.Fold) and step.function.startswith("@@")
