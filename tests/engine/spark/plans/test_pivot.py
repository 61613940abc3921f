"""Which programs can be cut into independent parts, and by which column."""

from __future__ import annotations

from tests.engine.spark.programs import LINEAR, NON_LINEAR, rules_of

from tidelog.engine.spark.plans.pivot import Decomposition, find_pivots


def pivots_of(text: str, *inside: str) -> Decomposition:
    program = rules_of(text)
    rules = [rule for rule in program.rules if rule.head.relation in inside]
    return find_pivots(rules, program.relations, inside)


def test_left_linear_closure_is_cut_by_its_first_column() -> None:
    assert pivots_of(LINEAR, "Reach").pivots == {"Reach": 0}


def test_right_linear_closure_is_cut_by_its_second_column() -> None:
    text = LINEAR.replace("Reach(x, y), Edge(y, z)", "Edge(x, y), Reach(y, z)")
    assert pivots_of(text, "Reach").pivots == {"Reach": 1}


def test_non_linear_closure_has_no_pivot_and_the_reason_shows_the_rule() -> None:
    found = pivots_of(NON_LINEAR, "Reach")
    assert found.pivots is None
    assert "Reach(x, z) :- Reach(x, y), Reach(y, z)." in found.reason


def test_same_generation_has_no_pivot() -> None:
    text = """
    input relation Up(x: u32, y: u32)
    output relation Same(x: u32, y: u32)
    Same(x, y) :- Up(x, p), Up(y, p).
    Same(x, y) :- Up(x, a), Same(a, b), Up(y, b).
    """
    assert pivots_of(text, "Same").pivots is None


def test_mutual_recursion_may_carry_the_pivot_in_different_columns() -> None:
    text = """
    input relation Edge(x: u32, y: u32)
    output relation Odd(x: u32, y: u32)
    output relation Even(y: u32, x: u32)
    Odd(x, y) :- Edge(x, y).
    Even(z, x) :- Odd(x, y), Edge(y, z).
    Odd(x, z) :- Even(y, x), Edge(y, z).
    """
    assert pivots_of(text, "Odd", "Even").pivots == {"Odd": 0, "Even": 1}


def test_a_repeated_variable_leaves_a_choice_that_must_fit_all_rules() -> None:
    text = """
    input relation Edge(x: u32, y: u32)
    output relation P(a: u32, b: u32)
    P(x, y) :- Edge(x, y).
    P(x, y) :- P(x, x), Edge(x, y).
    P(w, y) :- P(x, y), Edge(x, w).
    """
    assert pivots_of(text, "P").pivots is None


def test_a_column_that_an_expression_computes_is_no_pivot() -> None:
    text = """
    input relation Start(x: u32)
    output relation Next(x: u32, y: u32)
    Next(x + 1, x) :- Start(x).
    """
    assert pivots_of(text, "Next").pivots == {"Next": 1}
    assert pivots_of(text.replace("Next(x + 1, x)", "Next(x + 1, x + 2)"), "Next").pivots is None


def test_a_computed_value_that_a_literal_also_has_is_a_pivot() -> None:
    text = """
    input relation Start(x: u32)
    output relation Next(x: u32)
    Next(y) :- Start(x), var y = x + 1, Start(y).
    """
    assert pivots_of(text, "Next").pivots == {"Next": 0}


def test_a_constant_belongs_to_one_part_but_cannot_carry_a_pivot() -> None:
    text = """
    input relation Edge(x: u32, y: u32)
    output relation P(x: u32, y: u32)
    P(7, y) :- Edge(y, _).
    P(x, z) :- P(x, y), Edge(y, z).
    """
    assert pivots_of(text, "P").pivots == {"P": 0}
    assert pivots_of(text.replace("P(x, z) :- P(x, y)", "P(7, z) :- P(7, y)"), "P").pivots is None


def test_a_relation_without_columns_has_no_pivot() -> None:
    text = "input relation A(x: u32)\noutput relation Any()\nAny() :- A(_)."
    found = pivots_of(text, "Any")
    assert found.pivots is None
    assert "no column" in found.reason


def test_strata_share_a_pivot_through_negation() -> None:
    text = (
        LINEAR
        + """
    input relation Host(x: u32)
    output relation Apart(x: u32, y: u32)
    Apart(x, y) :- Host(x), Host(y), not Reach(x, y).
    """
    )
    assert pivots_of(text, "Reach", "Apart").pivots == {"Reach": 0, "Apart": 0}
    crossed = text.replace("not Reach(x, y)", "not Reach(y, x)")
    assert pivots_of(crossed, "Reach", "Apart").pivots == {"Reach": 0, "Apart": 1}


def test_a_rule_that_only_negates_the_set_must_bind_its_pivot_below() -> None:
    text = """
    input relation A(x: u32)
    output relation P(x: u32)
    output relation Q(x: u32)
    P(x) :- A(x).
    Q(y) :- A(x), var y = x + 1, not P(y).
    """
    assert pivots_of(text, "P", "Q").pivots is None
