"""Variants that begin alike become one tree: what they share is there once, and each still finds its own."""

from __future__ import annotations

import pytest
from tests.engine.local.run import Rows, Running

import tidelog
from tidelog.engine.local.execution.bytecode import Bytecode
from tidelog.engine.local.kernels import layout as k

RELATIONS = """
    input relation P(a: u32, b: u32)
    input relation E(a: u32, b: u32)
    input relation N(a: u32)
    output relation A(a: u32, b: u32)
    output relation B(a: u32, b: u32)
    output relation C(a: u32)
"""
FACTS: dict[str, Rows] = {
    "P": [(a, b) for a in range(6) for b in range(6) if (a * b) % 4 == 1],
    "E": [(a, b) for a in range(6) for b in range(9) if (a + b) % 3],
    "N": [(2,), (4,)],
}


def trees(text: str) -> tuple[Running, list[Bytecode]]:
    """What the strata with rules run, once there are rows."""
    run = Running(text)
    run.commit(FACTS)
    return run, [bytecode for stratum in run.engine._runtime.strata for bytecode in stratum.plans.variants]


def blocks(bytecode: Bytecode) -> int:
    return int(bytecode.segments[0].code[k.CODE_ITERATORS])


def shared(found: list[Bytecode]) -> list[int]:
    """The iterators of each tree that belongs to several variants, against what they would have apart."""
    return [blocks(bytecode) for bytecode in found if len(bytecode.variants) > 1]


def one_by_one(text: str, rules: list[str]) -> dict[str, dict[tuple[int, ...], int]]:
    """What the rules derive, each in a program of its own."""
    derived: dict[str, dict[tuple[int, ...], int]] = {}
    for rule in rules:
        run = Running(text + rule)
        run.commit(FACTS)
        for name in ("A", "B", "C"):
            derived.setdefault(name, {}).update(run.rows(name))
    return derived


SHARING = {
    "the same body": ["A(x, z) :- P(x, y), E(y, z).", "A(z, x) :- P(x, y), E(y, z)."],
    "other names": ["A(x, z) :- P(x, y), E(y, z).", "A(q, r) :- P(q, s), E(s, r), q < r."],
    "a condition more": ["A(x, z) :- P(x, y), E(y, z), z > 3.", "A(x, y) :- P(x, y), E(y, z), z > 3, x != z."],
    "other conditions": ["A(x, z) :- P(x, y), E(y, z), z > 3.", "A(x, z) :- P(x, y), E(y, z), z < 2."],
    "a literal more": ["A(x, y) :- P(x, y).", "A(x, z) :- P(x, y), E(y, z).", "A(x, 9) :- P(x, y), E(y, z), N(z)."],
    "negation": ["A(x, y) :- P(x, y), not N(x).", "A(y, x) :- P(x, y), not N(x), not N(y).", "A(x, x) :- P(x, _)."],
    "assignments": [
        "A(x, w) :- P(x, y), var w = y + 1, w > 2.",
        "A(w, x) :- P(x, y), var v = y + 1, var w = v + 1, E(w, _).",
        "A(w, x) :- P(x, y), var w = y + 2, E(w, _).",
    ],
    "constants": [
        "A(x, 7) :- P(x, 1).",
        "A(7, x) :- P(x, 1), E(x, 2).",
        "A(x, 8) :- P(x, 1), E(x, 4).",
        "A(8, x) :- P(x, 5).",
    ],
    "a repeated variable": ["A(x, x) :- P(x, x).", "A(x, z) :- P(x, x), E(x, z).", "A(x, y) :- P(x, y), E(x, y)."],
    "no body": ["A(1, 2).", "A(2, 3).", "A(x, x) :- N(x)."],
}


@pytest.mark.parametrize("name", SHARING)
def test_together_rules_derive_what_they_derive_alone(name: str) -> None:
    rules = SHARING[name]
    run, found = trees(RELATIONS + "\n".join(rules))
    wanted = one_by_one(RELATIONS, rules)
    for relation in ("A", "B", "C"):
        assert run.rows(relation) == wanted[relation]
    assert bool(shared(found)) == (name != "no body")
    # And so they are maintained: everything goes, everything returns.
    run.commit(delete=FACTS)
    assert run.rows("A") == {row: 1 for row in [(1, 2), (2, 3)] if name == "no body"}
    run.commit(insert=FACTS)
    assert run.rows("A") == wanted["A"]


def test_the_literals_in_common_are_joined_once() -> None:
    apart = sum(map(blocks, trees(RELATIONS + "A(x, z) :- P(x, y), E(y, z).")[1]))
    together = sum(map(blocks, trees(RELATIONS + "A(x, z) :- P(x, y), E(y, z).\nA(z, x) :- P(x, y), E(y, z).")[1]))
    assert together == apart


def test_a_rule_with_many_heads_is_evaluated_once() -> None:
    run, found = trees(RELATIONS + "A(x, z), A(z, x), A(y, y) :- P(x, y), E(y, z).")
    assert all(len(bytecode.variants) == 3 for bytecode in found if bytecode.variants[0].rule.head.relation == "A")
    assert (
        run.rows("A")
        == one_by_one(
            RELATIONS, ["A(x, z) :- P(x, y), E(y, z).", "A(z, x) :- P(x, y), E(y, z).", "A(y, y) :- P(x, y), E(y, z)."]
        )["A"]
    )


def test_more_rules_than_one_row_may_feed_at_once() -> None:
    rules = "\n".join(f"A(x, {n}) :- P(x, y)." for n in range(150))
    run, found = trees(RELATIONS + rules)
    assert max(len(bytecode.variants) for bytecode in found) <= k.OUT_SPARE
    assert len(run.rows("A")) == 150 * len({a for a, _ in FACTS["P"]})


def test_a_division_in_a_tree_names_its_own_rule() -> None:
    run = Running(RELATIONS + "A(x, y) :- P(x, y).\nA(x, 6 / (y - 1)) :- P(x, y).\nA(y, x) :- P(x, y).")
    with pytest.raises(tidelog.EvaluationError, match=r"rule `A\(x, 6 / \(y - 1\)\)"):
        run.commit({"P": [(1, 1)]})
