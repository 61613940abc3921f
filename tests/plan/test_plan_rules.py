"""The rules of a stratum planned together: good orders, and few arrangements."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.plan.plan_rules import arrangements, plan_rules
from tidelog.plan.show import show_plan
from tidelog.plan.statistics import FromSizes, Keys
from tidelog.plan.variant import Join, Variant
from tidelog.rules.ir import RuleProgram

DECLARATIONS = """
input relation A(x: u32, y: u32)
input relation B(x: u32, y: u32, z: u32)
output relation P(x: u32, y: u32)
"""


@dataclass
class Told:
    """Statistics from a table; all rows 1000, all buckets 10 unless it says otherwise."""

    buckets: dict[tuple[str, Keys], float] = field(default_factory=dict)
    there: set[tuple[str, Keys]] = field(default_factory=set)
    building: float = 0.0

    def rows(self, relation: str) -> float:
        return 1000

    def bucket(self, relation: str, keys: Keys, columns: int) -> float:
        return self.buckets.get((relation, keys), 10)

    def setup(self, relation: str, keys: Keys) -> float:
        return self.building

    def arranged(self, relation: str) -> Collection[Keys]:
        return [keys for name, keys in self.there if name == relation]


def program(text: str) -> RuleProgram:
    return compile_program(Source("<test>", DECLARATIONS + text)).rules


def plan(text: str, told: Told) -> list[Variant]:
    return plan_rules(program(text).rules, told)


def joins(variant: Variant) -> list[tuple[str, Keys]]:
    return [(step.atom.relation, step.keys) for step in variant.steps if isinstance(step, Join)]


def test_the_literal_with_the_shorter_buckets_comes_first() -> None:
    rule = "P(x, u) :- A(x, y), B(y, z, u), A(y, z)."
    few_of_b = plan(rule, Told({("B", (0,)): 2, ("A", (0,)): 50}))[0]
    few_of_a = plan(rule, Told({("B", (0,)): 50, ("A", (0,)): 2}))[0]
    assert joins(few_of_b)[0] == ("B", (0,))
    assert joins(few_of_a)[0] == ("A", (0,))


def test_an_arrangement_that_is_there_is_taken_where_a_better_one_would_have_to_be_built() -> None:
    rule = "P(x, u) :- A(x, y), B(x, y, u)."
    there: set[tuple[str, Keys]] = {("B", (0,))}
    buckets: dict[tuple[str, Keys], float] = {("B", (0,)): 40, ("B", (0, 1)): 1}
    assert joins(plan(rule, Told(buckets, there, building=100))[0]) == [("B", (0,))]
    assert joins(plan(rule, Told(buckets, there, building=1))[0]) == [("B", (0, 1))]


def test_an_arrangement_that_another_rule_wants_serves_where_its_buckets_are_hardly_longer() -> None:
    rules = "P(x, u) :- A(x, y), B(x, y, u).\nP(x, u) :- A(x, _), B(x, _, u)."
    close = Told({("B", (0,)): 2, ("B", (0, 1)): 1})
    far = Told({("B", (0,)): 20, ("B", (0, 1)): 1})
    assert [keys for name, keys in arrangements(plan(rules, close)) if name == "B"] == [(0,)]
    assert [keys for name, keys in arrangements(plan(rules, far)) if name == "B"] == [(0, 1), (0,)]


def test_each_arrangement_is_listed_once() -> None:
    text = "P(x, y) :- A(x, y).\nP(x, z) :- P(x, y), A(y, z).\nP(x, u) :- P(x, y), B(y, _, u)."
    shown = show_plan(program(text), FromSizes(lambda _: 1000))
    listed = shown[shown.index("arrangements\n") :].splitlines()[1:]
    assert listed == ["  A by x", "  B by x", "  P by y"]


def test_a_body_of_twenty_literals_is_planned_at_every_position() -> None:
    body = ", ".join(f"A(x{i}, x{i + 1})" for i in range(20))
    variants = plan(f"P(x0, x20) :- {body}.", Told())
    assert len(variants) == 21
    # Nothing but the rule's own fact starts with a scan, and nothing is a cross product.
    assert all(keys for variant in variants[:-1] for _, keys in joins(variant))
    assert [keys for _, keys in joins(variants[-1])].count(()) == 1
