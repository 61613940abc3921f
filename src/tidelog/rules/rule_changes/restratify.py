"""The strata of a program and a change of its rules → the new strata; most changes touch only one stratum.

    rule removed     strata stay, unless the rule was in a recursion of several relations, which may fall apart
    rule added       strata stay, if the rule reads only strata before its head; strata behind the head move before it,
                     with all that they need (after Pearce and Kelly), unless they need the head: then strata merge

Strata that do not change are the same objects. Where strata fall apart or merge, `find_strata` derives all of them from
scratch. So the order may differ from the one that `stratify` finds for the same rules; it is always one in which each
stratum reads only itself and those before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.rules.ir import Relation, Rule, Stratum
from tidelog.rules.stratify import find_strata

# From so many rules on, to look at them one by one is no cheaper.
MANY = 16


def restratify(
    before: Sequence[Stratum],
    relations: Mapping[str, Relation],
    rules: Sequence[Rule],
    added: Sequence[Rule],
    removed: Sequence[Rule],
) -> tuple[Stratum, ...]:
    """Returns the strata of these rules, made of those `before`, whose rules were the same but for the ones named.

    Rules that come have higher ids than all others. Raises ProgramError for each negation inside a stratum.
    """
    strata, places = None, _places(before)
    if len(added) + len(removed) <= MANY and places.keys() == relations.keys():
        strata = _updated(list(before), places, added, removed)
    return find_strata(relations, rules) if strata is None else tuple(strata)


def _updated(
    strata: list[Stratum], places: Mapping[str, int], added: Sequence[Rule], removed: Sequence[Rule]
) -> list[Stratum] | None:
    """None where strata fall apart or become one."""
    for rule in removed:
        place = places[rule.head.relation]
        stratum = strata[place]
        if len(stratum.relations) > 1 and any(places[atom.relation] == place for atom in rule.atoms):
            return None
        strata[place] = _with_rules(stratum, tuple(each for each in stratum.rules if each is not rule))
    for rule in added:
        read = {atom.relation for atom in rule.atoms}
        place = places[rule.head.relation]
        if any(places[atom.relation] == place for atom in rule.negatives):
            return None
        needed = _behind(strata, places, place, {places[name] for name in read})
        if needed is None:
            return None
        strata[place] = _with_rules(strata[place], (*strata[place].rules, rule))
        if needed:
            between = [each for each in range(place, max(needed) + 1) if each not in needed]
            strata[place : max(needed) + 1] = [strata[each] for each in (*sorted(needed), *between)]
            places = _places(strata)
    return strata


def _behind(strata: Sequence[Stratum], places: Mapping[str, int], place: int, read: set[int]) -> set[int] | None:
    """Returns the strata behind a place that these need, themselves among them; None where one needs the stratum
    there."""
    waiting = [each for each in read if each > place]
    found = set(waiting)
    while waiting:
        for rule in strata[waiting.pop()].rules:
            for atom in rule.atoms:
                each = places[atom.relation]
                if each == place:
                    return None
                if each > place and each not in found:
                    found.add(each)
                    waiting.append(each)
    return found


def _places(strata: Sequence[Stratum]) -> dict[str, int]:
    return {name: place for place, stratum in enumerate(strata) for name in stratum.relations}


def _with_rules(stratum: Stratum, rules: tuple[Rule, ...]) -> Stratum:
    recursive = any(atom.relation in stratum.relations for rule in rules for atom in rule.atoms)
    return Stratum(stratum.relations, rules, recursive)
