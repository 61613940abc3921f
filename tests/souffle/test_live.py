"""Soufflé programs beyond a batch: clauses that come and go, durable databases, formatting, 64 bits, functors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tidelog
from tests.souffle.programs import CASES, Case
from tests.souffle.running import compiled, run
from tidelog.cli.main import tidelog as command
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.spans import Source
from tidelog.souffle.dialect import SOUFFLE, TIDELOG, dialect_of
from tidelog.souffle.text.format import format_souffle

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


RECOMPUTED = """
.type Pair = [n: number, s: symbol]
.decl e(a: number, b: number)
.input e
.decl q(a: number, p: Pair, u: unsigned, f: float)
.input q
.decl z()
.input z
.decl s(a: number, b: number) choice-domain a
.output s
s(a, b) :- e(a, b).
.decl eq(a: number, b: number) eqrel
.output eq
eq(a, b) :- e(a, b), a < 3.
eq(a, b) :- eq(a, c), e(c, b).
.decl au(a: number, n: number)
.output au
au(a, autoinc()) :- e(a, _).
.decl best(a: number, b: number)
.output best
best(a, b) :- e(a, b).
best(a, c) :- best(a, b), e(b, c).
best(a, b) <= best(a, c) :- b < c.
.decl above(a: number)
.output above
above(a) :- s(a, _), !eq(a, 1).
"""


def test_clauses_of_recomputed_relations_come_and_go(tmp_path: Path) -> None:
    _clauses_come_and_go("local", tmp_path, {})


@pytest.mark.spark
def test_clauses_of_recomputed_relations_come_and_go_on_spark(tmp_path: Path, spark: Any) -> None:
    _clauses_come_and_go("spark", tmp_path, {"spark": spark})


def _clauses_come_and_go(engine: str, tmp_path: Path, options: dict[str, Any]) -> None:
    program = compiled(RECOMPUTED)
    pair = program.types.Pair
    clauses = [
        's(a, n) :- q(a, [n, "y"], _, _).',
        "s(20, 1) :- z().",
        'eq(c, a) :- q(a, [c, x], u, f), x = cat("x", ""), u < 4, f > 1.0.',
        "best(a, n) :- n = count : { q(_, _, _, _) }, above(a).",
        "best(a, b) <= best(a, c) :- b + 100 < c.",
    ]
    removed = ["best(a, b) <= best(a, c) :- b < c.", "eq(a, b) :- eq(a, c), e(c, b)."]
    text = RECOMPUTED
    for clause in removed:
        assert clause in text
        text = text.replace(clause, "")
    names = ("s", "eq", "best", "above")
    with program.open(engine, path=tmp_path / "db", **options) as database:
        with database.transaction() as tx:
            tx.insert("e", [(1, 2), (2, 3), (5, 6)])
            tx.insert("q", [(7, pair(8, "x"), 3, 1.5), (7, pair(9, "y"), 3, 1.5)])
        first = {name: sorted(database.relation(name).rows()) for name in names}
        with database.transaction() as tx:
            tx.add_rules("\n".join(clauses))
            # The names of variables make no difference.
            tx.remove_rules("best(x, y) <= best(x, z) :- y < z.\n" + removed[1])
        with database.transaction() as tx:
            tx.insert("z", [()])
    with program.open(engine, path=tmp_path / "db", **options) as database:
        with database.transaction() as tx:
            tx.delete("e", [(2, 3)])
        found = {name: sorted(database.relation(name).rows()) for name in names}
        with compiled(text + "\n".join(clauses)).open() as fresh:
            with fresh.transaction() as tx:
                for name in ("e", "q", "z"):
                    tx.insert(name, database.relation(name).rows())
            assert found == {name: sorted(fresh.relation(name).rows()) for name in names}
        with database.transaction() as tx:
            tx.remove_rules("\n".join(clauses))
            tx.add_rules("\n".join(removed))
            tx.insert("e", [(2, 3)])
            tx.delete("z", [()])
        assert {name: sorted(database.relation(name).rows()) for name in names} == first
        assert removed[0] in database.rules()
        assert clauses[0] not in database.rules()


def test_numbers_of_an_added_clause_stay() -> None:
    with compiled(RECOMPUTED).open() as database:
        with database.transaction() as tx:
            tx.insert("e", [(1, 2), (2, 3)])
        before = set(database.relation("au").rows())
        with database.transaction() as tx:
            tx.add_rules("au(b, autoinc()) :- e(_, b), b > 2.")
        assert before < set(database.relation("au").rows())
        assert len({number for _, number in database.relation("au").rows()}) == 3


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("eq(a, b) :- above(a), above(b).", "`eq` and `above` would need each other"),
        ("above(autoinc()) :- e(_, _).", "`above` has no counters"),
        ("above(a) <= above(b) :- a < b.", "`above` is not recomputed as a whole"),
        ("above(to_number(to_string(recursive_iteration_cnt()))) :- e(_, _).", "the number of a round"),
    ],
)
def test_clauses_that_need_another_kind_of_stratum_are_refused(clause: str, message: str) -> None:
    with compiled(RECOMPUTED).open() as database:
        tx = database.transaction()
        with pytest.raises(ProgramError, match=message), tx:
            tx.add_rules(clause)


def test_a_removed_clause_leaves_what_other_clauses_share_with_it() -> None:
    text = """
    .decl e(a: number, b: number)
    .input e
    .decl n(c: number, k: symbol)
    .output n
    n(c, "a") :- c = count : { e(_, _) }.
    n(c, "b") :- c = count : { e(_, _) }.
    n(a, "c") :- e(a, _), e(_, _), e(_, 3).
    .decl m(a: number)
    .output m
    m(b) :- e(_, b), e(_, _).
    """
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("e", [(1, 2), (2, 3)])
        with database.transaction() as tx:
            tx.remove_rules('n(c, "a") :- c = count : { e(_, _) }.\nn(a, "c") :- e(a, _), e(_, _), e(_, 3).')
        assert sorted(database.relation("n").rows()) == [(2, "b")]
        assert sorted(database.relation("m").rows()) == [(2,), (3,)]
        with database.transaction() as tx:
            tx.remove_rules('n(c, "b") :- c = count : { e(_, _) }.')
            tx.add_rules('n(c + 1, "d") :- c = count : { e(_, _) }.')
        assert database.relation("n").rows() == [(3, "d")]


def test_a_changed_clause_of_a_recomputed_relation_is_another_program(tmp_path: Path) -> None:
    with compiled(RECOMPUTED).open(path=tmp_path / "db") as database, database.transaction() as tx:
        tx.insert("e", [(1, 2), (2, 3)])
    changed = compiled(RECOMPUTED.replace("best(a, b) <= best(a, c) :- b < c.", "best(a, b) <= best(a, c) :- b > c."))
    with pytest.raises(UsageError, match="differs"):
        changed.open(path=tmp_path / "db")
    with changed.open(path=tmp_path / "db", migrate=True) as database:
        assert sorted(database.relation("best").rows()) == [(1, 2), (2, 3)]


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


def test_a_file_with_pragma_once_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "types.dl").write_text(
        "#pragma once\n.decl edge(a: number, b: number)\n.input edge\n", encoding="utf-8"
    )
    (tmp_path / "more.dl").write_text('#include "types.dl"\n.decl twice(a: number)\n', encoding="utf-8")
    main = tmp_path / "main.dl"
    main.write_text(
        '#include "types.dl"\n#include "more.dl"\n.output twice\ntwice(a) :- edge(a, _), edge(_, a).\n',
        encoding="utf-8",
    )
    with tidelog.compile(main).open(path=tmp_path / "db") as database, database.transaction() as tx:
        tx.insert("edge", [(1, 2), (2, 3)])
    with tidelog.open(tmp_path / "db") as database:
        assert database.relation("twice").rows() == [(2,)]


def test_macros_from_outside_stay_with_the_database(tmp_path: Path) -> None:
    text = (
        "#ifdef WIDE\n.decl r(a: number, b: number)\nr(WIDE, 2).\n#else\n.decl r(a: number)\nr(1).\n#endif\n.output r\n"
        ".decl e(a: number)\n.input e\nr(a, a) :- e(a).\n"
    )
    with pytest.raises(ProgramError):
        tidelog.compile(text)
    with tidelog.compile(text, macros={"WIDE": "7"}).open(path=tmp_path / "db") as database:
        assert database.relation("r").rows() == [(7, 2)]
    with tidelog.open(tmp_path / "db") as database, database.transaction() as tx:
        tx.insert("e", [(3,)])
    with tidelog.open(tmp_path / "db") as database:
        assert sorted(database.relation("r").rows()) == [(3, 3), (7, 2)]
    program = tmp_path / "wide.dl"
    program.write_text(text.replace(".input e\n", ""), encoding="utf-8")
    result = CliRunner().invoke(command, ["run", str(program), "-M", "WIDE=4", "-D", str(tmp_path)])
    assert result.exit_code == 0
    assert (tmp_path / "r.csv").read_text(encoding="utf-8") == "4\t2\n"
    assert CliRunner().invoke(command, ["check", str(program), "-M", "WIDE=4"]).exit_code == 0
    assert "NAME=TEXT" in CliRunner().invoke(command, ["check", str(program), "-M", "3=4"]).output


def test_a_functor_that_is_missing_is_named_before_anything_runs() -> None:
    recomputed = ".functor f(x: number): number\n.decl a(x: number) choice-domain x\n.output a\na(@f(1)).\n"
    bound = (
        ".functor up(a: number, b: number): number\n.lattice number<> { Bottom -> 0, Lub -> @up(_, _) }\n"
        ".decl b(x: number<>)\n.output b\nb(1)."
    )
    for text, name in ((recomputed, "f"), (bound, "up")):
        with pytest.raises(UsageError) as error:
            compiled(text)
        assert f"extern function `{name}` has no Python function" in str(error.value)


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
    text = (
        ".decl l(a: number, b: number)\n.input l\n.decl s(a: number, b: number) eqrel\ns(a, b) :- s(b, a), l(a, b).\n"
    )
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
        (".decl a(x: number) btre\na(1).", "`btre` is no qualifier; did you mean `btree`?"),
        (".decl a(x: symbol)\na('abc').", "stands between double quotes"),
        (".decl a(x: number)\n?- a(x).", "`.output R` writes the rows"),
        (".Decl a(x: number)", "did you mean `.decl`?"),
        (".type T = A {} | B {}\n.decl a(x: T)\na($C()).", "the branches are `$A`, `$B`"),
        (".decl a(x: number)\na(2147483648).", "the constant 2147483648 is no `number` of 32 bits"),
        (".decl a(x: number)\na(0xFFFFFFFF).", "`--word-bits 64`"),
        (".decl a(x: unsigned)\na(-1).", "`as(-1, unsigned)` has the same bits"),
        (".decl s(x: symbol)\n.decl a(x: number)\na(1) :- s(x), x < 3.", "a value is both `number` and `symbol`"),
        (
            ".decl b(x: number) inline\n.decl a(x: number)\nb(x) :- b(x).\na(x) :- b(x).",
            "inline relation `b` needs itself",
        ),
        (".type T = B {}\n.decl a(x: T)\na($B).", "`$B()`"),
        (
            ".decl a(x: number)\n.decl b(x: number) inline no_inline\nb(x) :- x > 1.\na(x) :- a(x), b(x).",
            "is not grounded",
        ),
        ('.pragma "inline-exclude" "b"\n.decl b(x: number) inline\nb(x) :- x > 1.', "is not grounded"),
    ],
)
def test_a_wrong_program_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as found:
        compiled(text)
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("clause", "place", "message"),
    [
        ("a(x) :- a(x), !a(y).", "2:18", "variable `y` is not grounded"),
        ("a(x) :- a(x), x < y + 1.", "2:19", "variable `y` is not grounded"),
        ("a(x) :- a(x), 1 = count : { a(z), z < y }.", "2:39", "variable `y` is not grounded"),
        ("a(1) :- x = y, y = x.", "2:9", "variable `x` is not grounded"),
    ],
)
def test_a_variable_that_is_not_grounded_is_marked_itself(clause: str, place: str, message: str) -> None:
    with pytest.raises(ProgramError) as found:
        compiled(f".decl a(x: number)\n{clause}")
    assert message in str(found.value)
    assert f"<text>:{place}" in str(found.value)


def test_behind_a_text_without_an_end_nothing_is_reported() -> None:
    with pytest.raises(ProgramError) as found:
        compiled('.decl a(x: symbol)\na("abc).\na(1)')
    assert [each.code.value for each in found.value.diagnostics] == ["E103"]


def test_constants_are_those_that_the_words_have_room_for() -> None:
    text = ".decl a(x: number, y: unsigned)\n.output a\na(-2147483648, 4294967295). a(0x7FFFFFFF, 0xFFFFFFFF)."
    with compiled(text).open() as database:
        assert sorted(database.relation("a").rows()) == [(-(1 << 31), (1 << 32) - 1), ((1 << 31) - 1, (1 << 32) - 1)]
    wide = ".decl a(x: number)\n.output a\na(2147483648)."
    with compiled(wide, word_bits=64).open() as database:
        assert database.relation("a").rows() == [(1 << 31,)]


def test_ordinals_are_small_and_unique_in_64_bits() -> None:
    text = """
    .decl n(x: number)
    n(x) :- x = range(0, 3000).
    .decl named(s: symbol, o: number)
    named(s, ord(s)) :- n(x), s = cat("v", to_string(x)).
    """
    with compiled(text, word_bits=64).open() as database:
        ordinals = [row[1] for row in database.relation("named").rows()]
        assert sorted(ordinals) == [*range(3000)], "they come from the table"


def test_queries_have_parameters_nil_and_inline_relations() -> None:
    text = """
    .type List = [head: number, tail: List]
    .type Shape = Circle {r: float} | Empty {}
    .decl list(x: List, n: number)
    .input list
    .decl shape(x: Shape, name: symbol)
    .input shape
    .decl two(a: symbol, b: symbol) inline
    two(a, b) :- e(a, c), e(c, b).
    .decl either(a: symbol, b: symbol) inline
    either(a, b) :- e(a, b).
    either(a, b) :- e(b, a).
    .decl e(a: symbol, b: symbol)
    .input e
    """
    program = compiled(text)
    types = program.types
    nil, one = types["List.nil"](), types.List(1, types["List.nil"]())
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("e", [("a", "b"), ("b", "c")])
            tx.insert("list", [(nil, 0), (one, 1)])
            tx.insert("shape", [(types.Circle(1.5), "c"), (types.Empty(), "e")])
        ask = database.query
        assert ask("list(nil, n)").rows == [(0,)]
        assert ask("list([x, nil], n)").columns == ("n", "x")
        assert ask("list($l, n).", params={"l": one}).rows == [(1,)]
        assert ask("list(_, n), n > $n", params={"n": 0}).rows == [(1,)]
        assert ask("shape($Circle($r), x)", params={"r": 1.5}).rows == [("c",)]
        assert ask("x = to_string(as($n, unsigned)) ", params={"n": 7}).rows == [("7",)]
        assert (ask("two($a, x)", params={"a": "a"}).columns, ask("two(x, _)").rows) == (("x",), [("a",)])
        with pytest.raises(ProgramError, match=r"a branch has parentheses: `\$Empty\(\)`"):
            ask("shape($Empty, x)")
        with pytest.raises(ProgramError, match="no value is given for the parameter `\\$a`"):
            ask("e($a, x)")
        with pytest.raises(ProgramError, match="2 conjunctions"):
            ask("either(x, y)")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("1 == 1 && defined(N)", True),
        ("defined N && (2 > 3) || N == 3 && M(2) == 2", True),
        ("6 & ~4 == ~4", False),
        ("N > 3 ? 1 : N < 4", True),
        ("1 ? 0 : 1", False),
    ],
)
def test_conditions_of_the_preprocessor(condition: str, holds: bool) -> None:
    text = f"#define N 3\n#define M(x) x\n#if {condition}\n.decl a(x: number)\n#else\n.decl b(x: number)\n#endif\n"
    program = compiled(text).stages.souffle
    assert program is not None
    assert ("a" in program.declared.relations) is holds


def test_numbers_in_json_have_the_digits_that_they_need(tmp_path: Path) -> None:
    text = """
    .decl f(x: float)
    f(0.1). f(100000.0). f(1000000.0). f(1234567.0). f(-0.25). f(1.0 / 3.0). f(as(1, float)).
    .output f(IO=jsonfile, format="list")
    """
    lines, _ = run(text, tmp_path)
    found = {line.strip("[],") for line in lines["f.json"]}
    assert found == {"0.1", "100000", "1e+06", "1234567", "-0.25", "0.333333343", "1"}


def test_the_shell_takes_names_and_values_of_the_language(tmp_path: Path) -> None:
    path = tmp_path / "main.dl"
    path.write_text(
        """
        .type L = [h: number, t: L]
        .type T = A {x: number, l: L} | B {}
        .comp C<X> { .decl e(a: X, b: X)  .input e  .decl p(a: X)  .output p  p(b) :- e(_, b). }
        .init c = C<number>
        .decl l(x: L, t: T)
        .input l
        .output l
        """,
        encoding="utf-8",
    )
    commands = """
    start; insert c.e(1, 2), insert l.facts([1, [2, nil]], $A(3, nil)), insert l.facts(nil, $B());
    add_rule c.p(a) :- c.e(a, _);
    commit;
    dump c.p; query l([h, _], $A(x, nil)); rules; explain c.p(1);
    start; insert l(nil, $B());
    """
    done = CliRunner().invoke(command, ["shell", str(path)], input=commands)
    shown = "c.p{.a = 1}\nc.p{.a = 2}\n{.h = 1, .x = 3}\np(b) :- e(_, b).\nc.p(a) :- c.e(a, _).\nc.p(1)\n"
    assert shown in done.stdout
    assert "its facts are in `l.facts`" in done.stderr


def test_explain_reads_the_files_that_the_program_names(tmp_path: Path) -> None:
    path = tmp_path / "main.dl"
    text = '.decl road(a: symbol, w: WORD)\n.input road(filename="r.csv", delimiter=",", headers=true)\n'
    text += ".decl far(a: symbol, w: WORD)\n.output far\nfar(a, w) :- road(a, w), w > 4000000000.\n"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "r.csv").write_text("town,w\nulm,5000000000\n", encoding="utf-8")
    options = ["--dialect", "souffle", "--word-bits", "64", "-M", "WORD=number"]
    done = CliRunner().invoke(
        command, ["explain", str(path), "-F", str(tmp_path), 'far("ulm", 5000000000)', *options], catch_exceptions=False
    )
    assert '├─ road("ulm", 5000000000)   input' in done.stdout
    for stage in ("ast", "types", "rules"):
        done = CliRunner().invoke(command, ["show", str(path), "--stage", stage, *options], catch_exceptions=False)
        assert "w: s64" in done.stdout or "signed<64>" in done.stdout
    done = CliRunner().invoke(
        command, ["shell", str(path), *options], input='start; insert road("a", 5000000000); commit;'
    )
    assert done.exit_code == 0


def test_a_durable_database_keeps_the_macros(tmp_path: Path) -> None:
    text = ".decl a(x: number)\n.input a\n.decl b(x: number)\n.output b\nb(x) :- a(x), x > LIMIT.\n"
    with compiled(text, macros={"LIMIT": "3"}).open(path=tmp_path / "db") as database, database.transaction() as tx:
        tx.insert("a", [(3,), (4,)])
    with tidelog.open(tmp_path / "db") as database:
        with database.transaction() as tx:
            tx.insert("a", [(2,), (5,)])
        assert sorted(database.relation("b").rows()) == [(4,), (5,)]
    with pytest.raises(UsageError, match="LIMIT"):
        compiled(text, macros={"LIMIT": "4"}).open(path=tmp_path / "db")


def test_a_witness_stands_inside_an_aggregate_inside_another_one(tmp_path: Path) -> None:
    text = """
    .decl a(x: number, y: number)
    a(2, 1). a(2, 2). a(7, 1).
    .decl b(x: number, w: number)
    b(1, 10). b(1, 11). b(3, 12).
    .decl r(n: number, w: number)
    r(n, w) :- n = count : { a(x, _), x > min y : { b(y, w) } }.
    .decl s(n: number, w: number)
    s(n, w) :- n = sum x : { a(x, _), x > max y : { b(y, w) } }.
    .decl t(n: number, x: number)
    t(n, x) :- a(x, _), n = count : { b(y, _), y < max z : { a(x, z) } }.
    .output r, s, t
    """
    lines, _ = run(text, tmp_path)
    assert lines == {"r.csv": ["2\t10", "2\t11"], "s.csv": ["7\t12"], "t.csv": ["0\t7", "1\t2"]}
