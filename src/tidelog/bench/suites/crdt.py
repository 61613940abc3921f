"""CRDT: the text of concurrent edits; one insert, one removal, and 1% of the inserts.

The result is checked against a walk through the tree of characters (`inputs.crdt.text_size`).
"""

from __future__ import annotations

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.crdt import crdt as crdt_data
from tidelog.bench.inputs.crdt import text_size
from tidelog.bench.measure import Outcome
from tidelog.bench.suites.maintained import Maintained, Work, share_of


def crdt(settings: Settings) -> Outcome:
    out = Outcome()
    data = crdt_data(settings)
    subject = Maintained(settings, out, Work("crdt", data, ("Text",), lambda given: {"Text": text_size(given)}))
    subject.single("Insert", 50)
    subject.single("Remove", 50)
    subject.sets(
        "1% of Insert", [{"Insert": share_of(data.tables["Insert"], 0.01, seed)} for seed in range(settings.repeat)]
    )
    subject.close()
    return out
