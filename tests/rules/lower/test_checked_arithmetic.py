"""`overflow = "error"`: an overflow ends the epoch and names rule and values; where there is none, nothing changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidelog
from tests.engine.spark.in_process import NEVER, NoSpark, tasks_here
from tidelog import EvaluationError, ProgramError, UsageError
from tidelog.engine.local.execution.columns.column import NeedsPythonError
from tidelog.engine.local.execution.columns.words import checked_arithmetic
from tidelog.types import S8, S64, U8, U64, Type, integer_range

TEXT = """
import group
function twice(x: u8): u8 { x + x }
input relation In(id: u32, x: u8, y: s8)
output relation Sum(id: u32, x: u8)
output relation Product(x: u8)
output relation Difference(x: u8)
output relation Quotient(y: s8)
output relation Negative(y: s8)
output relation Twice(x: u8)
output relation Total(x: u8)
output relation Kept(x: u8)
Sum(i, x + 1) :- In(i, x, _), i == 1.
Product(x * x) :- In(i, x, _), i == 2.
Difference(x - 1) :- In(i, x, _), i == 3.
Quotient(y / -1) :- In(i, _, y), i == 4.
Negative(-y) :- In(i, _, y), i == 5.
Twice(twice(x)) :- In(i, x, _), i == 6.
Total(s) :- In(i, x, y), i >= 100, var s = (i, x).group_by(()).sum_of(|t| t.1).
Kept((x << 1) | (x as u8)) :- In(i, x, _), i == 7.
"""


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ((1, 255, 0), "the rule `Sum(i, x + 1) :- In(i, x, _), i == 1.` at <text>:13:1: 255 + 1 is 256, which is not"),
        ((2, 16, 0), "16 * 16 is 256"),
        ((3, 0, 0), "0 - 1 is -1, which is not between 0 and 255, with i = 3, x = 0; the last commit is intact"),
        ((4, 0, -128), "-128 / -1 is 128"),
        ((5, 0, -128), "0 - -128 is 128"),
        ((6, 128, 0), "the function `twice` at <text>:3:10 of the rule `Twice(twice(x)) :- In(i, x, _), i == 6.` at"),
    ],
)
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_overflow_ends_the_epoch_and_names_rule_and_values(row: tuple[int, ...], told: str, engine: str) -> None:
    where: dict[str, Any] = {} if engine == "local" else {"engine": "spark", "spark": NoSpark()}
    with tasks_here(lambda: NEVER, seed=1), tidelog.compile(TEXT, overflow="error").open(**where) as database:
        with database.transaction() as tx:
            tx.insert("In", [(id_, 5, 5) for id_ in range(1, 8)])
        before = {name: database.relation(name).rows() for name in database.relations}
        with pytest.raises(EvaluationError) as raised, database.transaction() as tx:
            tx.insert("In", [row])
        assert raised.value.code == "E612"
        assert told in raised.value.message
        assert {name: database.relation(name).rows() for name in database.relations} == before
    with tidelog.compile(TEXT).open() as database, database.transaction() as tx:
        tx.insert("In", [row])  # by default it wraps


def test_a_sum_of_a_group_is_checked() -> None:
    with tidelog.compile(TEXT, overflow="error").open() as database:
        with database.transaction() as tx:
            tx.insert("In", [(100, 200, 0), (101, 55, 0)])
        assert database.relation("Total").rows() == [(255,)]
        with pytest.raises(EvaluationError, match="a sum is 256"), database.transaction() as tx:
            tx.insert("In", [(102, 1, 0)])


def test_shifts_and_casts_are_about_bits() -> None:
    with tidelog.compile(TEXT, overflow="error").open() as database:
        with database.transaction() as tx:
            tx.insert("In", [(7, 255, 0)])
        assert database.relation("Kept").rows() == [(255,)]


def test_many_rows_at_once_find_the_one_that_overflows() -> None:
    text = "input relation In(x: u64)\noutput relation Out(x: u64)\nOut(x * 3) :- In(x)."
    with tidelog.compile(text, overflow="error").open() as database:
        with database.transaction() as tx:
            tx.insert("In", [(x,) for x in range(5000)])
        assert database.relation("Out").rows()[-1] == (14997,)
        with pytest.raises(EvaluationError, match="with x = 12297829382473034410"), database.transaction() as tx:
            tx.insert("In", [*((x,) for x in range(5000, 6000)), (12297829382473034410,)])
        assert len(database.relation("Out")) == 5000


def test_the_attribute_is_for_one_rule_or_function() -> None:
    text = """
    input relation In(x: u8)
    output relation Wraps(x: u8)
    output relation Fails(x: u8)
    #[overflow = "error"]
    function next(x: u8): u8 { x + 1 }
    Wraps(x + 1) :- In(x).
    #[overflow = "error"]
    Fails(x + 100) :- In(x), x < 200.
    Fails(next(x)) :- In(x), x >= 200.
    """
    with tidelog.compile(text).open() as database:
        for x, told in ((180, r"180 \+ 100 is 280"), (255, "function `next`")):
            with pytest.raises(EvaluationError, match=told), database.transaction() as tx:
                tx.insert("In", [(x,)])
        with database.transaction() as tx:
            tx.insert("In", [(254,)])
        assert database.relation("Wraps").rows() == [(255,)]
    with pytest.raises(ProgramError, match='attribute `overflow` wants `"error"` or `"wrap"`'):
        tidelog.compile(text.replace('"error"', '"stop"'))


def test_an_attribute_overrides_the_option() -> None:
    text = 'input relation In(x: u8)\noutput relation Out(x: u8)\n#[overflow = "wrap"]\nOut(x + 1) :- In(x).'
    with tidelog.compile(text, overflow="error").open() as database:
        with database.transaction() as tx:
            tx.insert("In", [255])
        assert database.relation("Out").rows() == [(0,)]


def test_rules_that_are_added_are_checked_too() -> None:
    text = "input relation In(x: u8)\noutput relation Out(x: u8)\nOut(x) :- In(x)."
    with tidelog.compile(text, overflow="error").open() as database:
        with database.transaction() as tx:
            tx.add_rules("function up(x: u8): u8 { x + 2 }\nOut(up(x)) :- In(x), x > 10.\nOut(x + 1) :- In(x).")
        for x in (254, 255):
            with pytest.raises(EvaluationError, match=r"is not between 0 and 255"), database.transaction() as tx:
                tx.insert("In", [x])
        with database.transaction() as tx:
            tx.remove_rules("Out(x + 1) :- In(x).")
        with database.transaction() as tx:
            tx.insert("In", [5])
        assert database.relation("Out").rows() == [(5,)]


def test_a_stored_database_keeps_the_option(tmp_path: Path) -> None:
    text = "input relation In(x: u8)\noutput relation Out(x: u8)\nOut(x + 1) :- In(x)."
    tidelog.compile(text, overflow="error").open(path=tmp_path).close()
    with tidelog.open(tmp_path) as database, pytest.raises(EvaluationError), database.transaction() as tx:
        tx.insert("In", [255])
    with pytest.raises(UsageError, match=r"overflow|program"):
        tidelog.compile(text).open(path=tmp_path)


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(UsageError, match="`overflow` is 'stop'; it must be one of 'wrap', 'error'"):
        tidelog.compile("input relation In(x: u8)", overflow="stop")


@pytest.mark.parametrize("type_", [U8, S8, U64, S64])
def test_columns_compute_what_python_does_or_leave_it_to_python(type_: Type) -> None:
    assert type_ in (U8, S8, U64, S64)
    low, high = integer_range(type_)
    dice = random.Random(1)
    edges = [low, low + 1, -1, 0, 1, 2, 3, 15, 16, 17, high // 2, high - 1, high]
    for _ in range(400):
        pairs = [tuple(dice.choice(edges) for _ in range(2)) for _ in range(dice.choice((1, 2, 5)))]
        pairs = [(a, b) for a, b in pairs if low <= a <= high and low <= b <= high]
        left, right = (np.array([_word(pair[i]) for pair in pairs], dtype=np.int64) for i in (0, 1))
        for op, function in (("+", int.__add__), ("-", int.__sub__), ("*", int.__mul__)):
            wanted = [function(a, b) for a, b in pairs]
            try:
                found = checked_arithmetic(op, left, right, type_)
            except NeedsPythonError:
                is_large = any(abs(a) + abs(b) >= 1 << 61 or abs(a * b) >= 1 << 61 for a, b in pairs)
                assert is_large or any(not low <= each <= high for each in wanted)
                continue
            assert found.tolist() == [_word(each) for each in wanted]
            assert all(low <= each <= high for each in wanted)


def _word(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


RECURSIVE = """
import group
input relation Edge(a: u8, b: u8, w: u32)
output relation Dist(a: u8, d: u32)
output relation Cost(a: u8, c: u64)
output relation Far(a: u8, d: u32)
Dist(0, 0).
Dist(b, m) :- Dist(a, d), Edge(a, b, w), var m = (d + w).group_by(b).min().
Far(a, d * 2 + 1) :- Dist(a, d), d - d == 0.
Cost(a, c) :- Edge(a, b, w), a > b, var c = (b, w as u64 * 3).group_by(a).sum_of(|t| t.1).
"""


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "update", "counting"])
def test_without_an_overflow_results_are_those_of_the_default(strategy: str) -> None:
    dice = random.Random(7)
    options: dict[str, Any] = {"strategy": strategy}
    wraps, checks = tidelog.compile(RECURSIVE), tidelog.compile(RECURSIVE, overflow="error")
    with wraps.open(**options) as one, checks.open(**options) as other:
        present: set[tuple[int, int, int]] = set()
        for _ in range(25):
            came = {(dice.randrange(8), dice.randrange(8), dice.randrange(1, 9)) for _ in range(dice.randrange(6))}
            left = set(dice.sample(sorted(present), min(len(present), dice.randrange(4))))
            changes = []
            for database in (one, other):
                with database.transaction() as tx:
                    tx.delete("Edge", sorted(left))
                    tx.insert("Edge", sorted(came))
                changes.append({name: list(delta) for name, delta in tx.changes.items()})
            present = (present - left) | came
            assert changes[0] == changes[1]
            for name in ("Dist", "Cost", "Far"):
                assert one.relation(name).rows() == other.relation(name).rows()


def test_the_expression_of_an_aggregate_is_checked() -> None:
    text = """
    input relation In(s: string, x: u8)
    output relation Out(s: string, x: u32)
    Out(s, t) :- In(s, x), var t = sum((x * 2) as u32) by (s).
    """
    with tidelog.compile(text, overflow="error").open() as database:
        with database.transaction() as tx:
            tx.insert("In", [("a", 127), ("a", 1)])
        assert database.relation("Out").rows() == [("a", 256)]
        with pytest.raises(EvaluationError, match=r"128 \* 2 is 256"), database.transaction() as tx:
            tx.insert("In", [("a", 128)])


def test_an_aggregate_may_call_a_function_that_nothing_has_called_before() -> None:
    text = """
    function twice(x: u8): u32 { x as u32 * 2 }
    input relation In(s: string, x: u8)
    output relation Out(s: string, x: u32)
    Out(s, t) :- In(s, x), var t = sum(twice(x)) by (s).
    """
    with tidelog.compile(text).open() as database:
        with database.transaction() as tx:
            tx.insert("In", [("a", 200), ("a", 1)])
        assert database.relation("Out").rows() == [("a", 402)]
