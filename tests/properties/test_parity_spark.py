"""`parity_*`: the oracle, the local engine and Spark agree, on each of Spark's three plans.

A Spark job costs half a second whatever its size, so the cases are few and fixed: some random ones, and one that has
every type in it where Spark's own types could betray it.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.oracle.case import Case
from tests.oracle.generate import random_case
from tests.oracle.history import Transaction, Write
from tests.oracle.read import read
from tests.properties.check import agrees_with_oracle
from tests.properties.spark_plans import agrees_on_spark

TYPES = read("""
input relation Item(n: u64, wide: bit<100>, small: signed<5>, text: string, flag: bool)
output relation Ordered(a: bit<100>, b: bit<100>)
output relation Next(n: u64, small: signed<5>, text: string)

Ordered(a, b) :- Item(_, a, _, s, _), Item(_, b, _, t, _), a < b, s <= t.
Next(n + 1, small - 1, text ++ n) :-
    Item(n, wide, small, text, flag), flag or n > 9223372036854775807, not Item(n, wide + 1, _, _, _).
""")
ITEMS = (
    (2**64 - 1, 2**100 - 1, -16, "é", False),
    (2**63, 0, 15, "", False),
    (2**63 - 1, 10, -1, "z", True),
    (2**63, 9, 15, "日本", True),
    (0, 2**64, 0, "Z", True),
    (0, 2**64 + 1, 7, 'a "quoted", one', False),
)
EVERY_TYPE = Case(
    TYPES,
    (
        Transaction((Write(+1, "Item", ITEMS[:4]),)),
        Transaction((Write(-1, "Item", ITEMS[1:3]), Write(+1, "Item", ITEMS[4:]))),
        Transaction((Write(-1, "Item", ITEMS[5:]), Write(+1, "Item", ITEMS[1:2]))),
    ),
)


def seeded(seed: int) -> Case:
    case = random_case(random.Random(seed))
    return Case(case.program, tuple(transaction for transaction in case.history if not transaction.fails)[:3])


@pytest.mark.spark
@pytest.mark.parametrize(
    ("plan", "case", "relations"),
    [
        pytest.param("single task", EVERY_TYPE, None, id="single task, every type"),
        pytest.param("single task", seeded(1), None, id="single task, seed 1"),
        pytest.param("single task", seeded(7), None, id="single task, seed 7"),
        pytest.param("decomposed", EVERY_TYPE, None, id="decomposed, every type"),
        pytest.param("decomposed", seeded(3), None, id="decomposed, seed 3"),
        pytest.param("decomposed", seeded(11), None, id="decomposed, seed 11"),
        pytest.param("frames", EVERY_TYPE, None, id="frames, every type", marks=pytest.mark.slow),
        pytest.param("frames", seeded(9), ["A"], id="frames, seed 9"),
        pytest.param("frames", seeded(12), ["A", "C"], id="frames, seed 12", marks=pytest.mark.slow),
    ],
)
def test_parity_spark_equals_local_and_oracle(plan: str, case: Case, relations: list[str] | None, spark: Any) -> None:
    agrees_with_oracle(case)
    replay = agrees_on_spark(case, spark, plan, relations)
    assert plan in {stratum.place for report in replay.reports for stratum in report.strata}
