"""Soufflé programs beyond a batch: clauses that come and go, durable databases, formatting, 64 bits, functors."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import tidelog
from tests.souffle.programs import CASES, Case
from tests.souffle.running import compiled, run
from tidelog.cli.main import tidelog as command
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.souffle.dialect import SOUFFLE, TIDELOG, dialect_of
from tidelog.souffle.format import format_souffle

REACH = """
.decl edge(a: number, b: number)
.input edge
.decl reach(a: number, b: number)
.output reach
reach(a, b) :- edge(a, b).
.decl n(c: number)
.output n
n(c) :- c = count : { reach(_, _) }.
"""


def test_clauses_come_and_go() -> None:
    with tidelog.compile(REACH).open() as database:
        with database.transaction() as tx:
            tx.insert("edge", [(1, 2), (2, 3)])
        with database.transaction() as tx:
            tx.add_rules("reach(a, c) :- reach(a, b), edge(b, c).\nn(-m) :- m = max x : { edge(x, _) }.")
        assert sorted(database.relation("reach").rows()) == [(1, 2), (1, 3), (2, 3)]
        assert sorted(database.relation("n").rows()) == [(-2,), (3,)]
        with database.transaction() as tx:
            tx.remove_rules("n(c) :- c = count : { reach(_, _) }.")
        assert database.relation("n").rows() == [(-2,)]


def test_queries_and_explanations_are_in_the_program_s_language() -> None:
    with tidelog.compile(REACH).open() as database:
        with database.transaction() as tx:
            tx.insert("edge", [(1, 2), (2, 3), (3, 2)])
        assert database.query("reach(x, y), x + 1 = y, !edge(y, x)").rows == [(1, 2)]
        assert "edge(1, 2)" in str(database.explain("reach", (1, 2)))
        with pytest.raises(ProgramError, match="did you mean `reach`"):
            database.query("reac(x, y)")


def test_an_added_clause_is_checked_in_the_program_s_language() -> None:
    with tidelog.compile(REACH).open() as database:
        tx = database.transaction()
        with pytest.raises(ProgramError, match="2 attributes"), tx:
            tx.add_rules("reach(a) :- edge(a, _).")


def test_a_clause_of_a_recomputed_relation_cannot_be_added() -> None:
    text = ".decl s(a: number, b: number) choice-domain a\n.decl l(a: number, b: number)\n.input l\ns(a, b) :- l(a, b).\n"
    with tidelog.compile(text).open() as database:
        tx = database.transaction()
        with pytest.raises(ProgramError, match="choice-domain"), tx:
            tx.add_rules("s(b, a) :- l(a, b).")


def test_a_durable_database_is_opened_without_its_files(tmp_path: Path) -> None:
    (tmp_path / "part.dl").write_text("reach(a, c) :- reach(a, b), edge(b, c).\n", encoding="utf-8")
    main = tmp_path / "main.dl"
    main.write_text(REACH + '.include "part.dl"\n', encoding="utf-8")
    with tidelog.compile(main).open(path=tmp_path / "db") as database, database.transaction() as tx:
        tx.insert("edge", [(1, 2), (2, 3)])
    (tmp_path / "part.dl").unlink()
    main.unlink()
    with tidelog.open(tmp_path / "db") as database:
        with database.transaction() as tx:
            tx.insert("edge", [(3, 4)])
        assert sorted(database.relation("reach").rows())[-1] == (3, 4)
        assert database.relation("n").rows() == [(6,)]


def test_64_bits() -> None:
    text = ".decl r(x: number)\nr(2147483647 + 1).\nr(1 bshl 40).\n"
    with compiled(text, word_bits=64).open() as database:
        assert sorted(database.relation("r").rows()) == [(1 << 31,), (1 << 40,)]


def test_functors_are_python_functions(tmp_path: Path) -> None:
    text = """
    .functor twice(x: number): number
    .functor shout(s: symbol): symbol
    .decl a(x: number, s: symbol)
    a(1, "no"). a(2, "yes").
    .decl b(x: number, s: symbol)
    .output b
    b(@twice(x), @shout(s)) :- a(x, s).
    """
    found, _ = run(text, tmp_path, externs={"twice": lambda x: 2 * x, "shout": str.upper})
    assert found == {"b.csv": ["2\tNO", "4\tYES"]}


def test_a_recomputed_stratum_is_in_the_report() -> None:
    text = ".decl l(a: number, b: number)\n.input l\n.decl s(a: number, b: number) eqrel\ns(a, b) :- s(b, a), l(a, b).\n"
    program = tidelog.compile(text)
    assert program.stages.souffle is not None
    assert program.stages.souffle.recomputed == {"s": "eqrel"}


def test_a_batch_run_reads_files_before_it_derives(tmp_path: Path) -> None:
    (tmp_path / "last.facts").write_text("5\n", encoding="utf-8")
    program = tmp_path / "count.dl"
    program.write_text(
        ".decl last(n: number)\n.input last\n.decl up(n: number)\n.printsize up\n"
        "up(1).\nup(n + 1) :- up(n), !last(n).\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(command, ["run", str(program), "-F", str(tmp_path), "-D", str(tmp_path / "out")])
    assert (result.exit_code, result.output) == (0, "up\t5\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_formatting_keeps_the_program(case: Case, tmp_path: Path) -> None:
    once = format_souffle(Source("<text>", case.text))
    assert format_souffle(Source("<text>", once)) == once
    found, _ = run(once, tmp_path, case.facts)
    assert found == {name: sorted(text.split("\n")) for name, text in case.expect.items()}


def test_records_that_nothing_names_have_the_kinds_of_each_other() -> None:
    text = """
    .decl a(x: number)
    a(1) :- [[1, 2.5], "s"] != [[1, 2], "s"].
    a(x) :- p = [7, [x, y]], [7, q] = p, q = [3, 4], y > 0.
    a(9) :- p = [p], p = [[p]].
    """
    with pytest.raises(ProgramError, match="not grounded"):
        compiled(text)
    with compiled(text.replace("a(9) :- p = [p], p = [[p]].", "")).open() as database:
        assert sorted(database.relation("a").rows()) == [(1,), (3,)]


def test_the_language_is_recognised() -> None:
    assert dialect_of(REACH) == SOUFFLE
    assert dialect_of("// .decl\ninput relation E(x: u8)\n") == TIDELOG
    assert dialect_of("input relation E(x: u8)\n.decl f(x: number)\n") == TIDELOG


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".decl a(x: number)\na(x) :- b(x).", "relation `b` is not declared"),
        (".decl a(x: number)\na(x) :- a(y).", "variable `x` is not grounded"),
        (".decl a(x: number)\na(1, 2).", "has 1 attributes, and 2 arguments"),
        ('.decl a(x: number)\na("s").', "a value is both `symbol` and `number`"),
        (".decl a(x: number)\na(x) :- a(x), !a(x).", "needs itself through negation"),
        (".decl a(x: City)", "type `City` is not declared"),
        (".type A <: symbol\n.type B <: symbol\n.decl a(x: A)\n.decl b(x: B)\na(x) :- b(x).", "is of type `A`"),
        (".decl a(x: number)\n.decl a(y: number)", "relation `a` is declared twice"),
        (".init x = Y", "component `Y` is not declared"),
        (".decl a(x: number)\na(_).", "`_` stands in a head"),
        (".decl a(x: number)\na(1) :- a(2)", "a clause does not end"),
        ("#if 1\n.decl a(x: number)", "`#endif` is missing"),
        (".decl a(x: int)", "`number` is the type for it"),
        (".inputs a", "did you mean `.input`?"),
        (".decl a(x: number)\na(1)\na(2).", "is one missing on the line before?"),
        (".decl a(x: number)\na(x) <- a(x).", "`:-` stands between"),
        (".decl a(x: number)\na(x) :- a(x), x == 1.", "`=` compares"),
        (".decl a(x: number)\na(x) :- a(x), x <> 1.", "`!=` says"),
        (".decl a(x: number)\na(x) :- a(x), not a(1).", "`!` negates"),
        (".decl a(x: number)\na(x) :- a(x) and a(1).", "`,` joins"),
        (".decl a(x: number)\na(x) :- x = count { a(_) }.", "`count : { … }`"),
        ('.decl a(x: number)\na(to_nmber("1")).', "did you mean `to_number`?"),
        (".decl a(x: number) chioce-domain x", "did you mean `choice-domain`?"),
        (".type T = B {}\n.decl a(x: T)\na($B).", "`$B()`"),
        (".decl a(x: number)\n.decl b(x: number) inline no_inline\nb(x) :- x > 1.\na(x) :- a(x), b(x).", "is not grounded"),
        ('.pragma "inline-exclude" "b"\n.decl b(x: number) inline\nb(x) :- x > 1.', "is not grounded"),
    ],
)
def test_a_wrong_program_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as found:
        compiled(text)
    assert message in str(found.value)
