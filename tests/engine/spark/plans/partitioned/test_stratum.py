"""The parts of a stratum have, together, the very numbers of a local engine with the whole stratum."""

from __future__ import annotations

import random

import pytest
from tests.engine.spark.plans.partitioned.parts import Parts
from tests.engine.spark.plans.partitioned.programs import PROGRAMS, random_history

from tidelog.rules.ir import Role


def inputs_of(parts: Parts) -> dict[str, list[str]]:
    relations = parts.rules.relations.values()
    return {each.name: [str(c.type) for c in each.columns] for each in relations if each.role is Role.INPUT}


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_keep_the_numbers_of_one_engine_under_random_changes(name: str, count: int) -> None:
    dice = random.Random(f"{name} {count}")
    for size, first, steps in ((6, 8, 8), (14, 16, 8)):
        parts = Parts(PROGRAMS[name], count)
        for number, changes in enumerate(random_history(dice, inputs_of(parts), size, first, steps)):
            if number == 4:
                parts.load()
            assert parts.commit(changes) == {"update" if number else "bootstrap"}
        parts.close()
