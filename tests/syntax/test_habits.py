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
        ("C(n) :- A(_, b, _), var n = count() by b.", "stands in parentheses: `var n = count() by (shop)`"),
        ("C(n) :- A(a, b, _), var n = count(distinct a) by (b).", "count_distinct()"),
        ("C(n) :- A(a, b, _), var n = sum() by (b).", "`sum(price) by (…)`"),
        ("C(1) :- A(_, b, _), b > date'2024-01-31'.", '`date"2024-01-31"`'),
        ("C(1) :- A(_, b, _), b > interval '1 day'.", '`duration"P1DT2H30M"`'),
        ('C(1) :- A(_, b, _), date"2024-01-31" > "2024-01-30".', '`date"2024-01-30"`'),
        ('C(1) :- A(a, _, _), a > "3".', "`3`"),
        ('C(1) :- A(_, b, _), (b as date) > date"2024-01-31".', "`parse_date(b)`"),
        ("C(1) :- A(a, _, _), a == None.", "a column that may miss it is an `Option`"),
        ("C(1) :- A(a, _, _), 1.50 == (1.505: decimal<10, 2>).", "2 digits behind the point"),
        (
            "input relation P(p: decimal<4, 1>)\nC(1) :- P(p), p + 1.5 == p.",
            "`(p + 1.5) == (p as decimal<5, 1>)`",
        ),
        ("C(1) :- A(_, b, _), var x = parse_date(b), x == None, var y: Option<u32> = 3.", "`Some{3}`"),
        ("C(1) :- A(a, _, _), cast(a as double) > 1.0.", "`x as double`"),
        ("C(1) :- A(_, b, _), trunc_month(b) == b.", "`truncate_to_month(x)`"),
        ("C(1) :- A(_, b, _), int(b) > 1.", "`parse_dec_i64(s)`"),
        ("C(1) :- A(_, _, _), now() > 1.", "the time is no fact"),
        ("C(1) :- A(a, _, _), a mod 2 == 0.", "`x % y`"),
        ("C(1) :- A(a, _, _), a ** 2 == 4.", "`x * x` is a square"),
        ("C(1) :- A(a, _, _), 1 if a > 1 else 2 == 2.", "`if (x > 1) { 1 } else { 2 }`"),
        ("C(1) :- A(a, _, _), case when a > 1 then 1 end == 1.", "`if (x > 1) { 1 } else { 2 }`"),
        ("C(n) :- A(_, b, _), var n = rank() over (partition by b).", "there are no windows"),
        ("D(b) :- A(_, b, ...).", "`A(.x = x)`"),
        ("D(b) :- A(_, b, _), distinct.", "each of its rows once"),
        ('D(f"{b}") :- A(_, b, _).', '`"${x}"`'),
        ("input relation X(a: u32 primary key)", "`input relation T(id: u32) primary key (row) row.id`"),
        ("input relation X(a: u32 not null)", "unless its type is an `Option`"),
        ("input relation X(a: Decimal<10, 2>)", "`decimal<10, 2>`"),
        ("input X(a: u32)", "`input relation X(x: s64)`"),
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
