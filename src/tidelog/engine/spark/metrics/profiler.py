"""The reports of epochs and the files of the state → what a database on Spark has cost, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.maintain.profile import Cost, Profile, RelationProfile, StratumProfile
from tidelog.maintain.report import EpochReport


class Profiler:
    """Adds up what epochs cost since the database was opened. Rules have no costs of their own here: tasks report
    strata."""

    def __init__(self) -> None:
        self._last_seconds = self._total_seconds = 0.0
        self._strata: dict[tuple[str, ...], StratumProfile] = {}

    def note(self, report: EpochReport) -> None:
        """An epoch has been committed."""
        self._last_seconds = report.seconds
        self._total_seconds += report.seconds
        self._strata = {relations: _at_rest(each) for relations, each in self._strata.items()}
        for each in report.strata:
            cost = Cost(each.instances, each.seconds)
            before = self._strata.get(each.relations)
            epochs, total = (before.epochs, before.total) if before is not None else (0, Cost())
            self._strata[each.relations] = StratumProfile(
                each.relations, each.strategy, each.rounds, epochs + 1, cost, total + cost
            )

    def profile(self, epoch: int, rows: Mapping[str, int], sizes: Mapping[str, int]) -> Profile:
        """All costs so far; `rows` and `sizes`, in bytes, are those of the relations now."""
        relations = tuple(RelationProfile(name, count, sizes.get(name, 0)) for name, count in rows.items())
        return Profile(epoch, self._last_seconds, self._total_seconds, tuple(self._strata.values()), (), relations, ())


def _at_rest(stratum: StratumProfile) -> StratumProfile:
    return StratumProfile(stratum.relations, stratum.strategy, stratum.rounds, stratum.epochs, Cost(), stratum.total)
