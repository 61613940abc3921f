"""The strategy `trace` on whole rules: every order of the same transactions ends with the same rows."""

from __future__ import annotations

from itertools import permutations

from tests.engine.local.run import Running

REPEATED = """
    input relation E1(a: u64, b: s64, c: u64)
    input relation E2(a: u64, b: u64)
    output relation P(x: u64, y: u64)
    P(x, y) :- E1(y, z, _), E2(x, x), E1(x, _, y + y).
"""
FACTS = [("E2", (3, 9)), ("E2", (5, 5)), ("E1", (5, 7, 4)), ("E1", (2, 3, 4))]


def test_a_literal_that_is_known_is_looked_up_before_one_that_is_cheaper() -> None:
    # An empty relation is cheaper than a look-up, and was planned in its place: as a look-up of its first columns.
    for facts in permutations(FACTS):
        run = Running(REPEATED, strategy="trace")
        for relation, row in facts:
            run.commit({relation: [row]})
        assert run.rows("P") == {(5, 2): 1}, facts


def test_a_variable_that_equals_a_constant_is_bound_after_a_literal() -> None:
    text = """
        input relation E(a: u64, b: u64)
        input relation F(b: u64)
        output relation P(x: u64)
        output relation Q(x: u64, y: u64)
        P(x) :- E(1, x), x == 2.
        Q(x, y) :- E(x, y), x == 3, F(z), y + z == 9.
    """
    run = Running(text, strategy="trace")
    run.commit({"E": [(1, 2), (1, 3), (3, 4), (2, 4)], "F": [(5,)]})
    assert (run.rows("P"), run.rows("Q")) == ({(2,): 1}, {(3, 4): 1})
    run.commit({"E": [(3, 8), (3, 7)], "F": [(1,)]})
    assert run.rows("Q") == {(3, 4): 1, (3, 8): 1}
    run.commit({"F": [(2,)]})
    assert run.rows("Q") == {(3, 4): 1, (3, 8): 1, (3, 7): 1}
