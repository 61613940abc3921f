"""Plans in which there is nothing to choose are made once; the others follow the sizes."""

from __future__ import annotations

from tests.engine.local.run import Rows, Running

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution.fixed_plans import split_fixed
from tidelog.plan.plan_rules import plan_rules
from tidelog.plan.statistics import FromSizes

DECLARATIONS = """
input relation A(x: u32, y: u32)
input relation B(x: u32, y: u32)
input relation W(x: u32, y: u32, z: u32)
input relation Not(x: u32, y: u32)
output relation P(x: u32, y: u32)
"""


def fixed(rule: str) -> list[int]:
    """The positions of the deltas whose plans are the only ones."""
    program = compile_program(Source("<test>", DECLARATIONS + rule)).rules
    stays, _ = split_fixed(plan_rules(program.rules, FromSizes(lambda _: 1000)), ())
    return [each.delta.position for each in stays]


def test_what_joins_nothing_or_one_literal_of_two_columns_is_fixed() -> None:
    assert fixed("P(x, y) :- A(x, y), x < y.") == [0]
    assert fixed("P(x, y) :- A(x, y), not Not(x, y).") == [0, 1]
    assert fixed("P(x, z) :- A(x, y), B(y, z).") == [0, 1]
    assert fixed("P(x, y) :- A(x, y), W(x, y, 1).") == [0, 1]


def test_where_there_is_a_choice_it_is_not() -> None:
    assert fixed("P(x, w) :- A(x, y), B(y, z), A(z, w).") == []
    assert fixed("P(x, z) :- A(x, y), W(x, y, z).") == [1], "by two columns of three, or by one of them"
    assert fixed("P(x, z) :- A(x, y), B(y, z), not Not(x, z).") == []


def test_variants_stay_with_those_that_begin_alike() -> None:
    assert fixed("P(x, y) :- A(x, y). P(x, w) :- A(x, y), B(y, z), A(z, w).") == []


def code_of(engine: LocalEngine, relation: str) -> dict[int, object]:
    """The code of a stratum's plans, by the relation of the delta."""
    (stratum,) = (each for each in engine._runtime.strata if relation in each.relations)
    return {each.delta: each for each in stratum.plans.variants if each.delta >= 0}


PROGRAM = """
input relation A(x: u32, y: u32)
input relation B(x: u32, y: u32)
input relation C(x: u32, y: u32, z: u32)
output relation P(x: u32, y: u32)
P(x, y) :- A(x, y).
P(x, z) :- P(x, y), A(y, z).
P(x, z) :- B(x, y), C(x, y, z).
"""


def test_a_fixed_plan_goes_on_from_bootstrap_to_update_and_as_relations_grow() -> None:
    run = Running(PROGRAM)
    first: dict[str, Rows] = {"A": [(1, 2)], "B": [(1, 2)], "C": [(1, 2, 9)]}
    more: dict[str, Rows] = {"A": [(n, n + 1) for n in range(2, 60)], "B": [(n, n) for n in range(70)]}
    run.commit(first)
    before = code_of(run.engine, "P")
    a, b, c, p = (run.engine._runtime.numbers[name] for name in "ABCP")
    run.commit(more)
    run.commit({"A": [(100, 1)], "C": [(3, 3, 5)]})
    after = code_of(run.engine, "P")
    assert [after[each] is before[each] for each in (a, p, c)] == [True] * 3
    assert after[b] is not before[b], "by (x, y) or by x alone: that is for the sizes to say"
    whole = Running(PROGRAM)
    whole.commit({name: first.get(name, []) + more.get(name, []) for name in "ABC"})
    whole.commit({"A": [(100, 1)], "C": [(3, 3, 5)]})
    assert run.rows("P") == whole.rows("P")
