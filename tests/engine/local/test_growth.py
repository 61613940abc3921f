"""Memory that moves while a wave runs: results are right when every array has to grow many times in one epoch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage import growable_array
from tidelog.engine.local.storage.growable_array import Growing

LINEAR = "Reach(x, z) :- Reach(x, y), Edge(y, z)."
RIGHT_LINEAR = "Reach(x, z) :- Edge(x, y), Reach(y, z)."
NON_LINEAR = "Reach(x, z) :- Reach(x, y), Reach(y, z)."
IN_PYTHON = 'Reach(x, z) :- Reach(x, y), Edge(y, z), "${x}" != "no".'


@pytest.fixture(params=["small", "mapped", "mapped and looked at"], autouse=True)
def moved_memory_is_lost(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever still reads memory that was replaced by a larger one finds zeros, or the process ends."""
    monkeypatch.setattr(growable_array, "LARGE", 1 << 40 if request.param == "small" else 0)
    resize = Growing.resize

    def wiping(self: Growing[Any], lines: int) -> None:
        old = self.array if request.param != "mapped" else np.zeros(0)
        resize(self, lines)
        old.fill(0)

    monkeypatch.setattr(Growing, "resize", wiping)


def closure(edges: set[tuple[int, int]], nodes: int) -> set[tuple[int, int]]:
    """By a search from every node."""
    after: dict[int, list[int]] = {}
    for x, y in edges:
        after.setdefault(x, []).append(y)
    found = set()
    for start in range(nodes):
        seen, waiting = set[int](), list(after.get(start, ()))
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += after.get(node, ())
        found |= {(start, node) for node in seen}
    return found


def table(edges: set[tuple[int, int]]) -> pa.Table:
    ordered = sorted(edges)
    return pa.table({name: pa.array([row[i] for row in ordered], pa.uint32()) for i, name in enumerate("ab")})


@pytest.mark.parametrize("rule", [LINEAR, RIGHT_LINEAR, NON_LINEAR, IN_PYTHON])
def test_a_large_closure_equals_a_search_before_and_after_large_changes(rule: str) -> None:
    nodes, rng = 230, random.Random(3)
    text = f"""
        input relation Edge(a: u32, b: u32)
        output relation Reach(a: u32, b: u32)
        Reach(x, y) :- Edge(x, y).
        {rule}
    """
    engine = LocalEngine(compile_program(Source("<test>", text)).rules)
    engine.open()
    held: set[tuple[int, int]] = set()
    for share in (0.0, 0.0, 0.02, 0.4, 0.0):
        new = {(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(350)} - held
        old = {edge for edge in held if rng.random() < share}
        held = (held | new) - old
        engine.commit([Operation("Edge", 1, table(new)), Operation("Edge", -1, table(old))])
        found = engine.table("Reach")
        assert set(zip(*[column.to_pylist() for column in found.columns], strict=True)) == closure(held, nodes)
