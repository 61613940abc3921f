"""Expressions that Python evaluates: a few rows and many give the same rows, by one call for each distinct argument."""

from __future__ import annotations

import pytest

import tidelog

PROGRAM = """
extern function halves(n: u64): Vec<u64>
input relation In(id: u64, n: u64)
output relation Out(id: u64, n: u64, half: u64)
Out(id, n, half) :- In(id, n), var half = FlatMap(halves(n)).
output relation Same(id: u64)
Same(id) :- In(id, n), var half = FlatMap(halves(n)), half == n.
output relation Even(id: u64)
Even(id) :- In(id, n), is_even(n).
extern function is_even(n: u64): bool
"""


@pytest.mark.parametrize("rows", [1, 3, 15, 16, 40])
def test_rows_with_equal_arguments_share_a_call(rows: int) -> None:
    called: list[tuple[str, int]] = []

    def halves(n: int) -> list[int]:
        called.append(("halves", n))
        return [n // 2, n - n // 2] if n else []

    def is_even(n: int) -> bool:
        called.append(("is_even", n))
        return n % 2 == 0

    facts = {(number, number % 3) for number in range(rows)}
    with tidelog.compile(PROGRAM, externs={"halves": halves, "is_even": is_even}).open(threads=1) as db:
        with db.transaction() as tx:
            tx.insert("In", facts)
        assert len(called) == 3 * min(rows, 3)
        assert set(db.relation("Out")) == {(i, n, half) for i, n in facts if n for half in {n // 2, n - n // 2}}
        assert set(db.relation("Same")) == {(i,) for i, n in facts if n == 1}
        assert set(db.relation("Even")) == {(i,) for i, n in facts if n % 2 == 0}
