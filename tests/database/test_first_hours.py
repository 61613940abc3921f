"""What newcomers met in their first hours, once the documents were all that they had read."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

import tidelog

PRICES = "input relation S(k: u32, p: decimal<6, 2>)\noutput relation O(k: u32)\nO(k) :- S(.k = k)."


def test_a_decimal_column_is_widened(tmp_path: Path) -> None:
    with tidelog.compile(PRICES).open(path=tmp_path / "db") as db, db.transaction() as tx:
        tx.insert("S", [(1, Decimal("1.50")), (2, Decimal("-9999.99"))])
    with tidelog.compile(PRICES.replace("<6, 2>", "<10, 4>")).open(path=tmp_path / "db", migrate=True) as db:
        assert db.relation("S").rows() == [(1, Decimal("1.5000")), (2, Decimal("-9999.9900"))]
    with pytest.raises(tidelog.TidelogError, match="does not have every value"):
        tidelog.compile(PRICES.replace("<6, 2>", "<10, 7>")).open(path=tmp_path / "db", migrate=True)


def test_an_integer_column_becomes_a_decimal_that_has_all_its_values(tmp_path: Path) -> None:
    whole = PRICES.replace("decimal<6, 2>", "s32")
    with tidelog.compile(whole).open(path=tmp_path / "db") as db, db.transaction() as tx:
        tx.insert("S", [(1, -(2**31))])
    with pytest.raises(tidelog.TidelogError, match="does not have every value"):
        tidelog.compile(PRICES.replace("<6, 2>", "<11, 2>")).open(path=tmp_path / "db", migrate=True)
    with tidelog.compile(PRICES.replace("<6, 2>", "<12, 2>")).open(path=tmp_path / "db", migrate=True) as db:
        assert db.relation("S").rows() == [(1, Decimal(-(2**31)))]


def test_rows_of_sqlite_are_read_by_name() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    found = connection.execute("select 'VALUE' as v, 'KEY' as k").fetchall()
    by_place = connection.execute("select 'first', 'second'").fetchall()
    program = tidelog.compile("input relation S(k: string, v: string)\noutput relation O(k: string)\nO(k) :- S(k, _).")
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("S", found)
            tx.insert("S", by_place)
        assert db.relation("S").rows() == [("KEY", "VALUE"), ("first", "second")]


def test_an_option_that_is_ordered_is_matched_first() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile("input relation P(i: u8, d: Option<u8>)\noutput relation Q(i: u8)\nQ(i) :- P(i, d), 3 < d.")
    assert "`Some{var x} = d, 3 < x` goes on where there is a value" in str(caught.value)


def test_warnings_are_shown_in_python() -> None:
    text = """
        import group
        input relation Sale(id: u32, shop: string, price: u32)
        output relation Total(shop: string, sum: u32)
        Total(shop, g.sum_of(|p| p)) :- Sale(_, shop, price), var g = price.group_by(shop).
    """
    with pytest.warns(UserWarning, match="W302") as caught:
        program = tidelog.compile(text)
    assert len(caught) == len(program.warnings) == 1
    assert caught[0].filename == __file__


MEASURED = """
    input relation M(id: u32, place: string, c: Option<s32>)
    output relation R(place: string, n: u64, least: Option<s32>, most: Option<s32>, mean: Option<double>)
    R(p, n, least, most, mean) :- M(_, p, c),
        (var n, var least, var most, var mean) = (count(), min(c), max(c), avg(c)) by (p).
    output relation Least(place: string, c: Option<s32>)
    Least(p, least) :- M(_, p, c), var least = min(c) by (p).
    output relation Most(place: string, c: s32)
    Most(p, most) :- M(_, p, c), var m = max(c) by (p), Some{var most} = m.
    output relation All(n: u64, most: Option<s32>)
    All(n, m) :- M(_, _, c), (var n, var m) = (count(), max(c)) by ().
"""


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "counting"])
def test_a_key_whose_values_are_all_none_keeps_its_row(strategy: str) -> None:
    with tidelog.compile(MEASURED).open(strategy=strategy) as db:
        assert db.relation("All").rows() == []
        with db.transaction() as tx:
            tx.insert("M", [(1, "a", None), (2, "a", 5), (3, "b", None), (4, "a", -3)])
        assert db.relation("R").rows() == [("a", 3, -3, 5, 1.0), ("b", 1, None, None, None)]
        assert db.relation("Least").rows() == [("a", -3), ("b", None)]
        assert db.relation("Most").rows() == [("a", 5)]
        assert db.relation("All").rows() == [(4, 5)]
        with db.transaction() as tx:
            tx.delete("M", [(2, "a", 5), (4, "a", -3)])
        assert list(tx.changes["R"].deleted) == [("a", 3, -3, 5, 1.0)]
        assert db.relation("R").rows() == [("a", 1, None, None, None), ("b", 1, None, None, None)]
        assert db.relation("Most").rows() == []
        assert db.relation("All").rows() == [(2, None)]


def test_the_greatest_of_an_option_is_no_bare_value() -> None:
    with pytest.raises(tidelog.ProgramError, match=r"E210.*expected `s32`, found `Option<s32>`"):
        tidelog.compile(MEASURED.replace("most: Option<s32>, mean", "most: s32, mean"))
    with pytest.raises(tidelog.ProgramError, match="leave the type out"):
        tidelog.compile(MEASURED.replace("(var n, var m)", "(var n, var m: s32)"))


def test_a_decimal_that_does_not_fit_is_shown_with_the_values_of_its_rule() -> None:
    text = """
        input relation A(k: string, a: decimal<4, 2>, b: decimal<4, 2>)
        output relation B(k: string, c: decimal<4, 2>)
        B(k, (a + b) as decimal<4, 2>) :- A(k, a, b).
    """
    with tidelog.compile(text).open() as db, pytest.raises(tidelog.TidelogError) as caught, db.transaction() as tx:
        tx.insert("A", [("x", Decimal("50.00"), Decimal("50.25"))])
    assert '100.25 does not fit into `decimal<4, 2>`, with k = "x", a = 50.00, b = 50.25, in the rule `B(k,' in str(
        caught.value
    )
