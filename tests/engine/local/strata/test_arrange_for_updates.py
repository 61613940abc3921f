"""A Bootstrap arranges what the next Update probes, if that takes a small part of its time."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.strata import joins

JOIN = """
input relation A(k: s64, v: s64)
input relation B(k: s64, w: s64)
output relation J(v: s64, w: s64)
J(v, w) :- A(k, v), B(k, w).
"""


def loaded(part: float) -> LocalEngine:
    made = LocalEngine(compile_program(Source("<test>", JOIN)).rules)
    made.open()
    rows = {"A": [(i % 50, i) for i in range(500)], "B": [(i % 60, i) for i in range(600)]}
    with mock.patch.multiple(joins, ARRANGING_PART=part, LEAST_ARRANGING=0.0):
        made.commit([Operation(name, 1, facts) for name, facts in rows.items()])
    return made


@pytest.mark.parametrize("changed", ["A", "B"])
@pytest.mark.parametrize("part", [0.0, 1e9])
def test_the_first_update_builds_no_arrangement_if_the_bootstrap_did(part: float, changed: str) -> None:
    engine = loaded(part)
    built = []
    build = Arrangement.build

    def noted(
        self: Arrangement, stores: np.ndarray, lines: np.ndarray, number: int, relation: int, **rest: Any
    ) -> None:
        built.append(relation)
        build(self, stores, lines, number, relation, **rest)

    before = sorted(engine.rows("J"))
    with mock.patch.object(Arrangement, "build", noted):
        engine.commit([Operation(changed, -1, [(7, 7)])])
        after = sorted(engine.rows("J"))
        engine.commit([Operation(changed, 1, [(7, 7)])])
    assert len(after) < len(before)
    assert sorted(engine.rows("J")) == before
    assert len(built) == 0 if part else len(built) <= 1
    # One of the two was there already: the Bootstrap itself has probed it.
    assert sum(len(engine._store(name).arrangements) for name in "AB") == (2 if part else 1 + len(built))
