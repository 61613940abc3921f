"""`db.query`: a body in, rows with named columns out; random bodies are in `tests/properties`."""

from __future__ import annotations

import json

import pytest

import tidelog
from tests.database.queries.test_explain import REACH, opened
from tidelog.database.database import Database

EDGES: list[object] = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.fixture
def db() -> Database:
    return opened(REACH, Edge=EDGES)


def test_the_variables_are_the_columns(db: Database) -> None:
    answer = db.query('Reach("a", x), Edge(x, y)')
    assert answer.columns == ("x", "y")
    assert answer.rows == [("b", "c"), ("c", "d")]
    assert list(answer) == answer.rows
    assert answer[0] == ("b", "c")
    assert answer.to_dicts()[1] == {"x": "c", "y": "d"}
    assert str(answer) == 'x = "b", y = "c"\nx = "c", y = "d"'
    assert json.loads(answer.to_json()) == [{"x": "b", "y": "c"}, {"x": "c", "y": "d"}]
    assert answer.to_arrow().to_pylist() == answer.to_dicts()


def test_rows_are_distinct_and_variables_with_an_underscore_are_left_out(db: Database) -> None:
    assert db.query("Reach(x, _y)").rows == [("a",), ("b",), ("c",)]
    assert db.query("Reach(x, _)").rows == [("a",), ("b",), ("c",)]


def test_a_query_without_variables_is_a_yes_or_a_no(db: Database) -> None:
    assert db.query('Reach("a", "d")').rows == [()]
    assert str(db.query('Reach("a", "d").')) == "true"
    assert str(db.query('Reach("d", "a")')) == "false"
    assert not db.query('Reach("d", "a")')


def test_conditions_negations_assignments_and_flat_maps_work_as_in_a_rule(db: Database) -> None:
    assert db.query('Reach(x, y), not Edge(x, y), x == "a"').rows == [("a", "c"), ("a", "d")]
    assert db.query("Edge(x, _), not Edge(_, x)").rows == [("a",)]
    assert db.query('Edge("a", y), var both = y ++ "!", var n = FlatMap([1, 2])').rows == [
        ("b", "b!", 1),
        ("b", "b!", 2),
    ]
    assert db.query("e in Edge(_, _), var d = e.dst").columns == ("e", "d")


def test_groups_work_as_in_a_rule(db: Database) -> None:
    assert db.query("Reach(x, y), var n = y.group_by(x).count_distinct(), n > 1").rows == [("a", 3), ("b", 2)]
    assert db.query("Reach(x, _), var n = x.group_by(()).count_distinct()").rows == [(3,)]


def test_functions_of_the_program_and_of_the_library_can_be_called(db: Database) -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8)\nfunction f(x: u8): u8 { x * 2 }\nB(x) :- A(x)."
    with opened(text, A=[(3,)]) as other:
        assert other.query("A(x), var y = f(x)").rows == [(3, 6)]
    # The program itself never uses this function.
    assert db.query('Edge("a", y), var n = y.len()').rows == [("b", 1)]


def test_structs_and_unions_can_be_taken_apart() -> None:
    text = """
    typedef Shape = Circle{r: u8} | Square{a: u8}
    input relation S(s: Shape)
    """
    program = tidelog.compile(text)
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("S", [program.types.Circle(2), program.types.Square(3)])
        assert db.query("S(Circle{r})").rows == [(2,)]
        assert db.query("not S(Circle{2})").rows == []
        assert db.query("not S(Circle{3})").rows == [()]


def test_it_sees_the_last_commit_and_changes_nothing(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("d", "e")])
        assert db.query('Edge("d", x)').rows == []
    epoch = db.report.epoch
    assert db.query('Edge("d", x)').rows == [("e",)]
    assert db.report.epoch == epoch
    with db.transaction() as tx:
        tx.delete("Edge", [("d", "e")])
    assert db.query('Reach(x, "e")').rows == []


def test_internal_relations_and_multisets_can_be_queried() -> None:
    text = "input multiset M(x: u8)\nrelation I(x: u8)\noutput relation O(x: u8)\nI(x) :- M(x), x > 1.\nO(x) :- I(x)."
    with opened(text, M=[(1,), (2,), (2,)]) as db:
        assert db.query("I(x)").rows == [(2,)]
        assert db.query("M(x)").rows == [(1,), (2,)]


@pytest.mark.parametrize(
    ("text", "code", "place", "said"),
    [
        ("Reech(x, _)", "E201", "<query>:1:1", "did you mean `Reach`?"),
        ("Reach(x)", "E205", "<query>:1:1", ""),
        ("Reach(x, 3)", "E210", "<query>:1:10", ""),
        ("Reach(x, y), z > 3", "E301", "<query>:1:14", ""),
        ("Reach(x, y", "E101", "<query>:1:11", "the end of the query"),
        ("", "E101", "<query>:1:1", "the end of the query"),
        ("Reach(x, y) Edge(x, y)", "E101", "<query>:1:13", "the end of the query"),
        ("Q(x) :- Reach(x, y)", "E831", "<query>:1:6", "a query has no head"),
        ("Reach(x, y), Inspect f(x)", "E229", "<query>:1:22", ""),
        ("Edge-1(x, y)", "E831", "<query>:1:1", "as they are now"),
    ],
)
def test_what_is_wrong_is_shown_in_the_text_of_the_query(
    db: Database, text: str, code: str, place: str, said: str
) -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        db.query(text)
    assert caught.value.code == code
    assert place in str(caught.value)
    assert said in str(caught.value)


def test_all_errors_of_a_query_come_at_once(db: Database) -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        db.query("Reach(x, 3), y > 2, Nothing(z)")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E210", "E301", "E201"]


def test_streams_and_inspect_have_nothing_between_epochs() -> None:
    text = "input relation A(x: u8)\ninput stream S(x: u8)\nfunction quiet(x: u8): () { () }"
    with opened(text, A=[(1,)]) as db, pytest.raises(tidelog.ProgramError) as caught:
        db.query("S(x), A(x), Inspect quiet(x)")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E831", "E831"]


def test_a_query_that_divides_by_zero_fails_and_the_database_goes_on() -> None:
    with opened("input relation A(x: u8)", A=[(0,), (2,)]) as db:
        with pytest.raises(tidelog.EvaluationError, match="division by zero, with x = 0, in the query"):
            db.query("A(x), var y = 10 / x")
        assert db.query("A(x), x != 0, var y = 10 / x").rows == [(2, 5)]


def test_a_query_does_not_look_at_the_rules_of_the_program_again() -> None:
    rules = "".join(f"output relation R{i}(x: u8)\nR{i}(x) :- A(x), x > {i % 200}.\n" for i in range(300))
    with opened(f"input relation A(x: u8)\n{rules}", A=[(7,), (250,)]) as db:
        from tidelog.check.rule import check_rule

        checked = []
        original = check_rule._Checking

        class Counting(original):  # type: ignore[misc, valid-type]
            def read(self) -> None:
                checked.append(self._rule)
                super().read()

        check_rule._Checking = Counting  # type: ignore[misc]
        try:
            assert db.query("R7(x), R8(x)").rows == [(250,)]
        finally:
            check_rule._Checking = original  # type: ignore[misc]
    assert len(checked) == 1


SALES = "input relation Sale(id: u32, shop: string, price: u64)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sale(i, s, p), var t = sum(p) by (s)", [("a", 20), ("b", 5)]),
        ("Sale(i, s, p), var t = sum(p) by ()", [(25,)]),
        ("Sale(i, s, p), p > 100, (var t, var n) = (sum(p), count()) by ()", [(0, 0)]),
        ("Sale(i, s, p), p > 100, var t = max(p) by ()", []),
        ("Sale(i, $shop, p), var t = sum(p * $times) by (i)", [(1, 20), (2, 20)]),
    ],
)
def test_aggregates_over_rows_work_as_in_a_rule(text: str, expected: list[tuple[object, ...]]) -> None:
    given = {"shop": "a", "times": 2}
    params = {name: value for name, value in given.items() if f"${name}" in text}
    with tidelog.compile(SALES).open() as db:
        with db.transaction() as tx:
            tx.insert("Sale", [(1, "a", 10), (2, "a", 10), (3, "b", 5)])
        assert sorted(db.query(text, params=params or None)) == expected
