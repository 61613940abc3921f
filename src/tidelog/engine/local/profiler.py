"""The reports of epochs → what strata and rules have cost; stores → what relations and arrangements take.

A note after an epoch costs a few additions for each stratum that the epoch came to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.store import Desk, Store
from tidelog.maintain.profile import (
    ArrangementProfile,
    Cost,
    Profile,
    RelationProfile,
    RuleProfile,
    StratumProfile,
)
from tidelog.maintain.report import EpochReport
from tidelog.rules.ir import Rule, RuleProgram

_NONE = Cost()


class Metered(Protocol):
    """A stratum that knows what its rules cost."""

    @property
    def relations(self) -> tuple[str, ...]: ...

    def take_costs(self, seconds: float) -> Mapping[int, Cost]:
        """What each rule has cost since the last call, by its id, if the stratum took so long."""


class Profiler:
    """Adds up what epochs cost."""

    def __init__(self, program: RuleProgram) -> None:
        self._program = program
        self._rules = {stratum.relations: stratum.rules for stratum in program.strata}
        self._epoch = -1
        self._last_seconds = self._total_seconds = 0.0
        self._strata: dict[tuple[str, ...], StratumProfile] = {}
        self._last_epoch: dict[tuple[str, ...], int] = {}
        self._rule_costs: dict[int, tuple[int, Cost, Cost]] = {}  # rule → epoch of the last cost, that cost, all

    def note(self, report: EpochReport, visited: Sequence[Metered]) -> None:
        """An epoch has been committed, which came to these strata."""
        self._epoch = report.epoch
        self._last_seconds = report.seconds
        self._total_seconds += report.seconds
        for stratum in report.strata:
            before = self._strata.get(stratum.relations)
            cost = Cost(stratum.instances, stratum.seconds)
            self._strata[stratum.relations] = StratumProfile(
                stratum.relations,
                stratum.strategy,
                stratum.rounds,
                1 + (before.epochs if before else 0),
                cost,
                cost + (before.total if before else _NONE),
            )
            self._last_epoch[stratum.relations] = report.epoch
        reports = {stratum.relations: stratum for stratum in report.strata}
        for each in visited:
            known_report = reports.get(each.relations)
            if known_report is None:
                continue
            costs = each.take_costs(known_report.seconds)
            if not costs and len(self._rules[each.relations]) == 1:
                # One rule that is not joined: a group, a transformer.
                costs = {self._rules[each.relations][0].id: Cost(known_report.instances, known_report.seconds)}
            for rule, cost in costs.items():
                known = self._rule_costs.get(rule)
                self._rule_costs[rule] = (report.epoch, cost, cost + (known[2] if known else _NONE))

    def profile(self, desk: Desk, numbers: Mapping[str, int]) -> Profile:
        """All costs so far, and the sizes of now."""
        strata = tuple(self._of_last_epoch(profile) for profile in self._strata.values())
        names = {number: name for name, number in numbers.items()}
        relations = tuple(
            RelationProfile(names[store.relation], len(store), store.bytes()) for store in desk.stores if len(store)
        )
        arrangements = tuple(
            self._arrangement(names[store.relation], store, number)
            for store in desk.stores
            for number in store.arrangements
        )
        rules = tuple(self._rule(rule) for rule in self._program.rules if rule.id in self._rule_costs)
        return Profile(self._epoch, self._last_seconds, self._total_seconds, strata, rules, relations, arrangements)

    def _of_last_epoch(self, profile: StratumProfile) -> StratumProfile:
        if self._last_epoch[profile.relations] == self._epoch:
            return profile
        return StratumProfile(profile.relations, profile.strategy, profile.rounds, profile.epochs, _NONE, profile.total)

    def _rule(self, rule: Rule) -> RuleProfile:
        epoch, last, total = self._rule_costs[rule.id]
        text = " ".join(rule.text.split())
        return RuleProfile(text, str(rule.span), rule.head.relation, last if epoch == self._epoch else _NONE, total)

    def _arrangement(self, relation: str, store: Store, number: int) -> ArrangementProfile:
        columns = self._program.relations[relation].columns
        arrangement = store.arrangements[number]
        return ArrangementProfile(
            relation,
            tuple(columns[key].name for key in arrangement.keys[: arrangement.key_count].tolist()),
            int(store.desk.A[number, k.ENTRY_COUNT]),
            len(store),
            store.arrangement_bytes(number),
        )
