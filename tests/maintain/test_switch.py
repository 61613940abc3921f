"""What the switch decides, from the numbers alone and in the engine."""

from __future__ import annotations

import random

import tidelog
from tidelog.maintain.switch import ALWAYS_UPDATE, KILLED_SHARE, decide

MANY = 1_000_000


def test_a_small_change_is_repaired_up_to_a_share_of_all_instances() -> None:
    decision = decide(instances=MANY, new_below=3, gone_below=2, rows_below=1000, top_rank=5)
    assert decision.strategy == "update"
    assert decision.kill_limit == int(KILLED_SHARE * MANY)


def test_what_is_small_is_always_repaired() -> None:
    decision = decide(instances=ALWAYS_UPDATE, new_below=0, gone_below=900, rows_below=1000, top_rank=5)
    assert decision.strategy == "update"
    assert decision.kill_limit == ALWAYS_UPDATE


def test_where_much_is_gone_the_stratum_starts_anew_without_a_try() -> None:
    decision = decide(instances=MANY, new_below=0, gone_below=250, rows_below=1000, top_rank=5)
    assert decision.strategy == "bootstrap"
    assert decision.reason == "25% of what the rules read is gone"
    # New rows do not count among those that were there.
    assert decide(instances=MANY, new_below=500, gone_below=125, rows_below=1000, top_rank=5).is_anew
    assert not decide(instances=MANY, new_below=500, gone_below=124, rows_below=1000, top_rank=5).is_anew


def test_an_empty_stratum_and_high_ranks_start_anew() -> None:
    assert decide(instances=0, new_below=10, gone_below=0, rows_below=10, top_rank=0).strategy == "bootstrap"
    assert decide(instances=MANY, new_below=0, gone_below=0, rows_below=10, top_rank=1 << 29).strategy == "bootstrap"


def test_the_report_says_why() -> None:
    db = tidelog.compile("""
        input relation Edge(a: u32, b: u32)
        output relation Reach(a: u32, b: u32)
        Reach(x, y) :- Edge(x, y).
        Reach(x, z) :- Reach(x, y), Edge(y, z).
    """).open()
    edges = [(a, b) for a in range(40) for b in range(40)]
    random.Random(1).shuffle(edges)
    with db.transaction() as tx:
        tx.insert("Edge", edges)
    found = []
    for gone in (edges[:10], edges[10:500], edges[500:510]):
        with db.transaction() as tx:
            tx.delete("Edge", gone)
        assert tx.report is not None
        found += [(report.strategy, report.reason) for report in tx.report.strata]
    assert [strategy for strategy, _ in found] == ["update", "bootstrap", "update"]
    assert found[1][1] == "31% of what the rules read is gone"
