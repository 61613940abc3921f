"""A change of rules on Spark: which stored relations keep their files, and which are recomputed.

Segments follow from the program, so other rules mean other segments. A segment with a stratum whose rules have changed
is recomputed by the usual jobs, which write its difference to the stored rows. All other segments keep their files: the
manifest with the new rules names the same files. A stratum on frames that keeps its relations is not recomputed but
updated: its waves delete the instances of removed rules and insert those of added rules.

An input relation that gets its first rule becomes two (`split_inputs`): its files now hold its facts. It stays split
when the rule is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.engine.spark.plans.frames.update import RuleDelta
from tidelog.engine.spark.plans.split_inputs import SplitProgram, is_copy
from tidelog.engine.spark.storage.state_files import Stored
from tidelog.rules.ir import Rule, RuleProgram, Stratum


@dataclass(frozen=True, slots=True)
class RuleChange:
    """`old` is the stored state, by the names of the new program; `recomputed` are the relations to recompute;
    `emptied` are those that have lost their last rule; `delayed` are new relations `R-n`, each with its source.
    `rule_deltas` has, by their relations, the strata among `recomputed` that can be updated."""

    old: Mapping[str, Stored]
    rule_deltas: Mapping[frozenset[str], RuleDelta]
    recomputed: frozenset[str]
    emptied: tuple[str, ...]
    delayed: Mapping[str, str]


def change_rules(stored: Mapping[str, Stored], before: SplitProgram, after: SplitProgram) -> RuleChange:
    """Returns the effect of a change of rules on the stored state."""
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
    recomputed = frozenset(name for stratum in changed for name in stratum.relations)
    rule_deltas = {}
    for stratum in changed:
        was = known.get(frozenset(stratum.relations))
        if was is not None and was.rules and _goes_on(was, before.rules, after.rules):
            rule_deltas[frozenset(stratum.relations)] = _between(was, stratum)
    feeds = {feed.relation for feed in before.rules.feeds}
    delayed = {
        feed.relation: feed.source for feed in after.rules.feeds if not feed.latest and feed.relation not in feeds
    }
    emptied = tuple(name for name in old if name in before.derived and name not in after.derived)
    return RuleChange(old, rule_deltas, recomputed, emptied, delayed)


def _is_as_it_was(
    stratum: Stratum, known: Mapping[frozenset[str], Stratum], before: RuleProgram, after: RuleProgram
) -> bool:
    old = known.get(frozenset(stratum.relations))
    if old is None or {*map(_key, old.rules)} != {*map(_key, stratum.rules)}:
        return False
    names = {*stratum.relations, *(atom.relation for rule in stratum.rules for atom in rule.atoms)}
    return all(before.relations[name].weighted == after.relations[name].weighted for name in names)


def _goes_on(was: Stratum, before: RuleProgram, after: RuleProgram) -> bool:
    """True if all relations of the old rules are still there, and counted as before."""
    names = {*was.relations, *(atom.relation for rule in was.rules for atom in rule.atoms)}
    return all(
        name in after.relations and before.relations[name].weighted == after.relations[name].weighted for name in names
    )


def _between(was: Stratum, stratum: Stratum) -> RuleDelta:
    old, new = {_key(rule): rule for rule in was.rules}, {_key(rule): rule for rule in stratum.rules}
    removed = tuple(rule for key, rule in old.items() if key not in new)
    return RuleDelta(removed, tuple(rule for key, rule in new.items() if key not in old))


def _key(rule: Rule) -> object:
    """Returns a key for equal rules: most rules are kept as objects, but a copy of facts is made each time."""
    return rule.head.relation if is_copy(rule) else id(rule)
