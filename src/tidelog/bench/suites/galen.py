"""GALEN: a medical ontology, 24 million rows from six rules; one row of `p`, 1% of it; memory beside `counting`."""

from __future__ import annotations

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.galen import galen as galen_data
from tidelog.bench.measure import Outcome
from tidelog.bench.suites.maintained import Maintained, Work, share_of


def galen(settings: Settings) -> Outcome:
    out = Outcome()
    data = galen_data(settings)
    subject = Maintained(settings, out, Work("galen", data, ("IsA", "Has"), lambda _: {}))
    subject.single("ToldIsA", 20)
    subject.sets(
        "1% of ToldIsA", [{"ToldIsA": share_of(data.tables["ToldIsA"], 0.01, seed)} for seed in range(settings.repeat)]
    )
    subject.memory_beside("counting")
    subject.close()
    return out
