"""The worked examples of "Incremental Maintenance for Leapfrog Triejoin", with their values."""

from __future__ import annotations

import numpy as np

from tests.engine.local.strategies.trace.traces import BEGIN, END, Traced
from tidelog.engine.local.strategies.trace import sensitivity
from tidelog.engine.local.strategies.trace.rule import Indices, Sensitivity

UNARY = """
input relation A(x: s64)
input relation B(x: s64)
output relation C(x: s64)
C(x) :- A(x), B(x).
"""
A = {(x,) for x in (0, 2, 4, 5, 6)}
B = {(x,) for x in (1, 2, 6, 7)}


def containing(records: list[tuple[int, int]], word: int) -> set[tuple[int, int]]:
    """The intervals that contain a word, by the index."""
    indices = Indices([Sensitivity(0, 0, 0, 0)])
    indices.build(0, np.array(records, dtype=np.int64))
    out = np.zeros((len(records), 3), dtype=np.int64)
    found = sensitivity.query(indices.lines, 0, np.full(2, BEGIN, dtype=np.int64), 0, word, out)
    return {(first, last) for _, first, last in out[:found].tolist()}


def test_section_3_2_which_intervals_contain_10() -> None:
    assert containing([(2, 10), (3, 7), (5, 15), (6, 9)], 10) == {(2, 10), (5, 15)}


def test_section_3_2_which_intervals_contain_80() -> None:
    holds = [(11, 100), (49, 82), (72, 87), (77, 96)]
    others = [(1, 9), (5, 60), (30, 79), (50, 51), (81, 82), (90, 99), (96, 100)]
    assert containing(sorted(holds + others), 80) == set(holds)


def test_section_4_1_sensitivities_of_a_unary_join() -> None:
    found = Traced(UNARY, "x", {"A": A, "B": B}, keep_all=True)
    assert found.sensitive("A", 0) == {(BEGIN, 0), (1, 2), (2, 4), (6, 6), (6, END)}
    assert found.sensitive("B", 0) == {(BEGIN, 1), (2, 2), (4, 6)}


def test_section_4_1_1_maintenance_of_a_unary_join() -> None:
    found = Traced(UNARY, "x", {"A": A, "B": B}, keep_all=True)
    assert found.rows() == {(2,), (6,)}
    found.change(inserted={"A": {(8,)}, "B": {(3,)}}, deleted={"A": {(5,)}, "B": {(2,)}})
    assert found.traced.regions[:, 1 + 1 :].tolist() == [[2, 2], [6, END]]  # the change oracle
    assert found.rows() == {(6,)}
    # What was matched is gone ([2, 2] of B, [6, ∞] of A); what the regions were evaluated with has come.
    assert found.sensitive("A", 0) == {(BEGIN, 0), (1, 2), (2, 4), (6, 6), (2, 2), (6, 8)}
    assert found.sensitive("B", 0) == {(BEGIN, 1), (4, 6), (2, 3), (6, 6), (8, END)}


SEVERAL = """
input relation G(x: s64, z: s64)
input relation H(y: s64, z: s64)
input relation I(x: s64, y: s64, z: s64)
input relation R(z: s64)
output relation F(x: s64, y: s64)
F(x, y) :- G(x, z), H(y, z), I(x, y, z), R(z).
"""


def test_section_4_2_indices_kept_and_left_out() -> None:
    facts: dict[str, set[tuple[int, ...]]] = {"G": {(1, 3)}, "H": {(2, 3)}, "I": {(1, 2, 3)}, "R": {(3,)}}
    found = Traced(SEVERAL, "xyz", facts, keep_all=False)
    names = list(found.program.relations)
    kept = {(names[kind.relation], "xyz"[kind.level], kind.known, kind.others) for kind in found.traced.indices.kinds}
    # G(x, [z], y)   H([y], x)   H(y, [z], x)   R([z], x, y)
    assert kept == {("G", "z", 1, 1), ("H", "y", 0, 1), ("H", "z", 1, 1), ("R", "z", 0, 2)}
    every = Traced(SEVERAL, "xyz", facts, keep_all=True)
    kinds = every.traced.indices.kinds
    assert {(names[kind.relation], "xyz"[kind.level]) for kind in kinds} == {
        *(("G", name) for name in "xz"),
        *(("H", name) for name in "yz"),
        *(("I", name) for name in "xyz"),
        ("R", "z"),
    }
    assert every.sensitive("R", 2) >= {(BEGIN, 1, 2, 3)}  # until R's first z, at x = 1, y = 2


def test_section_4_2_1_tree_surgery() -> None:
    text = """
    input relation A(x: s64, y: s64, z: s64)
    output relation C(x: s64, y: s64, z: s64)
    C(x, y, z) :- A(x, y, z).
    """
    first = {(0, 30, 80), (0, 30, 81), (1, 35, 60), (1, 35, 61), (3, 40, 90), (3, 50, 91), (3, 50, 92)}
    erased = {(0, 30, 81), (3, 40, 90), (3, 50, 92)}
    found = Traced(text, "xyz", {"A": first}, keep_all=False)
    found.change(inserted={"A": {(4, 60, 71)}}, deleted={"A": erased})
    vertices = {(*line[1 : 1 + line[0]], line[-1]) for line in found.traced.regions.tolist() if line[-1] == line[-2]}
    assert len(vertices) == len(found.traced.regions)
    assert vertices == {(0, 30, 81), (3, 40), (3, 40, 90), (3, 50, 92), (4,), (4, 60), (4, 60, 71)}
    assert found.rows() == (first - erased) | {(4, 60, 71)}
