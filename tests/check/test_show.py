"""`tidelog show --stage types`."""

from __future__ import annotations

import pytest

from tests.check.programs import WHOLE, checked
from tidelog.check.check import check
from tidelog.check.show import show_types
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse


def test_rules_are_shown_with_the_types_of_their_variables() -> None:
    shown = show_types(checked('Out(a + 1, "${k}\\n") :- not Flag(), Num(a, b, _), var k = 5, b > -3.\nAny(true).\n'))
    assert shown == (
        "input relation Edge(src: string, dst: string)\n"
        "input relation Num(a: u8, b: s16, c: bit<12>)\n"
        "input relation Flag()\n"
        "output relation Out(a: u8, t: string)\n"
        "output relation Any(b: bool)\n"
        "\n"
        'Out(a + (1: u8), to_string(k) ++ "\\n") :- '
        "not Flag(), Num(a, b, _), var k = 5: u64, b > (-3: s16).\n"
        "    a: u8, b: s16, k: u64\n"
        "\n"
        "Any(true).\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "typedef Shape<'A> = Circle{at: Point, tag: 'A} | Square{side: u32, tag: 'A} | Nothing{}",
        "extern type Handle",
        "extern function handle(x: string): Handle",
        "function from(e: Edge): u64 {e.a}",
        "input relation &Host(id: u64, name: string) primary key (h) ((*h).id, (*h).name)",
        "input relation Shapes[Shape<string>]",
        "output multiset Words[(string, u64)]",
        "stream Clicks(user: string, n: u8)",
        "index ByName(n: string) on Host(_, n)",
        "apply graph::SCC(Edge, from, to) -> (Label)",
        "Words((t, 1: u64)) :- Shapes(Circle{p, t}), p.x == (1: u8).",
        "Out(ddlog_std::count_distinct(n) as u64, t) :- Click'(t, _), var n = t.group_by(t).",
        'Out(1: u64, x) :- Host(_, s), var x = FlatMap(ddlog_std::split(s, ",")), Inspect ().',
    ],
)
def test_every_construct_is_shown(line: str) -> None:
    assert line in show_types(check(parse(Source("p.dl", WHOLE)))).splitlines()


def test_the_library_is_not_shown() -> None:
    shown = show_types(check(parse(Source("p.dl", WHOLE)))).splitlines()
    assert not [line for line in shown if line.startswith(("typedef ddlog_std::", "function ddlog_std::"))]
