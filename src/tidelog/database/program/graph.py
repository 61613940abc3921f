"""The strata of a program → a drawing: which relations are derived from which.

A box is a stratum: a relation, or several that depend on one another. Hidden relations, which the compiler made, are
not drawn: what they read, the strata that read them read. A dashed line passes a negation.
"""

from __future__ import annotations

from tidelog.diagnostics.svg import Box, Drawing, Line, draw
from tidelog.rules.ir import Role, RuleProgram, Stratum


def draw_strata(program: RuleProgram) -> Drawing:
    """Draws the strata in which a declared relation is, in the order in which they run, from the top down."""
    stratum_of = {name: number for number, each in enumerate(program.strata) for name in each.relations}
    feeds = {feed.relation: feed.source for feed in program.feeds}
    declared = [[name for name in each.relations if _is_declared(program, name)] for each in program.strata]
    read: list[dict[int, bool]] = []
    for number, stratum in enumerate(program.strata):
        found: dict[int, bool] = {}
        for relation, is_negated in _reads(stratum, feeds):
            below = stratum_of[relation]
            if below >= number:
                continue
            # What a hidden stratum reads, this one reads through it.
            through = {below: False} if declared[below] else read[below]
            for each, negates in through.items():
                found[each] = found.get(each, True) and (is_negated or negates)
        read.append(found)
    drawn = [number for number, names in enumerate(declared) if names]
    places = {number: place for place, number in enumerate(drawn)}
    boxes = [_box(program, program.strata[number], declared[number]) for number in drawn]
    lines = [
        Line(places[below], places[number], is_negated)
        for number in drawn
        for below, is_negated in read[number].items()
        if below != number
    ]
    return draw(boxes, lines, "strata")


def _reads(stratum: Stratum, feeds: dict[str, str]) -> list[tuple[str, bool]]:
    """Returns the relations that a stratum reads, each with whether only a negation does."""
    found = [(feeds[name], False) for name in stratum.relations if name in feeds]
    for rule in stratum.rules:
        negated = {id(atom) for atom in rule.negatives}
        found += [(atom.relation, id(atom) in negated) for atom in rule.atoms]
    return found


def _is_declared(program: RuleProgram, name: str) -> bool:
    return program.relations[name].role is not Role.HIDDEN


def _box(program: RuleProgram, stratum: Stratum, names: list[str]) -> Box:
    is_given = all(program.relations[name].role is Role.INPUT for name in names) and not stratum.rules
    rules = sum(_is_declared(program, rule.head.relation) for rule in stratum.rules)
    roles = sorted({program.relations[name].role.value for name in names} - {"internal"})
    notes = [*roles, *(["recursive"] if stratum.recursive else [])]
    notes += [f"{rules} rule{'' if rules == 1 else 's'}"] if rules else []
    kind = "given" if is_given else "special" if stratum.recursive else "derived"
    return Box((", ".join(names), ", ".join(notes) or "no rules"), kind)
