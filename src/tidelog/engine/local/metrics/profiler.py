"""The reports of epochs → the costs of strata and rules; stores → the memory of relations and arrangements.

A note after an epoch costs a few additions for each stratum that the epoch visited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.maintain.profile import (
    ArrangementProfile,
    Cost,
    Profile,
    RelationProfile,
    RuleProfile,
    StratumProfile,
)
from tidelog.maintain.report import EpochReport, StratumReport
from tidelog.rules.ir import Rule, RuleProgram

_NONE = Cost()


class _Sum:
    """The costs of one stratum, with the report of the last epoch that visited it."""

    def __init__(self) -> None:
        self.epochs = self.epoch = self.instances = 0
        self.seconds = 0.0
        self.report: StratumReport | None = None


class Profiler:
    """Sums the costs of epochs."""

    def __init__(self, program: RuleProgram, strata: Iterable[LocalStratum], before: Profiler | None = None) -> None:
        """Starts from `before`, the costs under other rules, for the strata that are still there."""
        self._program = program
        self._strata = {stratum.relations: stratum for stratum in strata}
        known: Mapping[tuple[str, ...], _Sum] = {} if before is None else before._sums
        self._sums: dict[tuple[str, ...], _Sum] = {
            relations: known.get(relations) or _Sum() for relations in self._strata
        }
        self._epoch = -1
        self._last_seconds = self._total_seconds = self._last_compiling = self._total_compiling = 0.0
        if before is not None:
            self._epoch, self._last_seconds = before._epoch, before._last_seconds
            self._total_seconds = before._total_seconds
            self._last_compiling, self._total_compiling = before._last_compiling, before._total_compiling

    def note(self, report: EpochReport) -> None:
        """Notes a committed epoch."""
        self._epoch = report.epoch
        self._last_seconds = report.seconds
        self._total_seconds += report.seconds
        self._last_compiling = report.compiling
        self._total_compiling += report.compiling
        for each in report.strata:
            sum_ = self._sums[each.relations]
            sum_.epochs += 1
            sum_.epoch, sum_.report = report.epoch, each
            sum_.instances += each.instances
            sum_.seconds += each.seconds
            self._strata[each.relations].end_costs(each.seconds)

    def profile(self, epoch: int, catalog: Catalog, numbers: Mapping[str, int]) -> Profile:
        """Returns all costs so far, and the present sizes; `epoch` is the last one, maybe from before the opening."""
        names = {number: name for name, number in numbers.items()}
        internal = {number: name for each in self._strata.values() for number, name in each.internal_stores.items()}
        return Profile(
            epoch,
            self._last_seconds,
            self._total_seconds,
            tuple(
                self._stratum(relations, each, each.report)
                for relations, each in self._sums.items()
                if each.report is not None
            ),
            tuple(profile for rule in self._program.rules if (profile := self._rule(rule)) is not None),
            tuple(
                RelationProfile((names | internal)[store.relation], len(store), store.bytes())
                for store in catalog.stores
                if len(store)
            ),
            tuple(
                self._arrangement(names[store.relation], store, number)
                for store in catalog.stores
                if store.relation in names
                for number in store.arrangements
            ),
            last_compiling=self._last_compiling,
            total_compiling=self._total_compiling,
        )

    def _stratum(self, relations: tuple[str, ...], sum_: _Sum, report: StratumReport) -> StratumProfile:
        last = Cost(report.instances, report.seconds) if sum_.epoch == self._epoch else _NONE
        total = Cost(sum_.instances, sum_.seconds)
        return StratumProfile(relations, report.strategy, report.rounds, sum_.epochs, last, total)

    def _rule(self, rule: Rule) -> RuleProfile | None:
        relations = next(each for each in self._strata if rule.head.relation in each)
        sum_, stratum = self._sums[relations], self._strata[relations]
        total = stratum.costs.total().get(rule.id)
        last = stratum.costs.last().get(rule.id, _NONE)
        if total is None and len(stratum.stratum.rules) == 1 and sum_.report is not None and not stratum.joins:
            # One rule that is not joined: a group, a transformer.
            last, total = Cost(sum_.report.instances, sum_.report.seconds), Cost(sum_.instances, sum_.seconds)
        if total is None:
            return None
        text = " ".join(rule.text.split())
        return RuleProfile(
            text, str(rule.span), rule.head.relation, last if sum_.epoch == self._epoch else _NONE, total
        )

    def _arrangement(self, relation: str, store: Store, number: int) -> ArrangementProfile:
        columns = self._program.relations[relation].columns
        arrangement = store.arrangements[number]
        return ArrangementProfile(
            relation,
            tuple(columns[key].name for key in arrangement.keys[: arrangement.key_count].tolist()),
            int(store.catalog.A[number, k.ENTRY_COUNT]),
            len(store),
            store.arrangement_bytes(number),
        )
