"""Tree → text: what is printed parses to the same tree."""

from __future__ import annotations

from hypothesis import given, settings

from tests.syntax.trees import programs
from tidelog.diagnostics.spans import Source
from tidelog.syntax import ast
from tidelog.syntax.parse import parse
from tidelog.syntax.show import show


@settings(max_examples=200, deadline=None)
@given(programs)
def test_shown_programs_parse_to_the_same_tree(program: ast.Program) -> None:
    assert parse(Source("<shown>", show(program))) == program


def test_parentheses_stand_only_where_they_are_needed() -> None:
    text = (
        "input relation Edge(src: string, cost: u32)\n"
        "Cheap(x, (c + 1) * 2) :- Edge(x, c), not Edge(x, _), not (c == 3), var d = c + 1 * 2, c & (d == 1) < 3.\n"
        'Fact("a\\"b${x}", -1, 8\'hff, if (a) (b + 1) else c as u8).\n'
    )
    assert show(parse(Source("p.dl", text))) == text
