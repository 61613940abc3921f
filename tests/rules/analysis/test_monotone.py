"""Which recursions through `min` and `max` are monotone, and what is in the way of the others."""

from __future__ import annotations

import pytest

from tidelog.compile_program import check_source, compile_program
from tidelog.diagnostics.spans import Source
from tidelog.rules.analysis.expression_direction import NotMonotoneError
from tidelog.rules.analysis.monotone import Monotone, find_monotone

RELATIONS = """
    input relation Edge(from: u32, to: u32, length: {0})
    input relation Source(n: u32)
    relation Way(n: u32, d: {0})
    relation Best(n: u32, d: {0})
    relation Seen(n: u32)
    Way(n, 0) :- Source(n).
"""
SMALLEST = "Best(n, m) :- Way(n, d), var m = d.group_by(n).min().\n"
LARGEST = "Best(n, m) :- Way(n, d), var m = d.group_by(n).max().\n"


def found(rules: str, cost: str = "bigint") -> Monotone:
    program = compile_program(Source("a.dl", RELATIONS.format(cost) + rules)).rules
    (stratum,) = (each for each in program.strata if each.recursive)
    return find_monotone(stratum, program.relations)


@pytest.mark.parametrize("cost", ["bigint", "u8", "s64", "u128", "double"])
def test_sums_are_monotone_whatever_they_are_made_of(cost: str) -> None:
    monotone = found(f"Way(m, d + l) :- Best(n, d), Edge(n, m, l).{SMALLEST}", cost)
    (best,) = monotone.bests
    assert (best.keys, best.smallest) == (1, True)
    assert list(monotone.costs) == ["Best", "Way", "Best#members0"]
    watched = [each for rule in monotone.rules for each in rule.sums]
    assert len(watched) == (0 if cost == "bigint" else 1)


@pytest.mark.parametrize(
    "rule",
    [
        "Way(m, d) :- Best(n, d), Edge(n, m, _).",
        "Way(m, max(d, l)) :- Best(n, d), Edge(n, m, l).",
        "Way(m, min(d, 3) * 2 / 3) :- Best(n, d), Edge(n, m, _).",
        "Way(m, d - l) :- Best(n, d), Edge(n, m, l).",
        "Way(m, d + e) :- Best(n, d), Best(m, e).",
        "Way(m, d + l) :- Best(n, d), Edge(n, m, l), d < 10, not (d >= l).",
        "Way(m, if (l < 3) d else d + l) :- Best(n, d), Edge(n, m, l).",
        "Way(m, 7) :- Best(n, _), Edge(n, m, _).",
        "Seen(n) :- Best(n, d), d <= 5. Seen(m) :- Seen(n), Edge(n, m, _). Way(n, 4) :- Seen(n).",
        "Best(m, e.0) :- Best(n, d), Edge(n, m, l), var e = (d + l, n).group_by(m).min().",
    ],
)
def test_what_never_gets_worse_is_monotone_under_min(rule: str) -> None:
    assert found(rule + SMALLEST).bests[0].smallest


def test_the_widest_and_the_longest_way_are_monotone_under_max() -> None:
    assert not found(f"Way(m, min(d, l)) :- Best(n, d), Edge(n, m, l), d > 2. {LARGEST}").bests[0].smallest
    assert not found(f"Way(m, d + l) :- Best(n, d), Edge(n, m, l). {LARGEST}", "u64").bests[0].smallest


@pytest.mark.parametrize(
    ("rule", "place", "text", "cost"),
    [
        ("Way(m, d) :- Best(n, d), Edge(n, m, d).", "Edge(n, m, d)", "joined on", "bigint"),
        ("Way(m, d) :- Best(n, d), Edge(n, m, l), l == d.", "l == d", "equality", "bigint"),
        ("Way(m, d) :- Best(n, d), Edge(n, m, _), d > 3.", "d > 3", "become false", "bigint"),
        ("Way(m, e) :- Best(n, d), Edge(n, m, _), var e = d + 1, e > 3.", "e > 3", "become false", "bigint"),
        ("Way(m, e) :- Best(n, d), Edge(n, m, l), var e = d + 1, Best(m, e).", "Best(m, e)", "joined on", "bigint"),
        ("Way(m, d % 5) :- Best(n, d), Edge(n, m, _).", "d % 5", "may get worse", "bigint"),
        ("Way(m, d * l) :- Best(n, d), Edge(n, m, l).", "d * l", "factor", "bigint"),
        ("Way(m, d + e) :- Best(n, d), Best(m, e).", "d + e", "two costs", "u64"),
        ("Way(m, d - l) :- Best(n, d), Edge(n, m, l).", "d - l", "end of u64", "u64"),
        ("Way(m, min(d + l, 9)) :- Best(n, d), Edge(n, m, l).", "min(d + l, 9)", "run over", "u64"),
        ("Way(m, d as u8 as u64) :- Best(n, d), Edge(n, m, _).", "d as u8", "not every u64", "u64"),
        ("Way(m, l - d) :- Best(n, d), Edge(n, m, l).", "Way(n, d)", "falls and one that rises", "bigint"),
        ("Way(n, d) :- Way(n, d), Source(n). Way(n, d) :- Best(n, d).", "Way(n, d)", "without a group", "bigint"),
        ("Way(m, 1) :- Best(n, 3), Edge(n, m, _).", "Best(n, 3)", "constant", "bigint"),
    ],
)
def test_what_may_get_worse_is_pointed_at(rule: str, place: str, text: str, cost: str) -> None:
    with pytest.raises(NotMonotoneError, match=text) as caught:
        found(rule + SMALLEST, cost)
    assert caught.value.span.text == place


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("var m = d.group_by(n).count_distinct() as bigint", "more than its `min` or `max`"),
        ("var g = d.group_by(n), var m = g.min() + g.max()", "both `min` and `max`"),
        ("var x = d.group_by((n, d)), var m = x.min()", "key of this group"),
    ],
)
def test_a_group_is_asked_for_its_best_alone(group: str, text: str) -> None:
    with pytest.raises(NotMonotoneError, match=text):
        found(f"Way(m, d) :- Best(n, d), Edge(n, m, _). Best(n, m) :- Way(n, d), {group}.")


def test_only_what_is_not_monotone_is_warned_of_and_the_warning_says_why() -> None:
    good = RELATIONS.format("u64") + f"Way(m, d + l) :- Best(n, d), Edge(n, m, l). {SMALLEST}"
    assert check_source(Source("a.dl", good)).warnings == ()
    assert compile_program(Source("a.dl", good)).typed.warnings == ()
    bad = good.replace("d + l", "d ^ l")
    for warnings in (check_source(Source("a.dl", bad)).warnings, compile_program(Source("a.dl", bad)).typed.warnings):
        (warning,) = warnings
        assert warning.code == "W301"
        assert warning.labels[-1].span.text == "d ^ l"
        assert warning.labels[-1].text == "this may get worse when its inputs get better"


def test_a_program_without_its_externs_is_judged_all_the_same() -> None:
    text = (
        RELATIONS.format("u64")
        + f"""
        extern function far(n: u32): u64
        Way(n, far(n)) :- Source(n).
        Way(m, d + l) :- Best(n, d), Edge(n, m, l).
        {SMALLEST}
    """
    )
    assert check_source(Source("a.dl", text)).warnings == ()
