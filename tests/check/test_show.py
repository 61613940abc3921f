"""`tidelog show --stage types`."""

from __future__ import annotations

from tests.check.programs import checked
from tidelog.check.show import show_types


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
