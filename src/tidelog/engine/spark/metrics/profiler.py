"""Reports of epochs and files of the state → the costs of a database on Spark, and its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.maintain.profile import Cost, Profile, RelationProfile, StratumProfile
from tidelog.maintain.report import EpochReport


class Profiler:
    """Adds up the costs of epochs since the database was opened. Rules have no costs of their own here: tasks report
    strata."""

    def __init__(self) -> None:
        self._last_seconds = self._total_seconds = 0.0
        self._strata: dict[tuple[str, ...], StratumProfile] = {}

    def note(self, report: EpochReport) -> None:
        """Adds the costs of a committed epoch."""
        self._last_seconds = report.seconds
        self._total_seconds += report.seconds
        self._strata = {relations: replace(each, last=Cost()) for relations, each in self._strata.items()}
        for each in report.strata:
            cost = Cost(each.instances, each.seconds)
            before = self._strata.get(each.relations)
            epochs, total = (before.epochs, before.total) if before is not None else (0, Cost())
            self._strata[each.relations] = StratumProfile(
                each.relations, each.strategy, each.rounds, epochs + 1, cost, total + cost
            )

    def profile(self, epoch: int, rows: Mapping[str, int], sizes: Mapping[str, int]) -> Profile:
        """Returns all costs so far; `rows` and `sizes`, in bytes, are those of the relations now."""
        relations = tuple(RelationProfile(name, count, sizes.get(name, 0)) for name, count in rows.items())
        return Profile(epoch, self._last_seconds, self._total_seconds, tuple(self._strata.values()), (), relations, ())
