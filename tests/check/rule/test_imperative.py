"""Rules written as statements → plain rules."""

from __future__ import annotations

from tests.check.programs import checked, wrong
from tidelog.check.show import show_types


def rules(text: str) -> list[str]:
    """The rules that the text stands for, as they are shown."""
    shown = show_types(checked(text)).split("\n\n")[1:]
    return [block.split("\n")[0] for block in shown]


def test_every_statement_that_inserts_is_the_head_of_a_rule() -> None:
    assert rules("for (Edge(x, y)) { Out(1, x); for (Flag()) Out(2, y) }") == [
        "Out(1: u8, x) :- Edge(x, y).",
        "Out(2: u8, y) :- Edge(x, y), Flag().",
    ]


def test_the_condition_of_a_loop_and_of_an_if_go_into_the_body_and_an_else_negates() -> None:
    assert rules('for (e in Edge if e.src != "") if (e.dst == "a") Out(1, e.src) else Out(2, e.dst)') == [
        'Out(1: u8, e.src) :- e in Edge(_, _), e.src != "", e.dst == "a".',
        'Out(2: u8, e.dst) :- e in Edge(_, _), e.src != "", not (e.dst == "a").',
    ]


def test_an_arm_is_taken_only_where_no_earlier_one_fits() -> None:
    first, second = rules('for (Num(a, _, _)) match (a) { 1 -> Out(a, "one"), n -> Out(n, "more") }')
    assert first == 'Out(a, "one") :- Num(a, _, _), match (a) {1 -> true, _ -> false}.'
    assert second == 'Out(n#1, "more") :- Num(a, _, _), match (a) {1 -> false, n -> true, _ -> false}, var n#1 = a.'


def test_a_pattern_before_in_filters_and_binds() -> None:
    text = "for (Edge(x, _)) Some{var n} = parse_dec_u64(x) in Out(n as u8, x)"
    assert rules(text) == [
        "Out(n as u8, x) :- Edge(x, _), ddlog_std::Some{var n} = ddlog_std::parse_dec_u64(x).",
    ]


def test_a_condition_before_in_filters() -> None:
    assert rules("for (Edge(x, y)) not (x == y) in Out(1, x)") == ["Out(1: u8, x) :- Edge(x, y), not (x == y)."]


def test_skip_inserts_nothing_and_is_checked_all_the_same() -> None:
    assert rules("for (Edge(x, y)) if (x == y) skip else Out(1, x)") == ["Out(1: u8, x) :- Edge(x, y), not (x == y)."]
    assert wrong("for (Edge(x, y)) if (x == z) skip") == ["E301 variable `z` is not bound by the body"]


def test_a_mistake_around_several_statements_is_one_error() -> None:
    assert wrong("for (Edge(x, y)) if (x) { Out(1, x); Out(2, y) } else Out(3, x)") == [
        "E210 expected `bool`, found `string`"
    ]
