"""The corner cases of the ranked Update, one test each, and the counterexamples to Algorithm 3 as printed (C1 to C8).

`REACH` is the smallest recursive program: P holds what C starts and A leads to.
"""

from __future__ import annotations

import pytest

from tests.maintain.scenario import Scenario

REACH = """
input relation C(x: u8)
input relation A(x: u8, y: u8)
output relation P(x: u8)
P(x) :- C(x).
P(y) :- P(x), A(x, y).
"""
REACH_WITH_COPY = REACH + "output relation U(x: u8)\nU(x) :- P(x).\n"
REACH_UNLESS_BLOCKED = """
input relation C(x: u8)
input relation A(x: u8, y: u8)
input relation B(x: u8)
output relation P(x: u8)
P(x) :- C(x).
P(y) :- P(x), A(x, y), not B(y).
"""
WRITABLE_REACH = """
input relation C(x: u8)
input relation A(x: u8, y: u8)
input relation P(x: u8)
output relation U(x: u8)
P(x) :- C(x).
P(y) :- P(x), A(x, y).
U(x) :- P(x).
"""
UNLESS = """
input relation C(x: u8)
input relation B(x: u8)
output relation P(x: u8)
P(x) :- C(x), not B(x).
"""
UNLESS_EITHER = """
input relation C(x: u8)
input relation B(x: u8)
input relation D(x: u8)
output relation P(x: u8)
P(x) :- C(x), not B(x), not D(x).
"""
# The two tests that these mark are about what only the ranked state promises.
only_elastic = pytest.mark.parametrize("strategy", ["elastic", "circuit"], indirect=True)
every_strategy = pytest.mark.parametrize("strategy", ["elastic", "counting", "elastic-paper", "circuit"], indirect=True)


@pytest.fixture(autouse=True, params=["elastic", "counting", "circuit"])
def strategy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the scenarios of the test are kept up to date."""
    monkeypatch.setattr(Scenario, "strategy", request.param)


# Input facts of derived relations


def test_deleting_an_input_fact_that_is_also_derived_only_decrements() -> None:
    scenario = Scenario(WRITABLE_REACH)
    scenario.load("+C(1) +P(1) +A(1,2)")
    assert scenario.state("P(1)").total == 2
    scenario.expect("-P(1)", "")
    assert scenario.state("P(1)").total == 1
    scenario.expect("-C(1)", "-U(1) -U(2)")


@only_elastic
def test_inserting_an_input_fact_that_is_also_derived_leaves_its_rank() -> None:
    scenario = Scenario(WRITABLE_REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    before = scenario.state("P(3)")
    scenario.expect("+P(3)", "")
    after = scenario.state("P(3)")
    assert (after.rank, after.count, after.total) == (before.rank, before.count + 1, before.total + 1)
    scenario.expect("-C(1)", "-U(1) -U(2)")


def test_an_input_fact_inserted_while_its_derivation_dies_keeps_the_row() -> None:
    scenario = Scenario(WRITABLE_REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    scenario.expect("-C(1) +P(2)", "-U(1)")
    state = scenario.state("P(2)")
    assert (state.rank, state.count, state.total) == (0, 1, 1)


def test_an_input_fact_deleted_while_a_derivation_arrives_keeps_the_row() -> None:
    scenario = Scenario(WRITABLE_REACH)
    scenario.load("+P(2) +A(1,2) +A(2,3)")
    scenario.expect("-P(2) +C(1)", "+U(1)")


def test_a_cycle_does_not_outlive_the_input_fact_that_started_it() -> None:
    scenario = Scenario(WRITABLE_REACH)
    scenario.load("+P(1) +A(1,2) +A(2,1)")
    scenario.expect("-P(1)", "-U(1) -U(2)")


def test_an_input_fact_inserted_and_deleted_again_in_one_transaction_is_no_change() -> None:
    scenario = Scenario(WRITABLE_REACH)
    scenario.load("+C(1) +A(1,2)")
    before = scenario.state("P(2)")
    scenario.expect("+P(2) -P(2)", "")
    assert scenario.state("P(2)") == before


# Instances that lose or gain several rows at once


def test_a_row_that_stands_twice_in_a_self_join_kills_its_instance_once() -> None:
    scenario = Scenario("""
        input relation E(x: u8, y: u8)
        output relation T(x: u8, z: u8)
        T(x, z) :- E(x, y), E(y, z).
    """)
    scenario.load("+E(1,1) +E(1,2) +E(2,1)")
    assert scenario.state("T(1,1)").total == 2  # over 1, and over 2
    scenario.expect("-E(1,1)", "-T(1,2) -T(2,1)")
    assert scenario.state("T(1,1)").total == 1
    scenario.expect("-E(1,2)", "-T(1,1) -T(2,2)")


def test_a_row_that_stands_twice_in_a_self_join_makes_its_instance_once() -> None:
    scenario = Scenario("""
        input relation E(x: u8, y: u8)
        output relation T(x: u8, z: u8)
        T(x, y) :- E(x, y).
        T(x, z) :- T(x, y), T(y, z).
    """)
    scenario.expect("+E(1,1)", "+T(1,1)")
    assert scenario.state("T(1,1)").total == 2  # from E, and from itself twice
    assert scenario.state("T(1,1)").count == 1
    scenario.expect("-E(1,1)", "-T(1,1)")


def test_two_body_rows_that_die_in_different_waves_kill_their_instance_once() -> None:
    scenario = Scenario("""
        input relation C(x: u8)
        input relation A(x: u8, y: u8)
        input relation T(x: u8, y: u8, z: u8)
        output relation P(x: u8)
        P(x) :- C(x).
        P(y) :- P(x), A(x, y).
        P(z) :- P(x), P(y), T(x, y, z).
    """)
    scenario.load("+C(0) +C(9) +A(0,1) +A(1,2) +A(2,3) +T(1,3,4) +A(9,4)")
    assert scenario.state("P(4)").total == 2
    scenario.expect("-C(0)", "-P(0) -P(1) -P(2) -P(3)")
    assert scenario.state("P(4)").total == 1
    scenario.expect("-C(9)", "-P(9) -P(4)")


def test_two_body_rows_that_arrive_in_different_waves_make_their_instance_once() -> None:
    scenario = Scenario("""
        input relation C(x: u8)
        input relation A(x: u8, y: u8)
        input relation T(x: u8, y: u8, z: u8)
        output relation P(x: u8)
        P(x) :- C(x).
        P(y) :- P(x), A(x, y).
        P(z) :- P(x), P(y), T(x, y, z).
    """)
    scenario.load("+A(0,1) +A(1,2) +A(2,3) +T(1,3,4) +T(3,1,4)")
    scenario.expect("+C(0)", "+P(0) +P(1) +P(2) +P(3) +P(4)")
    assert scenario.state("P(4)").total == 2


def test_all_rows_of_a_body_leaving_at_once_kill_its_instance_once() -> None:
    scenario = Scenario("""
        input relation C(x: u8)
        input relation D(x: u8)
        output relation P(x: u8)
        P(x) :- C(x), D(x).
        P(x) :- D(x), C(x), C(x).
    """)
    scenario.load("+C(1) +D(1)")
    assert scenario.state("P(1)").total == 2
    scenario.expect("-C(1) -D(1)", "-P(1)")
    scenario.expect("+C(1) +D(1)", "+P(1)")
    assert scenario.state("P(1)").total == 2


# Negation


def test_a_positive_row_leaves_while_a_negated_one_arrives() -> None:
    scenario = Scenario(UNLESS)
    scenario.load("+C(1) +C(2)")
    scenario.expect("-C(1) +B(1)", "-P(1)")
    scenario.expect("+C(1)", "")
    scenario.expect("-B(1)", "+P(1)")


def test_a_positive_row_arrives_while_a_negated_one_leaves() -> None:
    scenario = Scenario(UNLESS)
    scenario.load("+B(1)")
    scenario.expect("+C(1) -B(1)", "+P(1)")
    assert scenario.state("P(1)").total == 1
    scenario.expect("+B(1)", "-P(1)")


def test_a_positive_and_a_negated_row_arriving_together_make_nothing() -> None:
    scenario = Scenario(UNLESS)
    scenario.expect("+C(1) +B(1)", "")
    scenario.expect("-C(1) -B(1)", "")
    scenario.expect("+C(1)", "+P(1)")


def test_two_negated_literals_flipping_at_once_count_once() -> None:
    scenario = Scenario(UNLESS_EITHER)
    scenario.load("+C(1)")
    scenario.expect("+B(1) +D(1)", "-P(1)")
    scenario.expect("-B(1) -D(1)", "+P(1)")
    assert scenario.state("P(1)").total == 1


def test_two_negated_literals_flipping_against_each_other_change_nothing() -> None:
    scenario = Scenario(UNLESS_EITHER)
    scenario.load("+C(1) +D(1)")
    scenario.expect("+B(1) -D(1)", "")
    scenario.expect("-B(1) +D(1)", "")
    scenario.expect("-D(1)", "+P(1)")


def test_a_relation_positive_in_one_rule_and_negated_in_another_hands_the_row_over() -> None:
    scenario = Scenario("""
        input relation B(x: u8)
        input relation C(x: u8)
        output relation P(x: u8)
        P(x) :- B(x).
        P(x) :- C(x), not B(x).
    """)
    scenario.load("+C(1)")
    scenario.expect("+B(1)", "")
    assert scenario.state("P(1)").total == 1
    scenario.expect("-B(1)", "")
    assert scenario.state("P(1)").total == 1
    scenario.expect("-C(1)", "-P(1)")


def test_a_relation_positive_and_negated_in_the_same_recursion_hands_the_row_over() -> None:
    scenario = Scenario("""
        input relation C(x: u8)
        input relation A(x: u8, y: u8)
        input relation B(x: u8)
        output relation P(x: u8)
        P(x) :- C(x).
        P(y) :- P(x), A(x, y), not B(x).
        P(y) :- P(x), A(y, x), B(x).
    """)
    scenario.load("+C(2) +A(1,2) +A(2,3)")
    scenario.expect("+B(2)", "+P(1) -P(3)")
    scenario.expect("-B(2) +A(3,1)", "+P(3)")


def test_a_negated_wildcard_changes_only_with_the_first_and_the_last_row_of_its_key() -> None:
    scenario = Scenario("""
        input relation C(x: u8)
        input relation A(x: u8, y: u8)
        output relation Leaf(x: u8)
        Leaf(x) :- C(x), not A(x, _).
    """)
    scenario.expect("+C(1) +C(2)", "+Leaf(1) +Leaf(2)")
    scenario.expect("+A(1,5) +A(1,6)", "-Leaf(1)")
    scenario.expect("-A(1,5)", "")
    scenario.expect("-A(1,6) +A(1,7)", "")
    scenario.expect("-A(1,7) +A(2,2)", "+Leaf(1) -Leaf(2)")


def test_a_negated_relation_of_a_lower_recursion_reports_presence_only() -> None:
    scenario = Scenario(REACH + "output relation N(x: u8)\nN(x) :- A(_, x), not P(x).\n")
    scenario.load("+C(1) +A(1,2) +A(2,3) +A(1,3)")
    scenario.expect("-A(1,2)", "-P(2)")  # P(3) moves to a later rank and stays
    scenario.expect("-A(1,3)", "-P(3) +N(3)")


# Rows that die and come back


def test_a_dead_head_met_again_in_the_first_wave_of_insert_is_no_change() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    scenario.expect("-A(1,2) +C(2)", "")


def test_a_dead_head_met_again_only_in_a_later_wave_of_insert_is_no_change() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    scenario.expect("-A(1,2) +A(1,4) +A(4,3)", "-P(2) +P(4)")
    assert scenario.state("P(3)").total == 1


def test_a_dead_head_met_again_in_the_first_and_in_a_later_wave_counts_both() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    scenario.expect("-A(1,2) +A(1,3) +A(1,4) +A(4,3)", "-P(2) +P(4)")
    assert scenario.state("P(3)").total == 2
    scenario.expect("-A(1,3)", "")
    scenario.expect("-A(4,3)", "-P(3)")


def test_a_row_with_support_of_equal_rank_dies_and_returns_unchanged() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +C(2) +A(1,3) +A(2,4) +A(3,4) +A(4,3)")
    scenario.expect("-A(1,3)", "")  # P(3) loses its only support from below and lives on through P(4)
    scenario.expect("-A(2,4)", "-P(3) -P(4)")


def test_a_cycle_without_outside_support_leaves_as_a_whole() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3) +A(3,4) +A(4,2)")
    scenario.expect("-A(1,2)", "-P(2) -P(3) -P(4)")
    scenario.expect("+A(1,4)", "+P(2) +P(3) +P(4)")


def test_a_long_chain_cut_at_its_start_and_mended_in_its_middle() -> None:
    scenario = Scenario(REACH)
    chain = " ".join(f"+A({x},{x + 1})" for x in range(1, 60))
    scenario.load(f"+C(1) {chain}")
    scenario.expect("-A(1,2) +A(1,30)", " ".join(f"-P({x})" for x in range(2, 30)))
    scenario.expect("+A(1,2)", " ".join(f"+P({x})" for x in range(2, 30)))


@only_elastic
def test_a_shortcut_moves_no_row() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) " + " ".join(f"+A({x},{x + 1})" for x in range(1, 20)))
    before = scenario.state("P(12)")
    scenario.expect("+A(2,10)", "")
    assert scenario.state("P(12)") == before
    scenario.expect("-A(2,10)", "")


# Shapes of recursion


def test_mutual_recursion_inside_one_batch() -> None:
    scenario = Scenario("""
        input relation Zero(x: u8)
        input relation Next(x: u8, y: u8)
        output relation Even(x: u8)
        output relation Odd(x: u8)
        Even(x) :- Zero(x).
        Odd(y) :- Even(x), Next(x, y).
        Even(y) :- Odd(x), Next(x, y).
    """)
    scenario.expect("+Zero(0) +Next(0,1) +Next(1,2) +Next(2,3)", "+Even(0) +Odd(1) +Even(2) +Odd(3)")
    scenario.expect("+Next(3,1)", "+Even(1) +Odd(2) +Even(3)")
    scenario.expect("-Next(0,1) +Next(0,2)", "")  # all but Even(0) die, and return by another way round the ring
    scenario.expect("-Next(3,1)", "-Even(1) -Odd(1) -Even(2) -Odd(3)")
    scenario.expect("-Zero(0)", "-Even(0) -Odd(2) -Even(3)")


def test_a_head_in_its_own_body_does_not_support_itself() -> None:
    scenario = Scenario("""
        input relation C(x: u8)
        input relation D(x: u8)
        output relation P(x: u8)
        P(x) :- C(x).
        P(x) :- P(x), D(x).
        P(x) :- P(x), P(x).
    """)
    scenario.expect("+C(1) +D(1)", "+P(1)")
    state = scenario.state("P(1)")
    assert (state.count, state.total) == (1, 3)
    scenario.expect("-C(1)", "-P(1)")


def test_a_rule_written_twice_is_no_harm() -> None:
    scenario = Scenario(REACH + "P(y) :- P(x), A(x, y).\n")
    scenario.expect("+C(1) +A(1,2)", "+P(1) +P(2)")
    scenario.expect("-A(1,2)", "-P(2)")


def test_a_transaction_without_net_effect_makes_no_epoch() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +A(1,2)")
    epoch = scenario.replay.database.report.epoch
    scenario.expect("+C(1) -A(7,7) -A(1,2) +A(1,2)", "")
    assert scenario.replay.database.report.epoch == epoch


# Counterexamples to Algorithm 3 as printed


@every_strategy
def test_c1_an_inserted_negated_row_removes_the_head() -> None:
    scenario = Scenario(UNLESS)
    scenario.load("+C(1)")
    scenario.expect("+B(1)", "-P(1)")


@every_strategy
def test_c2_a_negated_row_inserted_now_blocks_re_discovery() -> None:
    scenario = Scenario(REACH_UNLESS_BLOCKED)
    scenario.load("+C(1) +C(2) +A(1,2)")
    scenario.expect("-C(2) +B(2)", "-P(2)")


@every_strategy
def test_c3_a_negated_row_deleted_now_is_counted_once() -> None:
    scenario = Scenario(REACH_UNLESS_BLOCKED)
    scenario.load("+C(1) +C(2) +A(1,2) +B(2)")
    scenario.expect("-C(2) -B(2)", "")
    assert scenario.state("P(2)").total == 1
    scenario.expect("-A(1,2)", "-P(2)")


@every_strategy
def test_c4_re_discovery_counts_every_instance() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +C(2) +C(3) +A(1,2) +A(3,2)")
    scenario.expect("-C(2)", "")
    assert scenario.state("P(2)").total == 2
    scenario.expect("-A(1,2)", "")
    assert scenario.state("P(2)").total == 1


@every_strategy
def test_c5_rows_of_later_rounds_leave_too() -> None:
    scenario = Scenario(REACH)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    scenario.expect("-C(1)", "-P(1) -P(2) -P(3)")


@every_strategy
def test_c6_every_row_that_left_is_handed_to_the_next_stratum() -> None:
    scenario = Scenario(REACH_WITH_COPY)
    scenario.load("+C(1) +A(1,2) +A(2,3)")
    scenario.expect("-C(1)", "-P(1) -P(2) -P(3) -U(1) -U(2) -U(3)")


@every_strategy
def test_c7_rows_that_only_moved_are_not_handed_to_the_next_stratum() -> None:
    scenario = Scenario(REACH_WITH_COPY)
    scenario.load("+C(1) +A(1,2) +A(2,3) +A(3,4)")
    scenario.expect("+C(3) +C(4)", "")
    assert scenario.state("U(4)").total == 1
    scenario.expect("-C(4) -A(3,4)", "-P(4) -U(4)")


@every_strategy
def test_c8_a_rule_without_a_positive_literal_fires() -> None:
    scenario = Scenario("""
        input relation B(x: u8)
        output relation P(x: u8)
        P(1) :- not B(1).
    """)
    assert scenario.replay.initial() == {"P": (frozenset({(1,)}), frozenset())}
    scenario.expect("+B(1)", "-P(1)")
    scenario.expect("-B(1) +B(2)", "+P(1)")
