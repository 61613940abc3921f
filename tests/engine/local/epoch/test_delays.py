"""Streams live for one epoch; delays and `'` bring the past back."""

from __future__ import annotations

from tests.engine.local.run import Running


def test_a_stream_brings_rows_and_takes_none_back() -> None:
    run = Running("""
        input stream Query(city: string)
        input relation Zip(city: string, zip: u32)
        output stream Answer(city: string, zip: u32)
        Answer(c, z) :- Zip(c, z), Query(c).
    """)
    assert run.commit({"Zip": [("a", 1), ("a", 2), ("b", 3)], "Query": [("a",), ("a",)]}) == {
        "Answer": {("a", 1): 2, ("a", 2): 2}
    }
    assert run.commit({"Zip": [("a", 4)]}) == {}, "only the stream drives the rule"
    assert run.commit({"Query": [("b",)]}, {"Zip": [("b", 3)]}) == {}, "it meets the relation as it is now"
    assert run.rows("Answer") == {}


def test_the_groups_of_a_stream_are_those_of_one_epoch() -> None:
    run = Running("""
        input stream In(k: string, v: u32)
        output stream Largest(k: string, v: u32)
        Largest(k, m) :- In(k, v), var m = v.group_by(k).max().
    """)
    assert run.commit({"In": [("a", 1), ("a", 5), ("b", 2)]}) == {"Largest": {("a", 5): 1, ("b", 2): 1}}
    assert run.commit({"In": [("a", 3)]}) == {"Largest": {("a", 3): 1}}


def test_facts_of_a_stream_come_when_the_database_is_opened() -> None:
    run = Running("""
        stream S(x: u32)
        S(1).
        output stream T(x: u32)
        T(x + 1) :- S(x).
        input relation R(x: u32)
    """)
    assert run.initial == {"T": {(2,): 1}}
    assert run.commit({"R": [(1,)]}) == {}


def test_a_quote_makes_a_relation_of_the_last_transaction() -> None:
    run = Running("""
        input stream S(x: u32)
        output relation Last(x: u32)
        Last(x) :- S'(x).
        input relation R(x: u32)
    """)
    assert run.commit({"S": [(1,), (1,), (2,)]}) == {"Last": {(1,): 1, (2,): 1}}
    assert run.commit({"S": [(2,), (3,)]}) == {"Last": {(1,): -1, (3,): 1}}
    assert run.commit({"R": [(1,)]}) == {"Last": {(2,): -1, (3,): -1}}


def test_a_delay_shows_the_relation_as_it_was() -> None:
    run = Running("""
        input relation R(x: u32)
        input relation Tick(n: u32)
        output relation One(x: u32)
        One(x) :- R-1(x).
        output relation Two(x: u32)
        Two(x) :- R-2(x).
        output relation New(x: u32)
        New(x) :- R(x), not R-1(x).
    """)
    assert run.commit({"R": [(1,)]}) == {"New": {(1,): 1}}
    assert run.commit({"R": [(2,)]}) == {"One": {(1,): 1}, "New": {(1,): -1, (2,): 1}}
    assert run.commit(delete={"R": [(1,)]}) == {"One": {(2,): 1}, "Two": {(1,): 1}, "New": {(2,): -1}}
    assert run.commit({"Tick": [(1,)]}) == {"One": {(1,): -1}, "Two": {(2,): 1}}
    assert run.commit({"Tick": [(1,)]}) is None, "nothing happened, so it is not an epoch"
    assert run.commit({"Tick": [(2,)]}) == {"Two": {(1,): -1}}


def test_a_sum_over_all_time_is_a_fold_of_a_stream() -> None:
    run = Running("""
        import group
        input stream Parcel(zip: u32, weight: u64)
        relation Fold(zip: u32, weight: u64)
        Fold(z, w) :- Parcel'(z, w).
        Fold(z, w) :- Total-1(z, w).
        output relation Total(zip: u32, weight: u64)
        Total(z, t) :- Fold(z, w), var t = w.group_by(z).sum_of(|w| w).
    """)
    assert run.commit({"Parcel": [(1, 5), (1, 6), (2, 1)]}) == {"Total": {(1, 11): 1, (2, 1): 1}}
    assert run.commit({"Parcel": [(1, 4)]}) == {"Total": {(1, 11): -1, (1, 15): 1}}
    assert run.rows("Total") == {(1, 15): 1, (2, 1): 1}


def test_a_delayed_stream_is_a_stream() -> None:
    run = Running("""
        input stream S(x: u32)
        output stream Again(x: u32)
        Again(x) :- S-1(x).
    """)
    assert run.commit({"S": [(1,), (1,)]}) == {}
    assert run.commit({"S": [(2,)]}) == {"Again": {(1,): 2}}
    assert run.commit({"S": [(3,)]}) == {"Again": {(2,): 1}}
