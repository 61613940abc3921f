"""What notebooks show: tables, escaped, of a size that fits a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import tidelog
from tests.database.programs import FACTS, REACH


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.compile(REACH).open() as database:
        yield database


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", html)]


def test_a_program_shows_its_relations() -> None:
    html = tidelog.compile(REACH)._repr_html_()
    assert "Program &lt;text&gt;: 5 relations, 5 rules" in html
    assert cells(html)[0] == ["relation", "kind", "columns", "rules"]
    assert ["Reach", "output relation", "src: string, dst: string", "2"] in cells(html)
    assert ["Edge", "input relation", "src: string, dst: string", "0"] in cells(html)


def test_markup_in_a_value_is_text(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("<script>alert(1)</script>", "&b")])
    for html in (db.relation("Reach")._repr_html_(), tx.changes["Reach"]._repr_html_(), tx.changes._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "&amp;b" in html


def test_a_relation_shows_its_first_rows_in_value_order(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", [f"h{number:03d}" for number in reversed(range(150))])
    html = db.relation("Host")._repr_html_()
    assert "input relation Host, 150 rows</b> (20 of 150 rows)" in html
    assert cells(html) == [["name: string"], *([f"h{number:03d}"] for number in range(20))]


def test_a_delta_shows_inserted_and_deleted_rows(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        tx.insert("Edge", [("b", "c")])
    html = tx.changes["Reach"]._repr_html_()
    assert "Reach: +1 -1" in html
    assert cells(html) == [["src", "dst", "weight"], ["a", "b", "-1"], ["b", "c", "+1"]]


def test_no_changes_say_so(db: tidelog.Database) -> None:
    assert db.initial._repr_html_() == "<p>no changes</p>"


def test_a_report_shows_the_strata_that_had_something_to_do() -> None:
    with tidelog.compile(FACTS).open() as db:
        html = db.report._repr_html_()
    assert "epoch 0: +1 -0 in " in html
    heading, *strata = cells(html)
    assert heading[:3] == ["relations", "strategy", "place"]
    assert [stratum[0] for stratum in strata] == ["Out"]


def test_a_long_text_is_cut(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["x" * 10_000])
    assert len(db.relation("Host")._repr_html_()) < 1000


def test_a_snapshot_shows_its_relations_until_it_is_closed(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
    with db.snapshot() as before:
        with db.transaction() as tx:
            tx.insert("Host", ["b"])
        html = before._repr_html_()
        assert "Snapshot of epoch 1" in html
        assert ["Host", "input relation", "name: string", "1"] in cells(html)
    assert "Snapshot of epoch 1, closed" in before._repr_html_()


def test_one_of_a_thing_has_no_plural() -> None:
    program = tidelog.compile("input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x).")
    assert repr(program) == "<Program <text>: 2 relations, 1 rule>"
    assert repr(program.graph()) == "<Drawing: 2 boxes, 1 line>"
