"""The parts of a stratum have, together, the very numbers of a local engine with the whole stratum."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests.engine.spark.plans.partitioned.parts import Parts
from tests.engine.spark.plans.partitioned.programs import PROGRAMS, random_history

from tidelog.engine.spark.plans.partitioned import stratum
from tidelog.engine.spark.plans.partitioned.exchange import Exchange
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


def test_large_waves_are_sent_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "LARGE_MESSAGE", 100)
    monkeypatch.setattr(stratum, "_ROUTED_TOGETHER", 3)
    sent, send = [], Exchange.send

    def counted(exchange: Exchange, parts: Sequence[bytes]) -> None:
        sent.append(len(parts))
        send(exchange, parts)

    monkeypatch.setattr(Exchange, "send", counted)
    parts = Parts(PROGRAMS["andersen"], 2)
    for changes in random_history(random.Random(3), inputs_of(parts), 6, 12, 2):
        parts.commit(changes)
    parts.close()
    assert len(sent) > 10


def test_all_parts_give_up_an_update_that_kills_most_instances() -> None:
    parts = Parts(PROGRAMS["closure"], 3, strategy="elastic", whole="recompute")
    chain = [(i, i + 1) for i in range(12)]
    assert parts.commit([(+1, "Up", chain)]) == {"bootstrap"}
    assert parts.commit([(-1, "Up", chain[5:7])]) == {"bootstrap"}
    parts.close()
