"""Whatever the text is, the front end answers with a program or with diagnostics that can be printed."""

from __future__ import annotations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.syntax.programs import EVERYTHING
from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.format import format_program
from tidelog.syntax.parse import parse
from tidelog.syntax.show import show
from tidelog.syntax.tokens import KEYWORDS, OPERATORS, RESERVED

PROGRAM = r"""
input relation Edge(src: string, dst: string)
input relation Cost(src: string, cost: bit<12>, delta: s16)
output relation Reach(src: string, dst: string)
relation Flag()
/* a comment /* inside */ another */
Reach(x, y) :- Edge(x, y). // direct
Reach(x, z) :- Reach(x, y), Edge(.src = y, .dst = z), not Edge(z, _), x != "a${y ++ \"b\"}c".
Reach("n${c[11:4]}", x) :- Cost(x, c, d), var e: s16 = d + -5, e >= 16'sh7f, not Flag(), if (c > 3) true else {d == 1}.
Cost(x, 12'hfff, 0 - 3), Flag() :- Edge(x, x), Cost(_, _, d), Cost(x, 1'b1 ++ 11'd3, (d as s32 * 7) as s16), "" < x.
"""
WORDS = [*sorted(KEYWORDS), *sorted(RESERVED), *OPERATORS]
WORDS += ["x", "y", "Edge", "Cost", "1", "8'hff", '"s"', '"${', "[|", "/*", "\\", ">>", ">=", "1.5", 'i"s"', "m::"]


def answers(text: str) -> None:
    """Compiles and prints what is wrong; anything but a ProgramError goes through as a failure of the test."""
    try:
        compile_program(Source("p.dl", text))
    except ProgramError as error:
        printed = str(error)
    else:
        printed = "error[E"
    assert printed.startswith("error[E")


def test_the_program_that_is_mutated_is_right() -> None:
    compile_program(Source("p.dl", PROGRAM))


@settings(max_examples=700, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    answers(data.decode("utf-8", errors="replace"))
    answers(data.decode("latin-1"))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_random_words(words: list[str]) -> None:
    answers(" ".join(words))
    answers("Edge(x, y) :- " + " ".join(words) + ".")


def mutated(data: st.DataObject, text: str) -> str:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.sampled_from([0, 1, 2, 7, 60])))
        text = text[:start] + data.draw(st.sampled_from(["", " ", *WORDS]) | st.text(max_size=3)) + text[end:]
    return text


@settings(max_examples=1000, deadline=None)
@given(st.data())
def test_mutated_programs(data: st.DataObject) -> None:
    answers(mutated(data, PROGRAM))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_programs_of_the_whole_grammar_are_read_and_shown_or_refused(data: st.DataObject) -> None:
    source = Source("p.dl", mutated(data, EVERYTHING))
    try:
        tree = parse(source)
    except ProgramError as error:
        printed = str(error)
        event("refused")
    else:
        printed = "error[E1"
        assert parse(Source("shown.dl", show(tree))) == tree
        assert parse(Source("formatted.dl", format_program(source))) == tree
    assert printed.startswith("error[E1")
