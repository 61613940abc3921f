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


def test_a_sum_of_decimals_that_is_cast_outside_of_the_aggregate_is_told_to_cast_it_inside() -> None:
    text = """
        input relation Road(a: string, b: string, length: decimal<8, 2>)
        output relation Best(place: string, length: decimal<12, 2>)
        Best("home", 0).
        Best(b, HEAD) :- Best(a, n), Road(a, b, m), var least = min(SUM) by (b).
    """
    outside = text.replace("HEAD", "least as decimal<12, 2>").replace("SUM", "n + m")
    (warning,) = compile_program(Source("a.dl", outside)).typed.warnings
    assert "`min((n + m) as decimal<12, 2>)`" in warning.labels[-1].text
    inside = text.replace("HEAD", "least").replace("SUM", "(n + m) as decimal<12, 2>")
    assert compile_program(Source("a.dl", inside)).typed.warnings == ()


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


PAIRS = """
    import group
    typedef Path = Nil | Cons{head: u32, tail: Ref<Path>}
    input relation Edge(from: u32, to: u32, length: u64)
    relation Way(n: u32, d: u64, p: {0})
    relation Best(n: u32, d: u64, p: {0})
    Best(n, t.0, t.1) :- Way(n, d, p), var t = (d, p).group_by(n).{1}.
"""


def found_pairs(rule: str, more: str, chosen: str) -> Monotone:
    text = PAIRS.replace("{0}", more).replace("{1}", chosen) + rule
    program = compile_program(Source("a.dl", text)).rules
    (stratum,) = (each for each in program.strata if each.recursive)
    return find_monotone(stratum, program.relations)


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        ("Way(m, d + l, n) :- Best(n, d, _), Edge(n, m, l).", "u32"),
        ("Way(m, d, p) :- Best(n, d, p), Edge(n, m, _), d < 9.", "u32"),
        ("Way(m, d + l, p + 1) :- Best(n, d, p), Edge(n, m, l).", "u32"),
        ("Way(m, d + l, ref_new(Cons{n, p})) :- Best(n, d, p), Edge(n, m, l).", "Ref<Path>"),
        ('Way(m, d + l, "${n} ${p}") :- Best(n, d, p), Edge(n, m, l).', "string"),
        ("Way(m, e, q) :- Best(n, d, p), Edge(n, m, l), var q = (n, p.0), var e = d + l.", "(u32, u32)"),
    ],
)
@pytest.mark.parametrize("chosen", ["min()", "arg_min(|t| t.0)"])
def test_what_belongs_to_the_best_may_be_carried_along(rule: str, more: str, chosen: str) -> None:
    (best,) = found_pairs(rule, more, chosen).bests
    assert (best.smallest, best.order) == (True, None)


def test_the_order_of_arg_min_and_arg_max_begins_with_their_part() -> None:
    rule = "Way(m, d, p + 1) :- Best(n, d, p), Edge(n, m, _)."
    with pytest.raises(NotMonotoneError, match="first part of a tuple"):
        found_pairs("Way(m, d + 1, n) :- Best(n, d, _), Edge(n, m, _).", "u32", "arg_min(|t| t.1)")
    assert found_pairs(rule.replace("p + 1", "n"), "u32", "arg_max(|t| t.0)").bests[0].order == ((0, -1), (1, 1))
    assert found_pairs(rule, "u32", "arg_max(|t| t.0)").bests[0].order == ((0, -1), (1, 1))


@pytest.mark.parametrize(
    ("rule", "more", "chosen", "place", "text"),
    [
        ('Way(m, d + l, "${p} ${n}") :- Best(n, d, p), Edge(n, m, l).', "string", "min()", '"${p} ${n}"', "its end"),
        ("Way(m, min(d, 7), p) :- Best(n, d, p), Edge(n, m, _).", "u32", "min()", "Way", "stays"),
        ("Way(m, l, p) :- Best(n, d, p), Edge(n, m, l).", "u32", "min()", "Way", "first part"),
        ("Way(m, d + l, p) :- Best(n, d, p), Edge(n, m, l), p < 3.", "u32", "min()", "p", "first part"),
        ("Way(m, d + l, p) :- Best(n, d, p), Edge(n, m, l), Edge(p, _, _).", "u32", "min()", "Edge", "joined on"),
        ("Way(m, d, p + 1) :- Best(n, d, p), Edge(n, m, _).", "u32", "max()", "p + 1", "must fall"),
        ("Way(m, d + l, n) :- Best(n, d, _), Edge(n, m, l).", "u32", "arg_min(|t| t.0 + 1)", "|t|", "only a part"),
    ],
)
def test_what_may_not_be_carried_along_is_pointed_at(rule: str, more: str, chosen: str, place: str, text: str) -> None:
    with pytest.raises(NotMonotoneError, match=text) as caught:
        found_pairs(rule, more, chosen)
    assert caught.value.span.text.startswith(place)
