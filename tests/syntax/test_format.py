"""The standard layout: same tree, same comments, and formatted twice is formatted once."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidelog
from tests.syntax.programs import EVERYTHING
from tests.syntax.trees import programs
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax import ast
from tidelog.syntax.format import format_program
from tidelog.syntax.lex import comments, lex
from tidelog.syntax.parse import parse
from tidelog.syntax.show import show


def formatted(text: str) -> str:
    return format_program(Source("p.dl", text))


def stays(text: str) -> None:
    assert formatted(dedent(text).lstrip("\n")) == dedent(text).lstrip("\n")


def becomes(before: str, after: str) -> None:
    assert formatted(dedent(before)) == dedent(after).lstrip("\n")


def test_a_short_rule_goes_on_one_line() -> None:
    becomes("R( x,y ):-A(x),\n   B(y) .", "R(x, y) :- A(x), B(y).\n")


def test_a_body_that_begins_on_a_new_line_keeps_a_line_for_each_literal() -> None:
    stays("""
        R(x, y) :-
            A(x),
            B(y).
    """)


def test_a_long_rule_is_broken_at_its_literals() -> None:
    stays("""
        Reach(source, destination) :-
            Reach(source, an_intermediate_node),
            Edge(an_intermediate_node, destination),
            not Blocked(destination).
    """)
    text = "Reach(source, destination) :- Reach(source, an_intermediate_node), Edge(an_intermediate_node, destination)."
    assert formatted(text).count("\n") == 3


def test_lists_break_at_their_elements_and_strings_never() -> None:
    becomes(
        f'R(f(first_argument, "{"x" * 80}", third_argument)).',
        f"""
        R(
            f(
                first_argument,
                "{"x" * 80}",
                third_argument
            )
        ).
        """,
    )


def test_functions_control_and_closures() -> None:
    stays("""
        #[has_side_effects]
        function classify(v: Vec<u8>, limit: mut u8): string {
            var total = 0;
            for (x in v) {
                if (x > limit) { continue };
                total = total + x
            };

            var name = match (total) {
                0 -> "none",
                1 -> "one",
                _ -> { "many" }
            };
            v.map(|x| {
                x + 1
            });
            if (total == 0) {
                name
            } else if (total == 1) {
                "just ${name}"
            } else {
                return "${total}"
            }
        }
    """)


def test_types_relations_and_the_rest() -> None:
    stays("""
        import net::ipv4 as v4

        #[size = 8]
        extern type Regex
        typedef Shape = Circle{radius: u8} | Square{side: u8} | Point
        typedef Color =
            Red
            | Green
            | Other{name: string}
        typedef Pair<'A, 'B> = Pair{first: 'A, second: 'B}
        input relation &Host(id: u64, name: string) primary key (h) h.id
        output multiset People[Person]
        index ById(id: u64) on Host(.id = id)
        extern transformer SCC(E: relation['E], from: function(e: 'E): 'N) -> (L: relation[('N, 'N)])
        apply SCC(Edges, from) -> (Labels)
        extern function hash(s: string): u64
        function twice(x: u8): u8 = x + x
        for (h in Host if h.id > 0) {
            var n = h.name in
            Named(n);
            if (n == "")
                skip
            else match (h.id) {
                1 -> First(h),
                _ -> skip
            }
        }
    """)


def test_comments_stay_with_what_they_are_about() -> None:
    stays("""
        // The first line.

        /* A block
           of two lines. */
        input relation A(x: u8) // behind
        R(x) :-
            // before the literal
            A(x), // behind the literal
            x > 1 /* inside */,

            /* on the same line */ x < 5.
        // before the function
        function f(
            x: u8, // the first
            y: u8
            // the last
        ): u8 {
            // first
            x; // behind
            {
                // nothing
            };
            v
                .map(f) // one
                .filter(g) // two
                .count() // three
            // at the end
        }
        typedef T =
            A // a
            // before b
            | B
            | C // c

        // the end
    """)


def test_a_comment_in_an_odd_place_moves_to_the_end_of_what_it_is_in() -> None:
    becomes("R(x) :- x == /* why */ y, A(x).", "R(x) :- x == y /* why */, A(x).\n")
    becomes(
        "R(x) :- x == // why\n y, A(x).",
        """
        R(x) :-
            x == y, // why
            A(x).
        """,
    )


def test_at_most_one_empty_line_stays_and_none_at_the_ends() -> None:
    becomes("\n\nA(1).\n\n\n\nA(2).\nA(3).\n\n\n", "A(1).\n\nA(2).\nA(3).\n")


def test_literals_keep_their_spelling() -> None:
    stays("""
        R(1_000, 'hFF, 8'sd5, 1.50, 2E3, "a\\x41", [|raw|], "x${a+b}", i"interned", "one" "two").
    """)


def test_a_text_of_several_lines_is_left_as_it_is() -> None:
    text = "R([|one\n      two  \n|], 1).\n"
    assert formatted(text) == text


def test_an_empty_file_stays_empty() -> None:
    assert formatted("") == ""
    assert formatted("\n  \n") == ""
    assert formatted("// only this") == "// only this\n"


def test_a_text_that_does_not_parse_is_refused() -> None:
    with pytest.raises(ProgramError):
        formatted("R(x :- A(x).")


def test_everything_is_formatted_once_and_for_all() -> None:
    text = formatted(EVERYTHING)
    assert formatted(text) == text
    assert parse(Source("a.dl", text)) == parse(Source("b.dl", EVERYTHING))
    assert max(len(line) for line in text.splitlines()) <= 100


LIBRARY = sorted(Path(tidelog.__file__).parent.joinpath("library").rglob("*.dl"))


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_the_modules_of_the_library_are_formatted_without_loss(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    once = formatted(text)
    assert formatted(once) == once
    assert parse(Source("a.dl", once)) == parse(Source("b.dl", text))
    assert parse(Source("a.dl", show(parse(Source("b.dl", text))))) == parse(Source("b.dl", text))
    remarks = [[each.text.rstrip() for each in comments(Source("p.dl", each))] for each in (text, once)]
    assert remarks[0] == remarks[1]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs)
def test_generated_programs_are_formatted_without_loss(tree: ast.Program) -> None:
    text = show(tree)
    once = formatted(text)
    assert formatted(once) == once
    assert parse(Source("a.dl", once)) == tree


def test_a_function_that_is_too_long_breaks_its_body_before_its_parameters() -> None:
    text = "function a_rather_long_name(first: string, second: string): string { first ++ second ++ first ++ second }"
    assert formatted(text) == (
        "function a_rather_long_name(first: string, second: string): string {\n"
        "    first ++ second ++ first ++ second\n"
        "}\n"
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_comments_anywhere_are_kept_and_settle_at_once(data: st.DataObject) -> None:
    # Not behind a dot, which would end a rule, and not inside `>>` or `i""`.
    tokens = [token for token in lex(Source("p.dl", EVERYTHING))[0] if EVERYTHING[token.start - 1] not in ".>i"]
    text = EVERYTHING
    places = data.draw(st.lists(st.sampled_from(tokens), min_size=1, max_size=6, unique=True))
    for number, token in enumerate(sorted(places, key=lambda token: -token.start)):
        remark = data.draw(st.sampled_from([" // {}\n", "\n// {}\n", " /* {} */ ", "\n/* {} */\n", "/* {}\n\n */"]))
        text = text[: token.start] + remark.format(f"remark {number}") + text[token.start :]
    once = formatted(text)
    assert formatted(once) == once
    assert sorted(re.findall(r"remark \d", once)) == sorted(re.findall(r"remark \d", text))
    assert len(comments(Source("p.dl", once))) == len(comments(Source("p.dl", text)))
