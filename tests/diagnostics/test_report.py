"""Rendering of diagnostics: alignment, several labels, long and strange lines."""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, Label, diagnostic
from tidelog.diagnostics.spans import Source, Span


def span(source: Source, word: str) -> Span:
    start = source.text.index(word)
    return Span(source, start, start + len(word))


def lines(found: Diagnostic) -> list[str]:
    return found.render().split("\n")


def test_the_mark_stands_under_its_words() -> None:
    source = Source("p.dl", "one two three\n")
    assert lines(diagnostic(Code.UNEXPECTED_TOKEN, "bad", span(source, "two"), "here")) == [
        "error[E101]: bad",
        "  --> p.dl:1:5",
        "   |",
        " 1 | one two three",
        "   |     ^^^ here",
    ]


def test_tabs_and_wide_characters_keep_the_mark_in_place() -> None:
    source = Source("p.dl", "\t日本 here\n")
    shown = lines(diagnostic(Code.UNEXPECTED_TOKEN, "bad", span(source, "here"), ""))
    assert shown[3:] == [" 1 |     日本 here", "   |          ^^^^"]


def test_control_characters_are_not_printed() -> None:
    source = Source("p.dl", "a\x1b[31mb\n")
    assert "\x1b" not in diagnostic(Code.UNEXPECTED_TOKEN, "bad", span(source, "b"), "").render()


def test_related_places_are_drawn_in_the_order_of_the_text_with_a_gap_between() -> None:
    source = Source("p.dl", "first\nsecond\nthird\nfourth\n")
    found = diagnostic(
        Code.UNEXPECTED_TOKEN,
        "bad",
        span(source, "fourth"),
        "here",
        related=[(span(source, "first"), "one"), (span(source, "second"), "two")],
        notes=["a note"],
        help="a help",
    )
    assert lines(found)[2:] == [
        "   |",
        " 1 | first",
        "   | ----- one",
        " 2 | second",
        "   | ------ two",
        "...",
        " 4 | fourth",
        "   | ^^^^^^ here",
        "   |",
        "   = note: a note",
        "   = help: a help",
    ]


def test_labels_of_a_walk_keep_their_order() -> None:
    source = Source("p.dl", "first\nsecond\n")
    labels = (Label(span(source, "second"), "start", primary=True), Label(span(source, "first"), "then"))
    assert lines(Diagnostic(Code.NEGATIVE_CYCLE, "bad", labels))[3:] == [
        " 2 | second",
        "   | ^^^^^^ start",
        "...",
        " 1 | first",
        "   | ----- then",
    ]


def test_a_place_in_another_source_names_it() -> None:
    source, other = Source("p.dl", "first\n"), Source("q.dl", "second\n")
    found = diagnostic(
        Code.UNEXPECTED_TOKEN, "bad", span(source, "first"), "here", related=[(span(other, "second"), "there")]
    )
    assert lines(found)[3:] == [
        " 1 | first",
        "   | ^^^^^ here",
        "  ::: q.dl:1:1",
        "   |",
        " 1 | second",
        "   | ------ there",
    ]


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    source = Source("p.dl", "one two\nthree\n")
    assert lines(diagnostic(Code.UNEXPECTED_TOKEN, "bad", Span(source, 4, 13), "here"))[-1] == "   |     ^^^ here"


def test_the_end_of_a_text_without_a_line_end_can_be_marked() -> None:
    source = Source("p.dl", "abc")
    assert lines(diagnostic(Code.UNEXPECTED_TOKEN, "bad", Span(source, 3, 3), "here"))[-1] == "   |    ^ here"


def test_a_very_long_line_is_cut_around_the_mark() -> None:
    source = Source("p.dl", "x" * 5000 + "HERE" + "y" * 5000)
    shown = lines(diagnostic(Code.UNEXPECTED_TOKEN, "bad", span(source, "HERE"), ""))
    assert len(shown[3]) < 140
    mark = shown[4]
    assert shown[3][mark.index("^") : mark.rindex("^") + 1] == "HERE"


def test_the_gutter_grows_with_the_line_numbers() -> None:
    source = Source("p.dl", "\n" * 99 + "here")
    assert lines(diagnostic(Code.UNEXPECTED_TOKEN, "bad", span(source, "here"), "")) == [
        "error[E101]: bad",
        "    --> p.dl:100:1",
        "     |",
        " 100 | here",
        "     | ^^^^",
    ]
