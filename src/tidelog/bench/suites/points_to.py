"""Points-to: Andersen's analysis of a Java program; 10, 100 and 1,000 facts, five random sets of each.

The results are checked against a solver with a worklist (`andersen`).
"""

from __future__ import annotations

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.inputs.doop import doop
from tidelog.bench.measure import Outcome
from tidelog.bench.references.andersen import andersen
from tidelog.bench.suites.maintained import Maintained, Work, facts_of

RESULTS = ("VarPointsTo", "FieldPointsTo", "Calls", "Reachable")


def points_to(settings: Settings) -> Outcome:
    out = Outcome()
    data = doop(settings)
    subject = Maintained(settings, out, Work("points-to", data, RESULTS, _expected))
    for count in (10, 100, 1_000):
        sets = [facts_of(data.tables, min(count, data.rows), 10 * count + seed) for seed in range(5)]
        subject.sets(f"{count:,} facts", sets)
    subject.close()
    return out


def _expected(data: Dataset) -> dict[str, int]:
    return {relation: sum(1 for _ in rows) for relation, rows in andersen(data.tables).rows().items()}
