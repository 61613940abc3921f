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
