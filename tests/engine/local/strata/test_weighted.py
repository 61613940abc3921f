"""Multisets, and whoever else asks how often a row is derived."""

from __future__ import annotations

import pytest
from tests.engine.local.run import Running

from tidelog.diagnostics.errors import EvaluationError

COUNTS = """
    input relation R(x: u32)
    input relation S(x: u32, y: u32)
    input multiset M(x: u32)
    relation Pairs(x: u32)
    Pairs(x) :- R(x), S(x, _).
    output multiset All(x: u32)
    All(x) :- M(x).
    All(x) :- Pairs(x).
    output relation Set(x: u32)
    Set(x) :- All(x).
"""


def test_the_weight_of_a_row_is_the_number_of_its_derivations() -> None:
    run = Running(COUNTS)
    changes = run.commit({"R": [(1,)], "S": [(1, 1), (1, 2), (2, 1)], "M": [(1,), (3,), (3,)]})
    assert changes == {"All": {(1,): 3, (3,): 2}, "Set": {(1,): 1, (3,): 1}}
    assert run.rows("All") == {(1,): 3, (3,): 2}
    assert run.rows("Set") == {(1,): 1, (3,): 1}


def test_a_change_of_weight_that_leaves_the_row_changes_only_the_multiset() -> None:
    run = Running(COUNTS)
    run.commit({"R": [(1,)], "S": [(1, 1), (1, 2)], "M": [(1,)]})
    assert run.commit(delete={"S": [(1, 2)]}) == {"All": {(1,): -1}}
    assert run.commit(delete={"M": [(1,)]}) == {"All": {(1,): -1}}
    assert run.commit(delete={"R": [(1,)]}) == {"All": {(1,): -1}, "Set": {(1,): -1}}


def test_weights_multiply_along_a_join() -> None:
    run = Running("""
        input multiset A(x: u32, y: u32)
        input multiset B(y: u32, z: u32)
        output multiset C(x: u32, z: u32)
        C(x, z) :- A(x, y), B(y, z).
    """)
    assert run.commit({"A": [(1, 2)] * 2, "B": [(2, 3)] * 3}) == {"C": {(1, 3): 6}}
    # Both sides change at once: 3 * 1 is left of 2 * 3.
    assert run.commit({"A": [(1, 2)]}, {"B": [(2, 3)] * 2}) == {"C": {(1, 3): -3}}


def test_a_weight_beyond_64_bits_is_an_error_and_the_last_commit_stays() -> None:
    run = Running("""
        input multiset M(x: u32)
        output multiset Product(x: u32)
        Product(x) :- M(x), M(x), M(x), M(x), M(x), M(x), M(x).
    """)
    assert run.commit({"M": [(1,)] * 511})["Product"] == {(1,): 511**7}
    with pytest.raises(EvaluationError, match="weight of \\(1,\\) in `Product` does not fit into 64 bits") as raised:
        run.commit({"M": [(1,)]})
    assert raised.value.code == "E610"
    assert run.rows("Product") == {(1,): 511**7}
    assert run.commit(delete={"M": [(1,)] * 510})["Product"] == {(1,): 1 - 511**7}


def test_a_weight_may_fall_below_zero_and_the_row_is_not_there() -> None:
    run = Running(COUNTS)
    assert run.commit(delete={"M": [(5,)]}) == {"All": {(5,): -1}}
    assert run.rows("All") == {(5,): -1}
    assert run.rows("Set") == {}
    assert run.commit({"M": [(5,), (5,)]}) == {"All": {(5,): 2}, "Set": {(5,): 1}}


def test_output_relations_are_sets_for_those_that_read_them() -> None:
    run = Running("""
        input relation R(x: u32, y: u32)
        output relation Once(x: u32)
        Once(x) :- R(x, _).
        relation Often(x: u32)
        Often(x) :- R(x, _).
        output multiset M(what: string, x: u32)
        M("once", x) :- Once(x).
        M("often", x) :- Often(x).
    """)
    assert run.commit({"R": [(1, 1), (1, 2), (1, 3)]})["M"] == {("once", 1): 1, ("often", 1): 3}


def test_negation_asks_whether_a_row_is_there_and_not_how_often() -> None:
    run = Running("""
        input multiset A(x: u32)
        input multiset B(x: u32)
        output multiset C(x: u32)
        C(x) :- A(x), not B(x).
    """)
    assert run.commit({"A": [(1,), (1,), (2,)], "B": [(2,), (2,)]}) == {"C": {(1,): 2}}
    assert run.commit(delete={"B": [(2,)]}) == {}
    assert run.commit({"B": [(1,)]}, {"B": [(2,)]}) == {"C": {(1,): -2, (2,): 1}}


def test_a_group_has_the_weights_of_its_values_where_a_function_reads_them() -> None:
    run = Running("""
        input multiset Sale(shop: string, price: u32)
        output relation Total(shop: string, sum: u32, n: s64)
        Total(s, sum(g), count(g)) :- Sale(s, p), var g = p.group_by(s).
        function sum(g: Group<string, u32>): u32 {
            var s = 0; for ((p, w) in g) { s = s + p * ((w as bit<64>)[31:0]) }; s
        }
        function count(g: Group<string, u32>): s64 { var n = 0; for ((_, w) in g) { n = n + w }; n }
    """)
    assert run.commit({"Sale": [("a", 5), ("a", 5), ("a", 7)]}) == {"Total": {("a", 17, 3): 1}}
    assert run.commit({"Sale": [("a", 5)]}) == {"Total": {("a", 17, 3): -1, ("a", 22, 4): 1}}
    assert run.commit(delete={"Sale": [("a", 5)] * 3 + [("a", 7)]}) == {"Total": {("a", 22, 4): -1}}


def test_with_duplicates_kept_a_group_has_a_value_for_each_instance_of_the_body() -> None:
    text = """
        input relation Sale(id: u32, shop: string, price: u32)
        output relation Prices(shop: string, prices: Vec<u32>)
        Prices(s, g.to_vec()) :- Sale(_, s, p), var g = p.group_by(s).
        output relation Named(shop: string, prices: Vec<u32>)
        Named(s, g.to_vec()) :- Sale(id, s, p), var g = p.group_by(s).
    """
    sales = {"Sale": [(3, "a", 5), (1, "a", 9), (2, "a", 5)]}
    distinct, kept = Running(text).commit(sales), Running(text, keep_duplicates=True).commit(sales)
    assert [list(row[1]) for row in distinct["Named"]] == [[5, 9]]
    # In the order of the rows, whether their columns have names or not.
    assert [list(row[1]) for row in kept["Named"]] == [[9, 5, 5]]
    assert [list(row[1]) for row in kept["Prices"]] == [[9, 5, 5]]


def test_a_failed_epoch_leaves_the_weights_as_they_were() -> None:
    run = Running("""
        input multiset M(x: u32)
        output multiset Half(x: u32)
        Half(100 / x) :- M(x).
    """)
    run.commit({"M": [(1,), (2,), (2,)]})
    before = run.rows("Half")
    with pytest.raises(
        EvaluationError, match=r"division by zero, with x = 0, in the rule `Half\(100 / x\) :- M\(x\)\.`"
    ):
        run.commit({"M": [(4,), (0,)]})
    assert run.rows("Half") == before == {(100,): 1, (50,): 2}
    assert run.commit({"M": [(2,)]}) == {"Half": {(50,): 1}}


def test_a_body_has_more_joins_than_python_has_loops_in_one_another() -> None:
    body = ", ".join(f"E(x{i}, x{i + 1})" for i in range(40))
    run = Running(f"""
        input multiset E(x: u32, y: u32)
        output multiset Far(x: u32, y: u32)
        Far(x0, x40 + 1) :- {body}, x40 > 39, not Gone(x20).
        input relation Gone(x: u32)
    """)
    assert run.commit({"E": [(i, i + 1) for i in range(41)]}) == {"Far": {(0, 41): 1, (1, 42): 1}}
    assert run.commit({"E": [(7, 8), (40, 41)]}) == {"Far": {(0, 41): 1, (1, 42): 3}}
    assert run.commit({"Gone": [(20,)]}) == {"Far": {(0, 41): -2}}
