"""Equalities are solved for the one variable that is not bound."""

from __future__ import annotations

import random

import pytest

import tidelog
from tidelog.plan.solve import solved
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Join, Let, deltas, plan_variant
from tidelog.rules.ir import Condition, Rule

TEXT = """
input relation A(x: u8, y: u8)
input relation B(x: u8, y: u8)
input relation S(x: string, y: string)
output relation P(x: u8, z: u8)
"""


def rule(body: str) -> Rule:
    program = tidelog.compile(TEXT + f"P(x, z) :- {body}.").stages.rules
    (found,) = (each for stratum in program.strata for each in stratum.rules)
    return found


@pytest.mark.parametrize(
    ("condition", "bound", "name"),
    [
        ("x % 3 == z", "xy", "z"),
        ("z == x % 3", "xy", "z"),
        ("x + z == 10", "xy", "z"),
        ("x - z == y", "xy", "z"),
        ("y - (z + x) == 3", "xy", "z"),
        ("x % 3 == z", "yw", None),
        ("z * 2 == x", "xy", None),
        ("z + z == x", "xy", None),
        ("x / y == z", "xy", None),
        ("x < z", "xy", None),
    ],
)
def test_an_equality_says_what_its_last_variable_is(condition: str, bound: str, name: str | None) -> None:
    found = rule(f"A(x, y), B(z, w), {condition}")
    (test,) = (each.expression for each in found.body if isinstance(each, Condition))
    solution = solved(test, set(bound))
    assert (None if solution is None else solution[0].name) == name


def test_the_last_variable_is_looked_up() -> None:
    found = rule("A(x, y), B(z, w), x % 3 == z")
    steps = plan_variant(found, deltas(found)[0], FromSizes(lambda _: 100)).steps
    let, join = steps
    assert isinstance(let, Let)
    assert not let.compare
    assert isinstance(join, Join)
    assert join.keys == (0,)


@pytest.mark.parametrize(
    "condition",
    ["x % 3 == z", "x + z == 10", "x - z == y", "z - x == 250", "y - (z + x) == 3", "x + y + z == w", "z == w"],
)
def test_solutions_are_those_of_the_condition(condition: str) -> None:
    rng = random.Random(condition)
    rows = {name: sorted({(rng.randrange(256), rng.randrange(256)) for _ in range(300)}) for name in "AB"}
    rows["B"] += [(z, w) for z, w in ((0, 0), (255, 255), (1, 255)) if (z, w) not in rows["B"]]
    with tidelog.compile(TEXT + f"P(x, z) :- A(x, y), B(z, w), {condition}.").open() as db:
        with db.transaction() as tx:
            for name, own in rows.items():
                tx.insert(name, own)
        names = dict.fromkeys("xyzw")
        wanted = set()
        for x, y in rows["A"]:
            for z, w in rows["B"]:
                names = {"x": x, "y": y, "z": z, "w": w}
                left, right = (eval(side, {}, names) for side in condition.split("=="))
                if (left - right) % 256 == 0:
                    wanted.add((x, z))
        assert set(db.relation("P")) == wanted
        with db.transaction() as tx:
            tx.delete("B", rows["B"][:150])
        kept = set(rows["B"][150:])
        assert set(db.relation("P")) == {
            (x, z)
            for x, y in rows["A"]
            for z, w in kept
            if (eval(condition.split("==")[0], {}, {"x": x, "y": y, "z": z, "w": w})
                - eval(condition.split("==")[1], {}, {"x": x, "y": y, "z": z, "w": w})) % 256 == 0
        }  # fmt: skip
