"""Where rules are joined: the meeting variables, the copies that they need, and what cannot be divided."""

from __future__ import annotations

import pytest
from tests.engine.spark.plans.partitioned.programs import ANDERSEN, CLOSURE, MUTUAL, SAME_GENERATION
from tests.engine.spark.programs import rules_of

from tidelog.engine.spark.plans.partitioned.partition_program import partition_program
from tidelog.engine.spark.plans.partitioned.routing import Routing, find_routing
from tidelog.rules.ir import RuleProgram

STORES = """
input relation New(v: u32, o: u32)
input relation Store(v: u32, w: u32)
output relation Points(v: u32, o: u32)
Points(v, o) :- New(v, o).
Points(a, o) :- Store(v, w), Points(v, a), Points(w, o).
"""


def routing_of(rules: RuleProgram) -> Routing | str:
    (stratum,) = [stratum for stratum in rules.strata if stratum.recursive]
    return find_routing(stratum, rules.relations)


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        (SAME_GENERATION, {"Same": (0,)}),
        (CLOSURE, {"Reach": (1, 0)}),
        (MUTUAL, {"Odd": (1,), "Even": (0,)}),
    ],
)
def test_a_relation_has_a_copy_for_each_column_where_rules_meet(text: str, copies: dict[str, tuple[int, ...]]) -> None:
    routing = routing_of(rules_of(text))
    assert isinstance(routing, Routing)
    assert {name: tuple(sorted(columns)) for name, columns in routing.copies.items()} == {
        name: tuple(sorted(columns)) for name, columns in copies.items()
    }


def test_recursive_literals_without_a_common_variable_cannot_be_divided() -> None:
    assert routing_of(rules_of(STORES)) == (
        "no variable is in all recursive literals of `Points(a, o) :- Store(v, w), Points(v, a), Points(w, o).`"
    )


def test_each_part_reads_its_share_where_the_meeting_variable_is_and_the_whole_elsewhere() -> None:
    rules = rules_of(SAME_GENERATION)
    routing = routing_of(rules)
    assert isinstance(routing, Routing)
    (stratum,) = [stratum for stratum in rules.strata if stratum.recursive]
    task = partition_program(stratum, routing, rules.relations, 2, 1)
    bodies = [[atom.relation for atom in rule.positives] for rule in task.program.rules]
    assert bodies == [["Up#by1", "Up"], ["Up", "Same", "Up"]]
    assert {share.name: share.cut is None for share in task.shares} == {"Up#by1": False, "Up": True}


def test_a_rule_without_a_positive_literal_is_in_one_part() -> None:
    rules = rules_of(CLOSURE + "Reach(1, 2).")
    routing = routing_of(rules)
    assert isinstance(routing, Routing)
    (stratum,) = [stratum for stratum in rules.strata if stratum.recursive]
    counts = [len(partition_program(stratum, routing, rules.relations, 2, part).program.rules) for part in (0, 1)]
    assert counts == [3, 2]


def test_copies_have_names_of_their_own() -> None:
    rules = rules_of(ANDERSEN)
    routing = routing_of(rules)
    assert isinstance(routing, Routing)
    (stratum,) = [stratum for stratum in rules.strata if stratum.recursive]
    task = partition_program(stratum, routing, rules.relations, 3, 0)
    own = task.program.strata[-1].relations
    assert len({*own}) == len(own) == sum(map(len, routing.copies.values()))
