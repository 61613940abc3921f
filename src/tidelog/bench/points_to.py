"""Points-to: Andersen's analysis of a Java program; 10, 100 and 1,000 facts, five random sets of each."""

from __future__ import annotations

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.doop import doop
from tidelog.bench.maintained import Maintained, Work, facts_of
from tidelog.bench.measure import Outcome

RESULTS = ("VarPointsTo", "FieldPointsTo", "Calls", "Reachable")


def points_to(settings: Settings) -> Outcome:
    out = Outcome()
    data = doop(settings)
    subject = Maintained(settings, out, Work("points-to", data, RESULTS, lambda _: {}))
    for count in (10, 100, 1_000):
        sets = [facts_of(data.tables, min(count, data.rows), 10 * count + seed) for seed in range(5)]
        subject.sets(f"{count:,} facts", sets)
    subject.close()
    return out
