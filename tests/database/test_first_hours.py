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
