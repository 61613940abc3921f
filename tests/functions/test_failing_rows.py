"""An overflow names the row: all variables of the rule that are bound there, whatever evaluates the rule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import tidelog
from tests.engine.spark.in_process import NEVER, NoSpark, tasks_here
from tidelog import EvaluationError

STRATEGIES = ("elastic", "recompute", "update", "counting", "circuit", "trace")

JOIN = """
input relation In(s: string, p: u32, t: u8)
input relation Bonus(s: string, q: u32)
output relation Out(r: u32)
Out(p + q) :- In(s, p, t), t > 3, Bonus(s, q), s != "".
"""
RECURSION = """
input relation In(s: string, p: u32, t: u8)
input relation Bonus(s: string, q: u32)
output relation Out(s: string, r: u32)
Out(s, p) :- In(s, p, _).
Out(s, r + q) :- Out(s, r), r < 4000000000, Bonus(s, q), In(s, _, t).
"""
SHOP = """
input relation Sold(shop: string, day: date, price: decimal<4, 2>)
output relation Twice(price: decimal<4, 2>)
Twice((price * 2) as decimal<4, 2>) :- Sold(shop, day, price).
"""


def failure(program: str, facts: Mapping[str, Any], **options: Any) -> str:
    """Returns the message of the epoch that takes the last relation's facts; nothing of it may stay."""
    *before, last = facts
    with tidelog.compile(program, overflow="error").open(**options) as database:
        with database.transaction() as tx:
            for name in before:
                tx.insert(name, facts[name])
        with pytest.raises(EvaluationError) as raised, database.transaction() as tx:
            tx.insert(last, facts[last])
        assert len(database.relation(last)) == 0
        return raised.value.message


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_join_names_variables_that_nothing_reads_any_more(strategy: str, rows: int) -> None:
    facts = {
        "Bonus": [("a", 1), ("b", 5)],
        "In": [("a", 4294967295, 9), *((f"c{i}", i, 9) for i in range(rows - 1))],
    }
    said = failure(JOIN, facts, strategy=strategy)
    assert 'the rule `Out(p + q) :- In(s, p, t), t > 3, Bonus(s, q), s != "".` at <text>:5:1: 4294967295 + 1' in said
    _, _, values = said.partition(", with ")
    named, _, _ = values.partition("; ")
    assert sorted(named.split(", ")) == ["p = 4294967295", "q = 1", 's = "a"', "t = 9"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_recursion_names_its_row(strategy: str) -> None:
    facts = {"Bonus": [("a", 400000000)], "In": [("a", 3999999999, 7), ("b", 1, 1)]}
    said = failure(RECURSION, facts, strategy=strategy)
    for each in ('s = "a"', "r = 3999999999", "q = 400000000"):
        assert each in said


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_decimal_that_does_not_fit_names_its_row(strategy: str, rows: int) -> None:
    sold = [("north", date(2024, 1, 31), Decimal("50.00")), *(("s", date(2024, 1, 1), i) for i in range(rows - 1))]
    said = failure(SHOP, {"Sold": sold}, strategy=strategy)
    assert '100.00 does not fit into `decimal<4, 2>`, with shop = "north", day = 2024-01-31, price = 50.00,' in said
    assert "in the rule `Twice((price * 2) as decimal<4, 2>) :- Sold(shop, day, price).` at <text>:4:1" in said


def test_a_multiset_names_its_row_and_not_what_an_earlier_row_bound_behind_it() -> None:
    text = """
    input multiset In(s: string, p: u8)
    input multiset More(s: string, q: u8)
    output multiset Out(r: u8)
    Out(r) :- In(s, p), var e = p + 1, More(s, q), var r = e + q.
    """
    facts = {"More": [("a", 1), ("b", 1)], "In": [("a", 1), ("b", 255)]}
    said = failure(text, facts)
    assert '255 + 1 is 256, which is not between 0 and 255, with s = "b", p = 255; the' in said
    said = failure(text, facts | {"In": [("b", 254)]})
    assert '255 + 1 is 256, which is not between 0 and 255, with s = "b", p = 254, e = 255, q = 1; the' in said


def test_a_rule_of_many_literals_names_its_row() -> None:
    names = [f"x{i}" for i in range(25)]
    body = ", ".join(f"In({name})" for name in names)
    text = f"input multiset In(x: u8)\noutput multiset Out(x: u8)\nOut(x0 + x24) :- {body}."
    said = failure(text, {"In": [200]})
    assert ", ".join(f"{name} = 200" for name in sorted(names)) == ", ".join(
        sorted(said.partition("with ")[2].partition(";")[0].split(", "))
    )


@pytest.mark.parametrize(
    ("aggregate", "told"),
    [
        ("sum((p * 2) as u32) by (s)", '200 * 2 is 400, which is not between 0 and 255, with s = "a", p = 200'),
        ("(s, p).group_by(s).sum_of(|x| x.1 as u32 * 4294967295)", 'with s = "a"'),
        ("sum(p) by (s)", 'the sum of the key (s = "a") does not fit into `u8`'),
    ],
)
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_aggregate_names_the_key_of_its_group(aggregate: str, told: str, engine: str) -> None:
    type_ = "u8" if aggregate.startswith("sum(p)") else "u32"
    text = f"""
    import group
    input relation In(s: string, p: u8)
    output relation Out(s: string, t: {type_})
    Out(s, t) :- In(s, p), var t = {aggregate}.
    """
    where: dict[str, Any] = {} if engine == "local" else {"engine": "spark", "spark": NoSpark()}
    with tasks_here(lambda: NEVER, seed=1):
        assert told in failure(text, {"In": [("a", 200), ("a", 100), ("b", 1)]}, **where)


def test_a_large_integer_names_its_row() -> None:
    text = "input relation In(s: string, p: bigint)\noutput relation Out(p: bigint)\nOut(p << 3000000) :- In(s, p)."
    said = failure(text, {"In": [("a", 1 << 2000)]})
    assert said.startswith("the rule `Out(p << 3000000) :- In(s, p).` at <text>:3:1: the result of `<<` is a `bigint`")
    assert 'with s = "a", p = an integer of 2001 bits; the last commit is intact' in said


def test_long_texts_are_shortened_and_hidden_variables_left_out() -> None:
    text = (
        "input relation In(s: string, p: u8)\noutput relation Out(p: u8)\nOut(p + 1 + 1) :- In(s, p), true == (p > 3)."
    )
    said = failure(text, {"In": [("x" * 500 + '"', 254)]})
    assert f'with s = "{"x" * 30}…{"x" * 29}\\"", p = 254;' in said


@pytest.mark.parametrize("program", [JOIN, RECURSION])
def test_tasks_of_spark_name_the_row(program: str) -> None:
    facts = {"Bonus": [("a", 400000000)], "In": [("a", 3999999999, 7), ("b", 1, 1)]}
    with tasks_here(lambda: NEVER, seed=1):
        said = failure(program, facts, engine="spark", spark=NoSpark())
    for each in ('s = "a"', "= 3999999999", "q = 400000000"):
        assert each in said


@pytest.mark.spark
@pytest.mark.parametrize("options", [{"plans": {"Out": "frames"}}, {"strategy": "circuit"}])
def test_frames_of_spark_name_the_row(options: dict[str, Any], spark: Any) -> None:
    facts = {"Bonus": [("a", 400000000)], "In": [("a", 3999999999, 7), ("b", 1, 1)]}
    said = failure(RECURSION, facts, engine="spark", spark=spark, **options)
    for each in ('s = "a"', "r = 3999999999", "q = 400000000"):
        assert each in said


DIVIDED = "input relation In(s: string, p: u32, q: u32)\noutput relation Out(s: string, r: u32)\n"
HALVES = {"In": [("a", 9, 2), ("b", 50, 0)]}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("Out(s, p / q) :- In(s, p, q).", ['s = "b"', "p = 50", "q = 0"]),
        ('Out(s, p) :- In(s, p, q), s != "", p % q < 7.', ['s = "b"', "p = 50", "q = 0"]),
        ("Out(s, p) :- In(s, p, _).\nOut(t, r / q) :- Out(t, r), In(s, _, q), r > 9.", ['s = "b"', "r = 50", "q = 0"]),
    ],
)
def test_a_division_by_zero_names_its_row(rule: str, named: list[str], strategy: str, threads: int) -> None:
    said = failure(DIVIDED + rule, HALVES, strategy=strategy, threads=threads)
    assert said.startswith("division by zero, with ")
    assert f"in the rule `{rule.splitlines()[-1]}` at <text>:" in said
    for each in named:
        assert each in said.partition(", in the rule")[0]


def test_a_division_in_a_large_join_names_the_only_row_that_fails() -> None:
    rows = [(f"s{i}", i, i % 1000 + 1) for i in range(30_000)]
    rows[17_311] = ("here", 3, 0)
    for threads in (1, 2):
        said = failure(DIVIDED + "Out(s, p / q) :- In(s, p, q).", {"In": rows}, threads=threads)
        assert 'division by zero, with s = "here", p = 3, q = 0, in the rule' in said


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_division_inside_an_aggregate_names_its_row_and_the_written_rule(strategy: str) -> None:
    rule = "Out(s, r) :- In(s, p, q), var r = sum(p / q) by (s)."
    said = failure(DIVIDED + rule, HALVES, strategy=strategy)
    assert f'division by zero, with s = "b", p = 50, q = 0, in the rule `{rule}` at <text>:3:1' in said


def test_a_sum_that_overflows_names_its_keys_and_the_written_rule() -> None:
    rule = "Out(s, r) :- In(s, p, q), var r = sum(p) by (s)."
    said = failure(DIVIDED + rule, {"In": [("a", 4294967295, 1), ("a", 1, 2)]})
    assert (
        f'the sum of the key (s = "a") does not fit into `u32`, in `var r = sum(p) by (s)` of the rule `{rule}`' in said
    )


@pytest.mark.spark
@pytest.mark.parametrize("options", [{"plans": {"Out": "frames"}}, {"strategy": "circuit"}, {}])
def test_spark_names_the_row_of_a_division(options: dict[str, Any], spark: Any) -> None:
    rule = "Out(s, p / q) :- In(s, p, q), p > 3."
    said = failure(DIVIDED + rule, HALVES, engine="spark", spark=spark, **options)
    for each in ("division by zero, with", 's = "b"', "p = 50", "q = 0", f"in the rule `{rule}`"):
        assert each in said
