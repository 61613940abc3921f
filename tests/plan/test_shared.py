"""What variants share in a plan is what the engine enumerates once."""

from __future__ import annotations

import random

import pytest

from tests.engine.local.execution.test_shared_prefixes import FACTS, RELATIONS, SHARING
from tests.engine.local.run import Running
from tests.oracle.generate import random_case
from tests.oracle.write import write
from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.local.execution.bytecode import Bytecode
from tidelog.engine.local.kernels import layout as k
from tidelog.plan.shared import MOST_VARIANTS, _grown
from tidelog.plan.show import show_plan


def shown(rules: str) -> str:
    return show_plan(compile_program(Source("<test>", RELATIONS + rules)).rules)


def test_a_rule_that_goes_on_where_another_ends_shares_its_steps() -> None:
    assert """
    Δ P(q, r)   probe E(r, s) by .a = r → where s > (5: u32) → emit A(q, s)
                shares its first step with `A(x, z) :- P(x, y), E(y, z).`
""" in shown("A(x, z) :- P(x, y), E(y, z).\nA(q, s) :- P(q, r), E(r, s), s > 5.")


def test_one_body_for_several_heads_is_told() -> None:
    found = shown("A(x, z), A(z, x) :- P(x, y), E(y, z).")
    assert found.count("shares all of its body with the head A(x, z)\n") == 3
    found = shown("A(x, y) :- P(x, y).\nA(v, u) :- P(u, v).")
    assert found.count("shares all of its body with `A(x, y) :- P(x, y).`\n") == 2


def test_what_only_reads_the_same_delta_shares_nothing_worth_a_line() -> None:
    assert "shares" not in shown("A(x, z) :- P(x, y), E(y, z).\nA(x, x) :- P(x, y), N(x).").split("Δ rule")[0]


def test_leapfrog_joins_and_values_that_the_kernel_cannot_make_are_not_shared() -> None:
    leaping = "P(x, y), E(y, z), E(x, z)"
    assert "shares" not in shown(f"A(x, z) :- {leaping}.\nA(z, x) :- {leaping}.").split("Δ rule")[0]
    assert "shares" not in shown('A(x, y) :- P(x, y), "${x}" == "1".\nA(y, x) :- P(x, y), "${x}" == "1".')


def test_a_tree_has_as_many_variants_as_the_engine_allows() -> None:
    assert MOST_VARIANTS == k.OUT_SPARE


@pytest.mark.parametrize("name", SHARING)
def test_rules_share_what_the_engine_enumerates_once(name: str) -> None:
    run = Running(RELATIONS + "\n".join(SHARING[name]))
    run.commit(FACTS)
    _compare(run)


def test_random_rules_share_what_the_engine_enumerates_once() -> None:
    compared = 0
    for seed in range(40):
        program = random_case(random.Random(seed)).program
        compared += _compare(Running(write(program)))
    assert compared >= 10


def _compare(run: Running) -> int:
    """Asserts that the engine's trees have the same variants, and an iterator for each of those here.

    Returns how many variants share something.
    """
    compared = 0
    for stratum in run.engine._runtime.strata:
        bytecode: list[Bytecode] = stratum.plans.variants
        for tree in bytecode:
            found = _grown(tree.variants, stratum.relations)
            if tree.in_python:
                assert found == [(None, None)]
                continue
            (mine,) = {id(each): each for each, _ in found}.values()
            assert mine is not None
            assert [id(block.variant) for block in mine.blocks()] == [id(variant) for variant in tree.at]
            compared += len(found) - 1
    return compared
