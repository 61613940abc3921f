"""Random tables of every plain type, and of `Option`s of them, through DataFrames and the state of the Spark engine."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.sample import todays

import tidelog
from tidelog.scaled_values import from_units, unit_range
from tidelog.types import DATE, DURATION, TIMESTAMP, DecimalType, ScaledType

SCALED: list[ScaledType] = [
    *(DATE, TIMESTAMP, DURATION),
    *(DecimalType(10, 2), DecimalType(18, 18), DecimalType(38, 0), DecimalType(38, 20)),
]
INTEGERS = {"u8": (0, 255), "s32": (-(2**31), 2**31 - 1), "u64": (0, 2**64 - 1), "u128": (0, 2**128 - 1)}


def value(random: Random, name: str) -> Any:
    """A value of a type, often an extreme one."""
    if name.startswith("Option<"):
        found = None if random.random() < 0.3 else value(random, name[7:-1])
        return found if found == found else None  # to pandas NaN is null
    for type_ in SCALED:
        if str(type_) == name:
            low, high = unit_range(type_)
            return from_units(random.choice((low, high, 0, random.randint(low, high))), type_)
    if name in INTEGERS:
        low, high = INTEGERS[name]
        return random.choice((low, high, random.randint(low, high)))
    if name == "double":
        return random.choice((0.0, 0.1, float("nan"), float("inf"), -1e300, random.random()))
    return random.choice(("", "a", 'é,"\n', str(random.random())))


@pytest.mark.spark
@pytest.mark.parametrize("seed", todays(range(1_000), 2))
def test_tables_come_back_equal_from_both_engines(seed: int, spark: Any, tmp_path: Any) -> None:
    random = Random(seed)
    names = [*map(str, SCALED), *INTEGERS, "double", "string"]
    columns = [random.choice((name, f"Option<{name}>")) for name in names]
    declared = ", ".join(f"c{place}: {name}" for place, name in enumerate(columns))
    variables = ", ".join(f"c{place}" for place in range(len(columns)))
    program = tidelog.compile(
        f"input relation A(n: u32, {declared})\noutput relation B({declared})\nB({variables}) :- A(_, {variables})."
    )
    rows = [(number, *(value(random, name) for name in columns)) for number in range(12)]
    with program.open() as local, program.open(engine="spark", spark=spark, path=str(tmp_path / "db")) as db:
        for each in (local, db):
            with each.transaction() as tx:
                tx.insert("A", rows)
            with each.transaction() as tx:
                tx.delete("A", rows[:3])
        assert db.relation("A").rows() == local.relation("A").rows()
        assert db.relation("B").rows() == local.relation("B").rows()
        assert db.relation("A").to_arrow().schema == local.relation("A").to_arrow().schema
        frame = db.relation("A").to_spark()
        for given in (frame, local.relation("A").to_pandas(), local.relation("A").to_polars()):
            with program.open(engine="spark", spark=spark) as other:
                with other.transaction() as tx:
                    tx.insert("A", given)
                assert other.relation("A").rows() == local.relation("A").rows()
    with program.open(path=str(tmp_path / "db")) as again:
        assert len(again.relation("A").rows()) == len(rows) - 3
