"""`db.explain`: one behaviour of the language at a time; random programs are in `tests/properties`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidelog
from tidelog.database.database import Database
from tidelog.database.queries.explain import Explanation

REACH = """
input relation Edge(src: string, dst: string)
input relation Blocked(node: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(y), x != z.
"""


def opened(text: str, **rows: list[object]) -> Database:
    database = tidelog.compile(text).open()
    with database.transaction() as tx:
        for name, given in rows.items():
            tx.insert(name, given)
    return database


def texts(explanation: Explanation) -> list[str]:
    return [step.text for step in explanation]


def test_a_proof_is_a_tree_down_to_facts() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c")]) as db:
        assert str(db.explain("Reach", ("a", "c"))) == (
            'Reach("a", "c")\n'
            "  by Reach(x, z) :- Reach(x, y), Edge(y, z), not Blocked(y), x != z.    <text>:6:1\n"
            '  ├─ Reach("a", "b")\n'
            "  │    by Reach(x, y) :- Edge(x, y).    <text>:5:1\n"
            '  │    └─ Edge("a", "b")   input\n'
            '  ├─ Edge("b", "c")   input\n'
            '  ├─ not Blocked("b")\n'
            '  └─ x != z (x = "a", z = "c")'
        )


def test_the_steps_are_objects_that_name_one_another() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c")]) as db:
        explanation = db.explain("Reach", {"src": "a", "dst": "c"})
    root = explanation[0]
    assert (root.relation, root.row, root.origin, root.place) == ("Reach", ("a", "c"), "rule", "<text>:6:1")
    assert root.bindings == {"x": "a", "y": "b", "z": "c"}
    assert [premise.kind for premise in root.premises] == ["row", "row", "absent", "condition"]
    below = [explanation[premise.step] for premise in root.premises if premise.step is not None]
    assert [(step.row, step.origin) for step in below] == [(("a", "b"), "rule"), (("b", "c"), "input")]
    assert explanation.height == 2


def test_the_json_has_every_step_once() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c")]) as db:
        found = json.loads(db.explain("Reach", ("a", "c")).to_json())
    assert [step["text"] for step in found["steps"]] == [
        'Reach("a", "c")',
        'Reach("a", "b")',
        'Edge("a", "b")',
        'Edge("b", "c")',
    ]
    assert found["steps"][0]["premises"][:2] == [
        {"kind": "row", "text": 'Reach("a", "b")', "step": 1},
        {"kind": "row", "text": 'Edge("b", "c")', "step": 3},
    ]
    assert found["height"] == 2


def test_ways_that_are_not_shown_are_counted() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c"), ("a", "c")]) as db:
        explanation = db.explain("Reach", ("a", "c"))
    assert explanation[0].derivations == 2
    assert "(and 1 other way)" in str(explanation)


def test_a_fact_of_the_program_is_where_a_proof_ends() -> None:
    with opened('output relation A(x: string)\noutput relation B(x: string)\nA("a").\nB(x) :- A(x).') as db:
        assert str(db.explain("B", ("a",))) == (
            'B("a")\n  by B(x) :- A(x).    <text>:4:1\n  └─ A("a")   fact of the program    <text>:3:1'
        )


def test_an_input_fact_that_rules_derive_too_says_both() -> None:
    text = "input relation A(x: u8)\ninput relation B(x: u8)\nA(x) :- B(x)."
    with opened(text, A=[(1,)], B=[(1,)]) as db:
        assert str(db.explain("A", (1,))) == "A(1)   input, and derived once"
        with db.transaction() as tx:
            tx.delete("A", [(1,)])
        assert texts(db.explain("A", (1,))) == ["A(1)", "B(1)"]


def test_a_row_that_only_circles_would_support_rests_on_its_fact() -> None:
    text = "input relation A(x: u8, y: u8)\nA(y, x) :- A(x, y)."
    with opened(text, A=[(1, 2)]) as db:
        assert texts(db.explain("A", (2, 1))) == ["A(2, 1)", "A(1, 2)"]
        assert str(db.explain("A", (1, 2))) == "A(1, 2)   input, and derived once"


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "update", "counting", "elastic-paper", "circuit"])
def test_a_chain_of_two_thousand_edges_is_explained_to_its_end(strategy: str) -> None:
    text = "input relation E(a: u32, b: u32)\noutput relation R(a: u32)\nR(0).\nR(y) :- R(x), E(x, y)."
    with tidelog.compile(text).open(strategy=strategy) as db:
        for first in (0, 1000):
            with db.transaction() as tx:
                tx.insert("E", [(i, i + 1) for i in range(first, first + 1000)])
        for shortest in (False, True):
            explanation = db.explain("R", (2000,), shortest=shortest)
            assert explanation.height == 2000
            assert len(explanation) == 4001
            assert len(json.loads(explanation.to_json())["steps"]) == 4001
            assert len(explanation.to_text(max_depth=10_000, max_lines=100_000).splitlines()) == 6001
        assert "cut at depth 40" in str(explanation)
        assert str(explanation.to_text(max_depth=3000, max_lines=5)).endswith(
            "… cut at 5 lines; there are 4001 steps, height 2000"
        )


def test_the_shortest_proof_is_found_after_a_shortcut_came() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]) as db:
        assert db.explain("Reach", ("a", "e"), shortest=True).height == 4
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "d")])
        explanation = db.explain("Reach", ("a", "e"), shortest=True)
        assert explanation.is_shortest
        assert explanation.height == 2
        assert texts(explanation) == ['Reach("a", "e")', 'Reach("a", "d")', 'Edge("a", "d")', 'Edge("d", "e")']


def test_a_row_that_is_used_twice_is_written_once() -> None:
    text = """
    input relation A(x: u8)
    output relation B(x: u8)
    output relation C(x: u8)
    B(x) :- A(x), x > 0.
    C(x) :- B(x), B(y), y == x.
    """
    with opened(text, A=[(1,)]) as db:
        explanation = db.explain("C", (1,))
    assert texts(explanation) == ["C(1)", "B(1)", "A(1)"]
    lines = str(explanation).splitlines()
    assert lines[2] == "  ├─ B(1)   #1"
    assert lines[6] == "  ├─ B(1)   see #1"


def test_the_rows_of_a_group_are_listed() -> None:
    text = """
    import group
    input relation Sale(shop: string, n: u64)
    output relation Total(shop: string, n: u64)
    Total(shop, sum) :- Sale(shop, n), n > 0, var sum = n.group_by(shop).sum_of(|x| x).
    """
    with opened(text, Sale=[("a", 2), ("a", 3), ("b", 7), ("a", 0)]) as db:
        lines = str(db.explain("Total", ("a", 5))).splitlines()
    assert lines[2:] == [
        '  ├─ group by shop = "a" of 2 values',
        "  │    ├─ value 2",
        '  │    │    ├─ Sale("a", 2)   input',
        "  │    │    └─ n > 0 (n = 2)",
        "  │    └─ value 3",
        '  │         ├─ Sale("a", 3)   input',
        "  │         └─ n > 0 (n = 3)",
        "  └─ sum = 5 from n.group_by(shop).sum_of(|x| x)",
    ]


def test_flat_maps_patterns_calls_and_computed_columns_are_shown_with_their_values() -> None:
    text = """
    typedef Shape = Circle{r: u32} | Square{a: u32}
    function twice(x: u32): u32 { x + x }
    input relation Given(shapes: Vec<Shape>, k: u32)
    output relation Sized(n: u32, k: u32)
    Sized(twice(r), k + 1) :- Given(shapes, k), var shape = FlatMap(shapes), Circle{var r} = shape.
    """
    program = tidelog.compile(text)
    circle, square = program.types.Circle, program.types.Square
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Given", [([square(1), circle(2)], 7)])
        lines = str(db.explain("Sized", (4, 8))).splitlines()
    assert [line.strip("│├└─ ") for line in lines[3:]] == [
        "shape = Circle{.r = 2} from shapes",
        "r = 2 from shape",
        "twice(r) = 4",
        "k + 1 = 8",
    ]


def test_negation_with_wildcards_is_shown_as_written() -> None:
    text = "input relation E(a: u8, b: u8)\noutput relation Leaf(a: u8)\nLeaf(y) :- E(_, y), not E(y, _)."
    with opened(text, E=[(1, 2)]) as db:
        premises = db.explain("Leaf", (2,))[0].premises
    assert [(premise.kind, premise.text) for premise in premises] == [("row", "E(1, 2)"), ("absent", "not E(2, _)")]


def test_rows_of_multisets_have_their_weights() -> None:
    text = """
    input multiset M(x: u8)
    output multiset D(x: u8)
    D(x) :- M(x), M(y), y >= x.
    """
    with opened(text, M=[(1,), (1,), (2,)]) as db:
        explanation = db.explain("D", (1,))
    assert explanation[0].weight == 6
    assert texts(explanation)[0] == "D(1) +6"
    assert {step.text for step in explanation} >= {"M(1) +2"}


def test_what_a_transformer_makes_has_no_inside() -> None:
    text = """
    typedef Row = Row{x: u8}
    extern transformer Copy(In: relation[Row]) -> (Out: relation[Row])
    input relation A[Row]
    relation B[Row]
    output relation C(x: u8)
    apply Copy(A) -> (B)
    C(x) :- B[Row{x}].
    """
    program = tidelog.compile(text, externs={"Copy": lambda rows: (rows,)})
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("A", [program.types.Row(1)])
        explanation = db.explain("C", (1,))
    assert [step.origin for step in explanation] == ["rule", "rule", "transformer"]
    assert "made by the transformer `Copy`" in str(explanation)


def test_what_was_delayed_or_streamed_says_so() -> None:
    text = """
    input relation A(x: u8)
    input stream S(x: u8)
    output relation Before(x: u8)
    output relation Now(x: u8)
    Before(x) :- A-1(x).
    Now(x) :- S'(x).
    """
    with opened(text, A=[(1,)]) as db:
        with db.transaction() as tx:
            tx.insert("S", [(2,)])
        assert [(step.text, step.origin) for step in db.explain("Before", (1,))][1:] == [("A-1(1)", "delayed")]
        assert [(step.text, step.origin) for step in db.explain("Now", (2,))][1:] == [("S'(2)", "stream")]
        with pytest.raises(tidelog.UsageError, match="no row") as caught:
            db.explain("S", (2,))
        assert "stream" in str(caught.value.help)


def test_groups_inside_recursion_are_explained_without_ranks() -> None:
    text = """
    input relation Edge(a: u8, b: u8, cost: u64)
    output relation Best(b: u8, cost: u64)
    relation Way(b: u8, cost: u64)
    Way(0, 0).
    Way(b, c + d) :- Best(a, c), Edge(a, b, d).
    Best(b, min) :- Way(b, c), var min = c.group_by(b).min().
    """
    with opened(text, Edge=[(0, 1, 5), (0, 2, 1), (2, 1, 1)]) as db:
        explanation = db.explain("Best", (1, 2))
    assert "Best(2, 1)" in texts(explanation)
    assert {step.origin for step in explanation} == {"rule", "group", "input", "fact"}


def test_a_body_before_an_inspect_is_part_of_the_rule() -> None:
    text = """
    input relation A(x: u8)
    output relation B(x: u8)
    function quiet(x: u8): () { () }
    B(x) :- A(x), x > 0, Inspect quiet(x), x < 9.
    """
    with opened(text, A=[(1,)]) as db:
        explanation = db.explain("B", (1,))
    assert texts(explanation) == ["B(1)", "A(1)"]
    assert [premise.text for premise in explanation[0].premises] == ["A(1)", "x > 0 (x = 1)", "x < 9 (x = 1)"]


def test_an_explanation_leaves_no_trace_in_the_state() -> None:
    arrangements = []
    for asks in (False, True):
        with opened(REACH, Edge=[("a", "b"), ("b", "c"), ("c", "d")]) as db:
            if asks:
                db.explain("Reach", ("a", "d"), shortest=True)
                db.why_not("Reach", ("d", "a"))
                db.query('Reach(x, y), Edge(y, x), Edge(x, _), Blocked("a")')
                assert len(db.query('Reach(x, "d")')) == 3
                assert ("Reach", ("dst",)) not in {(each.relation, each.columns) for each in db.profile().arrangements}
            with db.transaction() as tx:
                tx.insert("Blocked", [("e",)])
            profile = db.profile()
        arrangements.append({(each.relation, each.columns) for each in profile.arrangements})
        assert profile.epoch == 2
    assert arrangements[0] == arrangements[1]


def test_a_database_that_was_opened_again_answers(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        for edge in (("a", "b"), ("b", "c"), ("a", "c")):
            with db.transaction() as tx:
                tx.insert("Edge", [edge])
        told = str(db.explain("Reach", ("a", "c")))
    for read_only in (True, False):
        with tidelog.open(tmp_path / "db", read_only=read_only) as db:
            assert str(db.explain("Reach", ("a", "c"))) == told
            assert db.explain("Reach", ("a", "c"), shortest=True).height == 1
            assert db.query('Reach("a", x)').rows == [("b",), ("c",)]
            assert db.profile().epoch == 3
            assert [each.rows for each in db.profile().relations] == [3, 3]


def test_a_row_that_is_not_there_has_no_explanation() -> None:
    with opened(REACH, Edge=[("a", "b")]) as db:
        with pytest.raises(tidelog.UsageError, match='no row Reach\\("b", "a"\\)') as caught:
            db.explain("Reach", ("b", "a"))
        assert caught.value.code == "E830"
        with pytest.raises(tidelog.UsageError, match="no relation `Rech`"):
            db.explain("Rech", ("b", "a"))
        with pytest.raises(tidelog.DataError):
            db.explain("Reach", ("b", 1))
