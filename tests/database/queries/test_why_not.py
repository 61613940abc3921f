"""`db.why_not`: for each rule, the literal that nothing gets past."""

from __future__ import annotations

import json

import pytest

import tidelog
from tests.database.queries.test_explain import REACH, opened


def reasons(text: str, relation: str, row: tuple[object, ...], **rows: list[object]) -> list[str]:
    with opened(text, **rows) as db:
        return [obstacle.reason for obstacle in db.why_not(relation, row).obstacles]


def test_each_rule_names_the_first_literal_that_fails() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c")]) as db:
        assert str(db.why_not("Reach", ("b", "z"))) == (
            'Reach("b", "z") is not there\n'
            "  Reach(x, y) :- Edge(x, y).    <text>:5:1\n"
            '    there is no Edge("b", "z")\n'
            "  Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(y), x != z.    <text>:6:1\n"
            '    there is no Edge(y, "z")    with x = "b"'
        )


def test_a_negated_literal_is_named_where_only_it_is_in_the_way() -> None:
    edges: list[object] = [("a", "b"), ("b", "c"), ("a", "x"), ("x", "y")]
    with opened(REACH, Edge=edges, Blocked=[("b",)]) as db:
        obstacle = db.why_not("Reach", ("a", "c")).obstacles[1]
    assert obstacle.literal == 'not Blocked("b")'
    assert obstacle.bindings == {"x": "a", "y": "b", "z": "c"}
    assert set(obstacle.held) == {'Reach("a", "b")', 'Edge("b", "c")', 'x != z (x = "a", z = "c")'}
    assert obstacle.is_sure


def test_a_condition_that_fails_is_named_with_its_values() -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x), x > 3."
    assert reasons(text, "B", (2,), A=[(2,)]) == ["`x > 3 (x = 2)` does not hold"]


def test_a_value_that_comes_out_differently_is_named_with_both() -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8, y: u8)\nB(x, x + 1) :- A(x)."
    assert reasons(text, "B", (2, 9), A=[(2,)]) == ["`x + 1` is 3, and the row has 9"]


def test_what_stands_before_a_group_is_looked_into() -> None:
    text = """
    input relation A(k: u8, v: u8)
    output relation N(k: u8, n: usize)
    N(k, n) :- A(k, v), v > 3, var n = v.group_by(k).count_distinct().
    """
    assert reasons(text, "N", (1, 1), A=[(1, 2)]) == ["`v > 3 (v = 2)` does not hold    with k = 1"]
    assert reasons(text, "N", (1, 1), A=[(2, 9)]) == ["there is no A(1, v)"]
    assert reasons(text, "N", (2, 5), A=[(2, 9)]) == ["`v.group_by(k).count_distinct()` is 1, and the row has 5"]


def test_a_rule_with_another_head_says_so() -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8, y: u8)\nB(x, 1) :- A(x).\nB(x, x) :- A(x)."
    assert reasons(text, "B", (2, 3), A=[(2,)]) == ["the head gives other values than those of the row"] * 2


def test_a_row_that_is_there_is_said_to_be_there() -> None:
    with opened(REACH, Edge=[("a", "b")]) as db:
        answer = db.why_not("Reach", ("a", "b"))
    assert answer.is_present
    assert answer.obstacles == ()
    assert str(answer) == 'Reach("a", "b") is there'


def test_what_no_rule_derives_has_a_note() -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8)\ninput stream S(x: u8)"
    with opened(text, A=[(1,)]) as db:
        assert str(db.why_not("A", (2,))) == "A(2) is not there: no transaction has inserted it"
        assert str(db.why_not("B", (2,))) == "B(2) is not there: no rule derives `B`"
        assert "a stream keeps no rows" in str(db.why_not("S", (2,)))


def test_the_json_has_rules_literals_and_reasons() -> None:
    with opened(REACH, Edge=[("a", "b")]) as db:
        found = json.loads(db.why_not("Reach", ("b", "a")).to_json())
    assert found["is_present"] is False
    assert [rule["literal"] for rule in found["rules"]] == ['Edge("b", "a")', 'Reach("b", y)']


def test_a_guarded_division_does_not_fail_the_question() -> None:
    text = """
    input relation A(x: u8)
    input relation Zero(x: u8)
    output relation B(x: u8, y: u8)
    B(x, 10 / x) :- A(x), not Zero(x).
    """
    with opened(text, A=[(0,), (5,)], Zero=[(0,)]) as db:
        assert [each.literal for each in db.why_not("B", (0, 3)).obstacles] == ["not Zero(0)"]
        assert db.explain("B", (5, 2))[0].origin == "rule"


def test_values_that_no_row_has_can_be_asked_for() -> None:
    text = 'input relation A(x: string)\noutput relation B(x: string)\nB(x ++ "!") :- A(x).'
    with opened(text, A=[("a",)]) as db:
        assert [each.reason for each in db.why_not("B", ("b!",)).obstacles] == [
            '`x ++ "!"` is "a!", and the row has "b!"'
        ]
        assert db.explain("B", ("a!",)).height == 1


def test_on_a_closed_database_it_is_an_error() -> None:
    db = opened(REACH)
    db.close()
    for ask in (lambda: db.why_not("Reach", ("a", "b")), lambda: db.query("Edge(x, y)"), db.profile):
        with pytest.raises(tidelog.UsageError, match="the database is closed"):
            ask()


DEEP = """
input relation Edge(src: string, dst: string)
input relation Closed(name: string)
relation Open(src: string, dst: string)
Open(x, y) :- Edge(x, y), not Closed(y).
relation Reach(src: string, dst: string)
Reach(x, y) :- Open(x, y).
Reach(x, z) :- Reach(x, y), Open(y, z).
output relation Served(name: string)
Served(x) :- Reach("hub", x).
"""


def test_reasons_go_down_to_inputs_and_to_rows_that_are_in_the_way() -> None:
    with tidelog.compile(DEEP).open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("hub", "a"), ("a", "b")])
            tx.insert("Closed", ["b"])
        found = db.why_not("Served", ("b",))
        assert str(found) == (
            'Served("b") is not there\n'
            '  Served(x) :- Reach("hub", x).    <text>:10:1\n'
            '    there is no Reach("hub", "b")\n'
            '      Reach("hub", "b") is missing\n'
            "        Reach(x, y) :- Open(x, y).    <text>:7:1\n"
            '          there is no Open("hub", "b")\n'
            '            Open("hub", "b") is missing\n'
            "              Open(x, y) :- Edge(x, y), not Closed(y).    <text>:5:1\n"
            '                there is no Edge("hub", "b")\n'
            "        Reach(x, z) :- Reach(x, y), Open(y, z).    <text>:8:1\n"
            '          there is no Open("a", "b")    with x = "hub"\n'
            '            Open("a", "b") is missing\n'
            "              Open(x, y) :- Edge(x, y), not Closed(y).    <text>:5:1\n"
            '                `not Closed("b")` does not hold: the row is there    with x = "a"\n'
            '                  Closed("b")   input'
        )
        assert found.depth == 3
        assert found.to_dict()["rules"][0]["below"]["relation"] == "Reach"


def test_the_depth_has_a_limit_and_recursion_ends() -> None:
    with tidelog.compile(DEEP).open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "b")])
        shallow = db.why_not("Served", ("b",), max_depth=1)
        assert shallow.depth == 1
        assert "missing" not in str(shallow)
        two = str(db.why_not("Served", ("b",), max_depth=2))
        assert 'Open("hub", "b") is missing: its own reasons are deeper than `max_depth`' in two
        deep = db.why_not("Served", ("b",), max_depth=50)
        assert deep.depth < 10
        with pytest.raises(tidelog.UsageError, match="max_depth"):
            db.why_not("Served", ("b",), max_depth=0)


def test_a_row_that_would_need_itself_is_not_explained_twice() -> None:
    text = (
        "input relation In(x: u8)\nrelation P(x: u8)\nrelation Q(x: u8)\nP(x) :- Q(x).\nQ(x) :- P(x).\nP(x) :- In(x)."
    )
    with tidelog.compile(text).open() as db:
        assert "P(1) is missing: see above: it would need itself" in str(db.why_not("P", (1,), max_depth=30))
