"""Other rules for a database on Spark: what of the stored state goes on, and what is derived anew.

A segment is a function of the program, so other rules are another choice of segments. Those that hold a stratum whose
rules are not what they were are derived anew, by the same jobs as ever, and hand on their difference to what is stored;
all others go on. Nothing is stored anew that does not change: a manifest with other rules names the same files. A
stratum on frames that has the relations that it had is not derived anew but repaired: its waves meet the rules that go
and those that come.

An input relation that gets its first rule becomes two (`separate`): its files are now those of its facts. It stays so
when the rule goes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.engine.spark.plans.frames.update import OtherRules
from tidelog.engine.spark.plans.split_inputs import SeparateProgram, is_copy
from tidelog.engine.spark.storage.state_files import Stored
from tidelog.rules.ir import Rule, RuleProgram, Stratum


@dataclass(frozen=True, slots=True)
class RuleChange:
    """`old` is what is stored, under its names in the new program; `anew` are the relations to derive anew, `emptied`
    those that have lost their last rule; `delayed` are relations `R-n` that were not there, each with its source.
    `other_rules` has the strata among `anew` that could be repaired, by their relations."""

    old: Mapping[str, Stored]
    other_rules: Mapping[frozenset[str], OtherRules]
    anew: frozenset[str]
    emptied: tuple[str, ...]
    delayed: Mapping[str, str]


def change_rules(stored: Mapping[str, Stored], before: SeparateProgram, after: SeparateProgram) -> RuleChange:
    """What a change of rules asks for, of a state that is stored."""
    old = {name: each for name, each in stored.items() if name in after.rules.relations}
    for name, written in after.written.items():
        if written != name and before.written.get(name) == name and name in stored:
            old[written] = stored[name]
    known = {frozenset(stratum.relations): stratum for stratum in before.rules.strata}
    changed = [
        stratum
        for stratum in after.rules.strata
        if stratum.rules and not _is_as_it_was(stratum, known, before.rules, after.rules)
    ]
    anew = frozenset(name for stratum in changed for name in stratum.relations)
    other_rules = {}
    for stratum in changed:
        was = known.get(frozenset(stratum.relations))
        if was is not None and was.rules and _goes_on(was, before.rules, after.rules):
            other_rules[frozenset(stratum.relations)] = _between(was, stratum)
    feeds = {feed.relation for feed in before.rules.feeds}
    delayed = {
        feed.relation: feed.source for feed in after.rules.feeds if not feed.latest and feed.relation not in feeds
    }
    emptied = tuple(name for name in old if name in before.derived and name not in after.derived)
    return RuleChange(old, other_rules, anew, emptied, delayed)


def _is_as_it_was(
    stratum: Stratum, known: Mapping[frozenset[str], Stratum], before: RuleProgram, after: RuleProgram
) -> bool:
    old = known.get(frozenset(stratum.relations))
    if old is None or {*map(_key, old.rules)} != {*map(_key, stratum.rules)}:
        return False
    names = {*stratum.relations, *(atom.relation for rule in stratum.rules for atom in rule.atoms)}
    return all(before.relations[name].weighted == after.relations[name].weighted for name in names)


def _goes_on(was: Stratum, before: RuleProgram, after: RuleProgram) -> bool:
    """Whether all that the old rules read is still there, and is counted as it was."""
    names = {*was.relations, *(atom.relation for rule in was.rules for atom in rule.atoms)}
    return all(
        name in after.relations and before.relations[name].weighted == after.relations[name].weighted for name in names
    )


def _between(was: Stratum, stratum: Stratum) -> OtherRules:
    old, new = {_key(rule): rule for rule in was.rules}, {_key(rule): rule for rule in stratum.rules}
    removed = tuple(rule for key, rule in old.items() if key not in new)
    return OtherRules(removed, tuple(rule for key, rule in new.items() if key not in old))


def _key(rule: Rule) -> object:
    """Rules that stay are the same objects; the one that copies facts is made anew each time."""
    return rule.head.relation if is_copy(rule) else id(rule)
