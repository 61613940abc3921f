"""`db.profile`: what epochs cost, and what the state takes."""

from __future__ import annotations

import json

from tests.database.test_explain import REACH, opened


def test_a_profile_counts_the_last_epoch_and_all_of_them() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c")]) as db:
        first = db.profile()
        with db.transaction() as tx:
            tx.insert("Edge", [("c", "d")])
        second = db.profile()
        with db.transaction() as tx:
            tx.insert("Blocked", [("z",)])
        third = db.profile()
    (before,) = first.strata
    (after,) = second.strata
    assert before.relations == ("Reach",)
    assert (before.last.instances, before.total.instances, before.epochs) == (3, 3, 1)
    assert (after.last.instances, after.total.instances, after.epochs) == (3, 6, 2)
    assert after.total.seconds >= after.last.seconds > 0
    assert (second.epoch, third.epoch) == (2, 3)
    assert second.total_seconds >= first.total_seconds + second.last_seconds


def test_a_profile_has_the_sizes_of_relations_and_arrangements() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c"), ("a", "c")]) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("c", "d")])
        profile = db.profile()
        sizes = db.report.bytes
    rows = {each.name: each.rows for each in profile.relations}
    assert rows == {"Edge": 4, "Reach": 6}
    assert {each.name: each.bytes for each in profile.relations}.items() <= sizes.items()
    by_source = next(each for each in profile.arrangements if each.relation == "Edge")
    assert (by_source.columns, by_source.keys, by_source.rows) == (("src",), 3, 4)
    assert 0 < by_source.bytes < sizes["Edge"]


def test_a_profile_is_text_and_json() -> None:
    with opened(REACH, Edge=[("a", "b")]) as db:
        profile = db.profile()
    assert str(profile).startswith("epoch 1: ")
    assert "\nrelation  rows  bytes\n" in str(profile)
    assert "Edge" in profile.sizes_text()
    assert json.loads(profile.to_json())["strata"][0]["relations"] == ["Reach"]
