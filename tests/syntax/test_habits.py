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
        ("C(1) :- A(_, b, _), date(b) == b.", "`to_date(t)`"),
        ("C(1) :- A(_, b, _), timestamp(b) == b.", "`to_timestamp(d)`"),
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
        ('D(b) :- A(_, b, _), b ~ "a.*".', "`regex_match("),
        ("D(b) :- A(_, b, _) | A(_, b, _).", "write alternatives as separate rules"),
        ('D(b) :- A(a, b, _), D(a > 1 ? "x" : "y").', "`if (x > 1) { 1 } else { 2 }`"),
        ("D(?b) :- A(_, ?b, _).", "a variable is a plain name"),
        ("C(n) :- A(a, _, _), var n = if (a > 1) 1: u64 else 2.", "`if (x > 1) (x - 1) else 2`"),
        ("C(n) :- A(a, _, _), var n = if (a > 1) a - 1 else a.", "a branch with an operator or a type stands in"),
        ("C(n) :- A(a, _, _), var n = if (a > 1) 1 elif (a == 1) 2 else 3.", "else if (x == 1) 2 else 3`"),
        ('D(if (a > 1) then "x" else "y") :- A(a, _, _).', "there is no `then`"),
        ("C(1) :- A(a, _, _), if (a > 1) true else a > 0.", "`else (a > 0)` takes what follows into the branch"),
        ("C(1) :- A(a, _, _), t in tags, a == t.", "`var t = FlatMap(tags)` binds each item, `contains(tags, t)`"),
        ('C(1) :- A(_, b, _), "a" in b.', "`contains(v, x)` is true for an item"),
        ("C(n) :- A(a, _, _), n = a + 1.", "`var n = a + 1` binds, `n == a + 1` compares"),
        ("C(a) :- A(a, _, c), c = a + 1.", "`c == a + 1` compares, `var c = a + 1` binds"),
        ('D(format(b, "%Y-%m")) :- A(_, b, _).', '`"${year(at)}-${month(at)}"`'),
        ("C(1) :- A(a, _, _), hours(a) == 3.", "`whole_hours(d)`"),
        ('C(1) :- A(_, _, _), duration"PT1H" < 3600.', '`duration"PT3600S"` are so many seconds'),
        ('D(case when a > 1 then "x" else "y" end) :- A(a, _, _).', "`if (x > 1) { 1 } else { 2 }`"),
        ('D("x" if a > 1 else "y") :- A(a, _, _).', "`if (x > 1) { 1 } else { 2 }`"),
        ("C(1) :- A(_, _, _) as row.", "`row in T(_, _)`"),
        ("C(1) :- not exists A(_, _, _).", "`not A(x)` is true where there is no such row"),
        ("D(b) :- A(_, b, _) A(_, b, _).", "`,` joins literals"),
        ("C(1) :- A(a, _, _), a == max a : { A(a, _, _) }.", "max(price) by (shop)"),
        ("C(n) :- A(a, b, _), (var n, var m) = (count(), sum(a) by (b)).", "`by` stands behind all aggregates"),
        ("C(n) :- A(a, b, _), var n = count() by (b), var m = sum(a) by (b).", "are several at once"),
        ("C(n) :- A(a, b, _), var n = nunique(a) by (b).", "`x.group_by(shop).count_distinct()`"),
        ('D(x) :- A(a, b, _), var x = string_agg(b, ",") by (a).', '`items.join(",")`'),
        ("D(x) :- A(a, b, _), var x = first(b) by (a).", "max((at, item)) by (shop)` is the greatest tuple"),
        ("C(n) :- A(a, b, _), var n = rank() by (a).", "there are no windows"),
        ("C(n) :- A(a, b, _), var n = mean(a) by (b).", "`avg(e)`"),
        ("C(n) :- A(a, b, _), var n = median(a) by (b).", "takes the items of a group"),
        ("C(row_number()) :- A(_, _, _).", "there are no windows"),
        ("D(b + b) :- A(_, b, _).", "`b ++ b` joins strings"),
        ("D(b.strip()) :- A(_, b, _).", "`trim(s)`"),
        ("D(x) :- A(_, b, _), var x = unnest(b).", "`var x = FlatMap(v)`"),
        ("C(u64(a)) :- A(a, _, _).", "`x as u64`"),
        ("C(abs(a)) :- A(a, _, _).", "`if (x < 0) -x else x`"),
        ("C(1) :- A(_, _, c), round(c) > 1.0.", "`round_d(x)`"),
        ("C(1) :- A(_, _, c), is_nan(c).", "`is_nan_d(x)`"),
        ('C(1) :- A(_, _, _), date"2024-01-31" + days(3) == date"2024-02-03".', '`duration"P1D" * n`'),
        ('C(1) :- A(_, _, _), timestamp"2024-01-31T00:00:00Z" + hours(3) == None.', '`duration"PT1H" * n`'),
        ("input relation P(t: timestamp)\nC(1) :- P(t), t - 1 == t.", '`t - duration"PT1S"` is another moment'),
        ("input relation P(t: date)\nC(1) :- P(t), extract(year from t) == 1.", "`year(x)` is a part"),
        ("input relation P(t: date)\nC(1) :- P(t), t.dt.year == 1.", "`d.year()`"),
        ("C(1) :- A(.x = 1).", "the columns are `a`, `b`, `c`"),
        ("input table X(a: u32)", "`input relation X(x: s64)`"),
        ("output view X(a: u32)", "`output relation X(x: s64)`"),
        ('input relation X(a: string = "x")', "a column has no default"),
        ("input relation X(a: List[string])", "`Vec<string>`"),
        ("input relation X(a: Optional[string])", "`Option<string>`"),
        ("input relation X(a: string | null)", "`Option<string>`"),
        ("input relation X(a: string, primary key (a))", "`input relation T(id: u32) primary key (row) row.id`"),
        ("input relation X(a: string) primary key a", "primary key (row) row.id`"),
        ("input relation X(a: time)", "a `duration` since midnight"),
        ("input relation X(a: jsonb)", "`json::JsonValue`"),
        ("input relation X(a: object)", "`string`"),
        ("input relation X(a: bytea)", "`Vec<u8>`"),
        ('input relation X(a: enum("a", "b"))', "`typedef Color = Red | Green`"),
        ("input relation X(a: uuid)", "`net::uuid::Uuid`"),
        ("D(b) :- A(b = b).", "`A(.b = b)`"),
        ("D(b) :- A(a = _, b = b, c = x).", "`A(.a = _, .b = b, .c = x)`"),
        ("C(1) :- A(_, b, NULL).", "an `Option` without a value is `None`"),
        ("C(a::u64) :- A(a, _, _).", "`a as u64`"),
        ("D(a::text) :- A(a, _, _).", "`to_string(a)`"),
        ("C((u64) a) :- A(a, _, _).", "`a as u64`"),
        ('D(b || "x") :- A(_, b, _).', "`++` joins strings"),
        ('D(b ?? "x") :- A(_, b, _).', "`unwrap_or(x, y)`"),
        ("D(b) :- A(_, b, _), \\+ D(b).", "`not` negates"),
        ("C(n) :- A(a, b, _), sum(a) as n by (b).", "`var n = sum(price) by (shop)`"),
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
