"""A rule that the engines run → the rule of the program that it is part of.

A rule with a group becomes several, with hidden relations between them; each of those has its place in the text.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.rules.ir import Rule


def written_rule(rule: Rule, rules: Iterable[Rule]) -> Rule:
    """Returns the rule that users know: of those in the same text, the last that begins before it; or the rule."""
    if "#" not in rule.head.relation:
        return rule
    place = rule.span
    around = [
        each
        for each in rules
        if "#" not in each.head.relation
        and each.span.source is place.source
        and each.span.start <= place.start < each.span.end
    ]
    return max(around, key=lambda each: each.span.start, default=rule)
