"""`$name` in a query: typed by its place, given as a value, never a part of the text."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog
from tests.database.queries.test_explain import REACH, opened
from tidelog.database.database import Database

EDGES: list[object] = [("a", "b"), ("b", "c"), ("c", "d")]
SHAPES = """
typedef Shape = Circle{r: u8} | Square{a: u8}
input relation S(s: Shape, tags: Vec<string>, note: Option<string>, price: double, on: bool, name: istring)
input relation Pair(p: (u32, string))
"""


@pytest.fixture
def db() -> Database:
    return opened(REACH, Edge=EDGES)


def test_a_parameter_has_its_value_in_atoms_conditions_negations_and_assignments(db: Database) -> None:
    assert db.query("Reach($from, x)", params={"from": "b"}).rows == [("c",), ("d",)]
    assert db.query("Reach(x, y), y == $end", params={"end": "c"}).rows == [("a", "c"), ("b", "c")]
    assert db.query("Edge(x, _), not Edge($a, x)", params={"a": "a"}).rows == [("a",), ("c",)]
    assert db.query("Edge(x, _), not Edge(_, $a), x == $a", params={"a": "a"}).rows == [("a",)]
    assert db.query('Edge(x, "b"), var t = x ++ ($s: string)', params={"s": "!"}).rows == [("a", "a!")]
    assert db.query("Edge($a, $a)", params={"a": "a"}).rows == []


def test_a_parameter_is_no_column_and_may_occur_often(db: Database) -> None:
    answer = db.query("Edge($a, x), Edge(x, y), x != $a", params={"a": "a"})
    assert answer.columns == ("x", "y")
    assert answer.rows == [("b", "c")]


def test_a_parameter_may_stand_in_interpolations_closures_and_behind_a_group(db: Database) -> None:
    assert db.query('Edge(x, "b"), var t = "${($s: string)}-${x}"', params={"s": "s"}).rows == [("a", "s-a")]
    grouped = "Reach(x, y), var n = y.group_by(x).count_distinct(), n >= $least, x != $not"
    assert db.query(grouped, params={"least": 2, "not": "b"}).rows == [("a", 3)]
    keyed = "Reach(x, y), var n = y.group_by($key).count_distinct()"
    assert db.query(f"{keyed}, Edge($key, next)", params={"key": "a"}).rows == [(3, "b")]
    with opened(f"import vec\n{REACH}") as other:
        mapped = "var v = FlatMap(([1, 2]: Vec<u8>).map(|i| i + $n))"
        assert other.query(mapped, params={"n": 10}).rows == [(11,), (12,)]


@pytest.mark.parametrize(
    "value", ['a", x), Edge("b', "${x}", "$a", '"', "\\", "[|", "a\nb", "'; drop", "\0", "é\u2028", "a"]
)
def test_no_text_of_a_value_is_ever_parsed(db: Database, value: str) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [(value, "end")])
    assert ("end",) in db.query("Edge($a, x)", params={"a": value}).rows
    assert db.query("Edge(x, $e), x == $a", params={"a": value, "e": "end"}).rows == [(value,)]


def test_a_dollar_inside_a_string_stays_text(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("$a", "end")])
    assert db.query('Edge("$a", x)').rows == [("end",)]
    assert db.query('Edge("$a", x), x != $a', params={"a": "a"}).rows == [("end",)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("S($x, _, _, _, _, _)", {"tag": "Circle", "r": 2}),
        ("S(s, _, _, _, _, _), s == $x", {"tag": "Circle", "r": 2}),
        ("S(_, $x, _, _, _, _)", ["a", "b"]),
        ("S(_, t, _, _, _, _), t == $x", ["a", "b"]),
        ("S(_, _, $x, _, _, _)", None),
        ("S(_, _, n, _, _, _), n == $x", None),
        ("S(_, _, _, $x, _, _)", 1),
        ("S(_, _, _, p, _, _), p < $x + 1.0", 0.5),
        ("S(_, _, _, _, $x, _)", True),
        ("S(_, _, _, _, _, $x)", "pen"),
        ("S(_, _, _, _, _, n), n == $x", "pen"),
        ("Pair($x)", (1, "one")),
        ("Pair(p), p == $x", [1, "one"]),
        ("Pair((x, $x))", "one"),
        ("Pair(p), $x == p.0", 1),
        ("S(_, t, _, _, _, _), t.contains($x)", "b"),
    ],
)
def test_the_place_of_a_parameter_gives_its_type(text: str, value: Any) -> None:
    rows: list[object] = [({"tag": "Circle", "r": 2}, ["a", "b"], None, 1.0, True, "pen")]
    with opened(SHAPES, S=rows, Pair=[((1, "one"),)]) as db:
        assert len(db.query(text, params={"x": value})) == 1


def test_a_parameter_without_a_value_is_an_error_at_its_place(db: Database) -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        db.query("Reach($from, x), x != $b", params={"b": "b"})
    assert "E833" in str(caught.value)
    assert "no value is given for the parameter `$from`" in str(caught.value)
    assert "<query>:1:7" in str(caught.value)
    assert 'params={"from": ...}' in str(caught.value)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"from": "a", "to": "b"}, "the query has no parameter `$to`"),
        ({"from": "a", "form": "b"}, "did you mean `from`?"),
        ({"from": "a", 3: "b"}, "3 is no name of a parameter"),
        (["a"], "it must have a value for each name"),
    ],
)
def test_a_value_that_no_parameter_takes_is_an_error(db: Database, params: Any, said: str) -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        db.query("Reach($from, x)", params=params)
    assert "E834" in str(caught.value)
    assert said in str(caught.value)


def test_a_name_with_its_dollar_is_told_how_to_write_it(db: Database) -> None:
    with pytest.raises(tidelog.UsageError, match="without the `\\$`"):
        db.query("Reach($a, x)", params={"a": "a", "$a": "b"})


def test_a_value_of_another_type_is_refused_and_not_converted(db: Database) -> None:
    with pytest.raises(tidelog.DataError, match="the parameter `\\$a`: `1` is not a string"):
        db.query("Reach($a, x)", params={"a": 1})
    with pytest.raises(tidelog.DataError, match="null where a string is wanted"):
        db.query("Reach($a, x)", params={"a": None})


def test_a_parameter_whose_type_nothing_tells_is_an_error(db: Database) -> None:
    with pytest.raises(tidelog.ProgramError, match="the type of the parameter `\\$a` is not known"):
        db.query("var x = $a", params={"a": 1})
    assert db.query("var x = ($a: u8)", params={"a": 1}).rows == [(1,)]


def test_two_places_of_a_parameter_must_agree(db: Database) -> None:
    with pytest.raises(tidelog.ProgramError, match="expected"):
        db.query("Edge($a, x), x.len() == $a", params={"a": "a"})


def test_a_program_has_no_parameters() -> None:
    with pytest.raises(tidelog.ProgramError, match="only queries have parameters"):
        tidelog.compile("input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x), x > $a.")


def test_a_limit_ends_the_search_and_says_so(db: Database) -> None:
    answer = db.query("Reach(x, y)", limit=2)
    assert len(answer) == 2
    assert answer.is_cut
    assert set(answer) <= set(db.query("Reach(x, y)"))
    assert not db.query("Reach(x, y)", limit=100).is_cut
    assert "cut at the limit" in repr(answer)
    with pytest.raises(tidelog.UsageError, match="`limit` is 0"):
        db.query("Reach(x, y)", limit=0)


def test_a_limit_does_not_look_at_the_rest() -> None:
    rows: list[object] = [(n,) for n in range(2000)]
    with opened("input relation N(n: u32)", N=rows) as db:
        assert len(db.query("N(a), N(b), N(c), N(d), a + b + c + d > 10", limit=5)) == 5


@pytest.mark.parametrize(
    "text",
    [
        "N(a), N(b), N(c), a + b + c == 1000000",
        "N(a), not N(a + 1000000), N(b), N(c), a + b + c == 5000",
        "N(a), N(b), N(c)",
    ],
)
def test_a_query_that_takes_too_long_is_given_up(text: str) -> None:
    rows: list[object] = [(n,) for n in range(1000)]
    with opened("input relation N(n: u32)", N=rows) as db:
        with pytest.raises(tidelog.EvaluationError, match=r"longer than its deadline of 0\.05 s") as caught:
            db.query(text, deadline=0.05)
        assert caught.value.code == "E607"
        assert len(db.query("N(a)", deadline=100)) == 1000
        with pytest.raises(tidelog.UsageError, match="`deadline` is 0"):
            db.query("N(a)", deadline=0)
