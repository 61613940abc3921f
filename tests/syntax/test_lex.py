"""Words, numbers, strings and comments."""

from __future__ import annotations

import pytest

from tidelog.diagnostics.spans import Source
from tidelog.syntax.lex import lex
from tidelog.syntax.tokens import Kind


def texts(text: str) -> list[str]:
    tokens, diagnostics = lex(Source("p.dl", text))
    assert diagnostics == []
    assert tokens[-1].kind is Kind.END
    return [token.text for token in tokens[:-1]]


def kinds(text: str) -> list[Kind]:
    return [token.kind for token in lex(Source("p.dl", text))[0][:-1]]


def test_the_longest_operator_is_taken() -> None:
    words = texts("a:-b++c<=d=>e==f->g<<h::i")
    assert " ".join(words) == "a :- b ++ c <= d => e == f -> g << h :: i"


def test_a_closing_angle_is_always_a_token_of_its_own() -> None:
    assert texts("Vec<Vec<u8>>= x>>1") == ["Vec", "<", "Vec", "<", "u8", ">", ">", "=", "x", ">", ">", "1"]


def test_a_token_knows_where_it_stands() -> None:
    source = Source("p.dl", "  Edge ( x )")
    assert [source.text[token.start : token.end] for token in lex(source)[0]] == ["Edge", "(", "x", ")", ""]


def test_line_comments_end_with_their_line() -> None:
    assert texts("a // b /* c\nd") == ["a", "d"]


def test_block_comments_nest() -> None:
    assert texts("a /* b /* c */ d */ e") == ["a", "e"]


def test_a_comment_inside_a_string_is_text() -> None:
    assert texts('"a // b" c') == ['"a // b"', "c"]


@pytest.mark.parametrize("number", ["10", "1_000", "'hff", "8'hff", "8'sd5", "16'b1010_1010", "'so17", "128'd7"])
def test_every_form_of_an_integer_is_one_token(number: str) -> None:
    assert texts(f"{number} x") == [number, "x"]
    assert kinds(number) == [Kind.INTEGER]


@pytest.mark.parametrize("number", ["1.5", "2e3", "1.5e-7", "32'f1.5"])
def test_floating_point_numbers_are_known(number: str) -> None:
    assert kinds(number) == [Kind.FLOAT]


def test_the_dot_behind_a_number_ends_the_rule() -> None:
    assert texts("x == 1.") == ["x", "==", "1", "."]


def test_a_quote_before_a_capital_letter_is_no_number() -> None:
    assert texts("'A S'") == ["'", "A", "S", "'"]


def test_the_forms_of_strings() -> None:
    text = r'"a\"b" [|raw "x"|] $[|t ${x}|] i"interned" i[|interned|] i$[|interned|]'
    plain = [Kind.STRING, Kind.RAW, Kind.TEMPLATE]
    assert kinds(text) == plain + [kind for each in plain for kind in (Kind.INTERNED, each)]


def test_a_string_goes_over_a_line_end_only_through_a_gap() -> None:
    assert texts('"a\\\n   \\b"') == ['"a\\\n   \\b"']


def test_words_are_told_apart() -> None:
    assert kinds("Edge edge _x relation self if i _") == [
        Kind.UPPER,
        Kind.LOWER,
        Kind.LOWER,
        Kind.KEYWORD,
        Kind.RESERVED,
        Kind.KEYWORD,
        Kind.LOWER,
        Kind.KEYWORD,
    ]


def test_words_that_are_not_reserved_are_names() -> None:
    assert kinds("index primary key on group_by") == [Kind.LOWER] * 5


def test_strange_characters_are_reported_once_per_run_and_the_scan_goes_on() -> None:
    tokens, diagnostics = lex(Source("p.dl", "a €§€ b £ c"))
    assert [token.text for token in tokens if token.kind is Kind.LOWER] == ["a", "b", "c"]
    assert [str(each.span) for each in diagnostics] == ["p.dl:1:3", "p.dl:1:9"]


def test_a_lone_surrogate_in_a_string_is_refused() -> None:
    _, diagnostics = lex(Source("p.dl", '"\ud800"'))
    assert [each.message for each in diagnostics] == ["unexpected character U+D800"]
