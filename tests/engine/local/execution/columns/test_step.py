"""Expressions on columns give what the Python functions of the same expressions give, errors included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tidelog
from tidelog.engine.local.execution import python_step
from tidelog.engine.local.execution.columns import step as column_step
from tidelog.engine.local.execution.columns.frame import Frame

DECLARED = """
    typedef Shape = Dot{name: string, size: u8} | Line{from: s64, to: s64, name: string} | Nothing
    typedef Pair = Pair{left: string, right: Option<s64>}
    function shout(s: string): string { var upper = to_uppercase(s); upper ++ "!" }
    function swapped(p: (string, s64)): (s64, string) { (var s, var n) = p; (n, s) }
    function title(s: Shape): string {
        match (s) { Dot{n, 3} -> "three " ++ n, Dot{n, k} -> n ++ "${k}", Line{f, t, _} -> "${t - f}", Nothing -> "" }
    }
    function first_of(a: 'A, b: 'A): 'A { a }
    function size_of(p: Pair): s64 { match (p.right) { Some{n} -> n, None -> len(p.left) as s64 } }
    input relation In(s: string, t: string, n: s64, k: u8, b: bool)
"""
TEXTS = st.sampled_from(
    ["", "a", "ab", "abc", "b", "12", "-7", "+007", "é", "aé", "日本", "Zz ", " x\t", "18446744073709551616"]
)
ROWS = st.lists(
    st.tuples(
        TEXTS | st.text(max_size=5),
        TEXTS,
        st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1, 2, 3, 10**18]) | st.integers(-20, 20),
        st.integers(0, 255),
        st.booleans(),
    ),
    max_size=12,
)


def texts(inner: dict[str, Any]) -> st.SearchStrategy[str]:
    text, number, small, test = (inner[name] for name in ("string", "s64", "u8", "bool"))
    shape = st.one_of(
        st.builds("Dot{{{}, {}}}".format, text, small),
        st.builds("Line{{{}, {}, {}}}".format, number, number, text),
    )
    return st.one_of(
        st.sampled_from(["s", "t", '"ab"', '"é"', '""']),
        st.builds("({} ++ {})".format, text, text),
        # A quote inside of `${}` would have to be escaped.
        st.builds('"<${{{}}}|${{{}}}>"'.format, number, small).filter(lambda text: text.count('"') == 2),
        st.builds("substr({}, {} as usize, {} as usize)".format, text, small, number),
        st.builds("(if ({}) {{ {} }} else {{ {} }})".format, test, text, text),
        st.builds("{}({})".format, st.sampled_from(["shout", "to_lowercase", "to_uppercase", "trim"]), text),
        st.builds("to_string({})".format, st.one_of(number, small, test, text)),
        st.builds("title({})".format, shape),
        st.builds("first_of({}, {})".format, text, text),
        st.builds("swapped(({}, {})).1".format, text, number),
    )


def numbers(inner: dict[str, Any]) -> st.SearchStrategy[str]:
    text, number, small, test = (inner[name] for name in ("string", "s64", "u8", "bool"))
    return st.one_of(
        st.sampled_from(["n", "1", "(-3)", "9223372036854775807"]),
        st.builds("({} {} {})".format, number, st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^"]), number),
        st.builds("({} {} ({} as u32))".format, number, st.sampled_from(["<<", ">>"]), small),
        st.builds("(len({}) as s64)".format, text),
        st.builds("({} as u64 as s64)".format, small),
        st.builds("(-{})".format, number),
        st.builds("(match (parse_dec_i64({})) {{ Some{{var v}} -> v, None -> {} }})".format, text, number),
        st.builds("(match ({}) {{ 0 -> {}, 1 -> 5, _ -> {} }})".format, number, number, number),
        st.builds("size_of(Pair{{{}, Some{{{}}}}})".format, text, number),
        st.builds("size_of(Pair{{{}, None}})".format, text),
        st.builds("(if ({}) {{ {} }} else {{ {} }})".format, test, number, number),
    )


def smalls(inner: dict[str, Any]) -> st.SearchStrategy[str]:
    number, small, test = (inner[name] for name in ("s64", "u8", "bool"))
    return st.one_of(
        st.sampled_from(["k", "7", "255"]),
        st.builds("({} {} {})".format, small, st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^"]), small),
        st.builds("(~{})".format, small),
        st.builds("({} as u64 as u8)".format, number),
        st.builds("(if ({}) {{ {} }} else {{ {} }})".format, test, small, small),
    )


def conditions(inner: dict[str, Any]) -> st.SearchStrategy[str]:
    text, number, small, test = (inner[name] for name in ("string", "s64", "u8", "bool"))
    order = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    sides = st.one_of(st.tuples(text, text), st.tuples(number, number), st.tuples(small, small), st.tuples(test, test))
    return st.one_of(
        st.sampled_from(["b", "true", "false"]),
        st.builds(lambda pair, op: f"({pair[0]} {op} {pair[1]})", sides, order),
        st.builds("({} {} {})".format, test, st.sampled_from(["and", "or", "=>"]), test),
        st.builds("(not {})".format, test),
        st.builds("{}({}, {})".format, st.sampled_from(["contains", "starts_with", "ends_with"]), text, text),
        st.builds("(({}, {}) == ({}, {}))".format, text, number, text, number),
    )


def expressions(depth: int) -> dict[str, Any]:
    if not depth:
        return {
            "string": st.sampled_from(["s", "t", '"ab"', '"é"']),
            "s64": st.sampled_from(["n", "1", "(-3)"]),
            "u8": st.sampled_from(["k", "7"]),
            "bool": st.sampled_from(["b", "(n > 0)", "(s == t)"]),
        }
    inner = expressions(depth - 1)
    return {"string": texts(inner), "s64": numbers(inner), "u8": smalls(inner), "bool": conditions(inner)}


def outcome(program: tidelog.Program, rows: list[tuple[Any, ...]]) -> Any:
    with program.open() as db:
        try:
            with db.transaction() as tx:
                tx.insert("In", rows)
        except tidelog.EvaluationError as error:
            return error.code, str(error)
        return sorted(db.relation("Out"))


# A program is compiled for every example: to shrink one would take minutes.
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate))
@given(data=st.data(), type_=st.sampled_from(["string", "s64", "u8", "bool"]), rows=ROWS)
def test_columns_give_what_python_gives(data: st.DataObject, type_: str, rows: list[tuple[Any, ...]]) -> None:
    expression = data.draw(expressions(data.draw(st.integers(1, 3)))[type_])
    condition = data.draw(expressions(1)["bool"])
    text = f"""{DECLARED}
        output relation Out(s: string, n: s64, x: {type_})
        Out(s, n, x) :- In(s, t, n, k, b), {condition}, var x = {expression}.
    """
    program = tidelog.compile(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_step, "FEWEST_ROWS", 1 << 40)
        wanted = outcome(program, rows)
        patch.setattr(python_step, "FEWEST_ROWS", 0)
        assert outcome(program, rows) == wanted


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each batch, whether kernels evaluated it."""
    found: list[bool] = []
    run = column_step.ColumnStep.run

    def noted(step: column_step.ColumnStep, frame: Frame, types: Any) -> Any:
        result = run(step, frame, types)
        found.append(result is not None)
        return result

    monkeypatch.setattr(column_step.ColumnStep, "run", noted)
    monkeypatch.setattr(python_step, "FEWEST_ROWS", 0)
    return found


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ('substr(s, 1, 3) ++ "/" ++ t', "bc/x"),
        ('"${n}:${k}"', "-9:200"),
        ("to_uppercase(s)", "ABCD"),
        ("shout(trim(s))", "ABCD!"),
        ("title(Dot{s, k})", "abcd200"),
        ('if (contains(s, "bc")) s else {substr(s, (1 / (n + 9)) as usize, 5)}', "abcd"),
        ('match (parse_dec_u64("12")) { Some{var v} -> "${v + 1}", None -> s }', "13"),
    ],
)
def test_strings_structs_and_functions_run_in_kernels(batches: list[bool], expression: str, wanted: str) -> None:
    program = tidelog.compile(f"""{DECLARED}
        output relation Out(x: string)
        Out({expression}) :- In(s, t, n, k, _).
    """)
    assert outcome(program, [("abcd", "x", -9, 200, True)]) == [(wanted,)]
    assert batches
    assert all(batches)


def test_new_structs_and_those_of_rows_are_one_column(batches: list[bool]) -> None:
    program = tidelog.compile("""
        input relation In(n: s64, o: Option<string>)
        output relation Out(n: s64, o: Option<string>)
        Out(n, x) :- In(n, o), var x = if (n > 1) Some{"new"} else o.
    """)
    rows = [(0, None), (1, "old"), (2, None), (3, "old")]
    assert outcome(program, rows) == [(0, None), (1, "old"), (2, "new"), (3, "new")]
    assert batches
    assert all(batches)


def test_a_function_of_any_type_takes_tuples_of_rows_apart(batches: list[bool]) -> None:
    program = tidelog.compile("""
        function second(p: ('A, s64)): s64 { match (p) { (_, 3) -> 100, (_, n) -> n } }
        input relation In(p: (string, s64))
        output relation Out(n: s64)
        Out(second(p)) :- In(p).
    """)
    assert outcome(program, [(("a", 2),), (("b", 3),)]) == [(2,), (100,)]
    assert batches
    assert all(batches)


def test_the_parts_of_a_split_text_are_listed_by_kernels(batches: list[bool]) -> None:
    program = tidelog.compile(f"""{DECLARED}
        output relation Out(x: string, n: s64)
        Out(x, n) :- In(s, t, n, _, _), var x = FlatMap(split(s, t)).
    """)
    rows = [("a,b,,c", ",", 1, 0, True), ("", ",", 2, 0, True), ("aXXbXX", "XX", 3, 0, True)]
    assert outcome(program, rows) == [("", 1), ("", 2), ("", 3), ("a", 1), ("a", 3), ("b", 1), ("b", 3), ("c", 1)]
    assert all(batches)


def test_python_evaluates_a_batch_that_kernels_give_up(batches: list[bool]) -> None:
    program = tidelog.compile(f"""{DECLARED}
        output relation Out(x: string)
        Out(to_uppercase(s)) :- In(s, _, _, _, _).
    """)
    assert outcome(program, [("straße", "", 0, 0, True), ("a", "", 0, 0, True)]) == [("A",), ("STRASSE",)]
    assert not all(batches)


def test_a_literal_of_type_double_is_a_value_of_a_rule() -> None:
    program = tidelog.compile("""
        input relation In(n: s64, z: double)
        output relation Out(n: s64, z: double)
        Out(n, x) :- In(n, z), var x = if (n > 1) 1.5 else z.
        Out(n, 2.5) :- In(n, z), z == 0.5.
    """)
    assert outcome(program, [(1, 0.5), (2, 0.0)]) == [(1, 0.5), (1, 2.5), (2, 1.5)]
