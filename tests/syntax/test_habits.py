"""Habits of people who know SQL or Soufflé: the error says how it is written here."""

from __future__ import annotations

import pytest

import tidelog

DECLARED = """input relation A(a: u32, b: string, c: double)
output relation C(n: u64)
output relation D(b: string)
"""
BY = "count() by (shop)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("C(n) :- A(a, b, _), var n = a.group_by(b).count().", BY),
        ("C(n) :- A(a, b, _), var n = a.group_by(b).sum().", "sum(price) by (shop)"),
        ("C(n) :- A(a, b, _), var n = avg(a).", "avg(price) by (shop)"),
        ("C(n) :- A(a, _, _), n = count : {A(_, _, _)}.", "an aggregate of Soufflé"),
        ("C(n) :- n = sum a : {A(a, _, _)}.", "sum(price) by (shop)"),
        ("C(n) :- n = max a : A(a, _, _).", "max(price) by (shop)"),
        ("C(count : {A(_, _, _)}).", BY),
        ("C(max(a)) :- A(a, _, _).", "`a.group_by(key).max()` takes a group"),
        ("C(count(a)) :- A(a, _, _).", BY),
        ("C(n) :- A(_, _, _), n = count(*).", BY),
        (".input A", "syntax of Soufflé"),
        (".decl edge(x: number)\n.output edge", "`output` stands before the declaration"),
        (".printsize C", "the number of rows"),
        ('#include "graph.dl"', "`import graph`"),
        ("input relation X(d: datetime)", "`timestamp`"),
        ("input relation X(d: interval)", "`duration`"),
        ("input relation X(d: string?)", "`Option<string>`"),
        ("input relation X(d: varchar(10))", "`string` has no length"),
        ('D("a" + "b").', '`"a" ++ "b"` joins strings'),
        ("C(1) :- A(a, _, _), a * 1.5 > 2.0.", "`a as double`"),
        ("C(1) :- A(a, _, c), a * c > 2.0.", "`a as double`"),
        ('C(1) :- A(_, b, _), b like "x%".', "`starts_with("),
        ("C(1) :- A(_, b, _), b is null.", "`is_none(x)`"),
        ("C(1) :- A(_, b, _), b == null.", "`is_none(x)`"),
        ("-- a comment\nC(1) :- A(_, _, _).", "`//` begins a comment"),
        ("C(1) :- A(_, _, _). -- a comment", "`//` begins a comment"),
        ("C(1) :- A(a, _, _), a between 1 and 3.", "`x >= 1, x <= 9`"),
        ('C(1) :- A(_, b, _), b in ("x", "y").', "`contains([1, 2], x)`"),
        ("C(1) :- A(a, _, _), a not in (1, 2).", "`not R(x)` negates"),
        ("select a from A", "a rule derives rows"),
        ("SELECT a FROM A;", "a rule derives rows"),
        ("create table X (a int)", "a table is a relation"),
        ("D(upper(b)) :- A(_, b, _).", "`to_uppercase(s)`"),
        ("D(b) :- A(_, b, _) order by b.", "a relation has no order"),
        ("D(b) :- A(_, b, _) limit 10.", "limit=10"),
    ],
)
def test_the_help_has_the_right_spelling(text: str, said: str) -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile(DECLARED + text)
    assert said in "\n".join(each.help or "" for each in caught.value.diagnostics)


def test_counting_a_group_after_the_import_is_told_what_counts_rows() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile(f"import group\n{DECLARED}C(n) :- A(a, b, _), var n = a.group_by(b).count().")
    assert BY in str(caught.value)


def test_a_maximum_of_two_values_is_no_aggregate() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile(DECLARED + "C(n) :- A(a, _, _), n = max(a, 3).")
    assert "by (shop)" not in str(caught.value)
