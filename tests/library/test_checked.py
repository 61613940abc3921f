"""`checked`: arithmetic whose overflow is an error, in rules and through recursion."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.diagnostics.errors import EvaluationError

TEXT = """
    import checked
    input relation In(a: {0}, b: {0})
    output relation Out(r: {0})
    Out({1}) :- In(a, b).
"""


@pytest.mark.parametrize(
    ("type_", "expression", "fits", "fails"),
    [
        ("u8", "checked_add(a, b)", (200, 55), (200, 56)),
        ("u64", "checked_add(a, b)", ((1 << 64) - 2, 1), ((1 << 64) - 1, 1)),
        ("s8", "checked_add(a, b)", (-100, -28), (-100, -29)),
        ("u8", "checked_sub(a, b)", (5, 5), (5, 6)),
        ("s64", "checked_sub(a, b)", (-(1 << 63) + 1, 1), (-(1 << 63), 1)),
        ("u16", "checked_mul(a, b)", (255, 257), (256, 256)),
        ("s128", "checked_mul(a, b)", (1 << 63, 1 << 63), (1 << 64, 1 << 63)),
    ],
)
def test_an_overflow_ends_the_epoch(type_: str, expression: str, fits: tuple[int, int], fails: tuple[int, int]) -> None:
    with tidelog.compile(TEXT.format(type_, expression)).open() as db:
        with db.transaction() as tx:
            tx.insert("In", [fits])
        before = db.relation("Out").rows()
        with pytest.raises(EvaluationError, match="is not between") as raised, db.transaction() as tx:
            tx.insert("In", [fails])
        assert raised.value.code == "E612"
        assert db.relation("Out").rows() == before


def test_numbers_that_are_no_integers_are_refused() -> None:
    program = tidelog.compile(TEXT.format("double", "checked_add(a, b)"))
    with program.open() as db, pytest.raises(EvaluationError, match="for integers"), db.transaction() as tx:
        tx.insert("In", [(0.5, 0.5)])


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "update"])
def test_a_sum_through_recursion_that_overflows_is_an_error(strategy: str) -> None:
    text = """
        import checked
        input relation Bought(p: u32, c: u8)
        input relation Uses(p: u32, q: u32, n: u8)
        output relation Cost(p: u32, c: u8)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (q, checked_mul(n, c)).group_by(p).checked_sum_of(|t| t.1).
    """
    with tidelog.compile(text).open(strategy=strategy) as db:
        with db.transaction() as tx:
            tx.insert("Bought", [(1, 100), (2, 5)])
            tx.insert("Uses", [(3, 1, 2), (3, 2, 11), (4, 3, 1)])
        assert db.relation("Cost").rows() == [(1, 100), (2, 5), (3, 255), (4, 255)]
        for part, message in (((4, 2, 1), "a sum is 260"), ((5, 3, 2), "2 \\* 255 is 510")):
            with pytest.raises(EvaluationError, match=message) as raised, db.transaction() as tx:
                tx.insert("Uses", [part])
            assert raised.value.code == "E612"
        assert db.relation("Cost").rows() == [(1, 100), (2, 5), (3, 255), (4, 255)]
        # Around a cycle a sum grows until it does not fit.
        with pytest.raises(EvaluationError, match="E612"), db.transaction() as tx:
            tx.insert("Uses", [(1, 4, 1)])
        with db.transaction() as tx:
            tx.delete("Uses", [(3, 1, 2)])
        assert db.relation("Cost").rows() == [(1, 100), (2, 5), (3, 55), (4, 55)]
