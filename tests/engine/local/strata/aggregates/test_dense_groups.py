"""Groups whose keys are numbered in an array are those of the hash table, whatever the sample of keys has missed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.local.run import Running

from tidelog.engine.local.strata.aggregates import group_table
from tidelog.engine.local.strata.aggregates.group_table import DenseKeys

PROGRAM = """
import group
input relation A(id: s64, k: s64, l: u64, v: s64)
output relation One(k: s64, n: u64, s: s64, top: s64)
output relation Two(k: s64, l: u64, n: u64, best: (s64, s64))
One(k, n, s, top) :-
    A(_, k, _, v), var g = v.group_by(k), var n = g.count_distinct(), var s = g.sum_of(|x| x), var top = g.max().
Two(k, l, n, best) :-
    A(i, k, l, v), var g = (i, v).group_by((k, l)), var n = g.count_distinct(), var best = g.arg_min(|t| t.1).
"""
Row = tuple[int, int, int, int]


def expected(rows: set[Row]) -> tuple[set[Row], set[tuple[int, int, int, tuple[int, int]]]]:
    values: dict[int, set[int]] = {}
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, k, m, v in rows:
        values.setdefault(k, set()).add(v)
        pairs.setdefault((k, m), []).append((i, v))
    one = {(k, len(each), sum(each), max(each)) for k, each in values.items()}
    # Of equal values, the least tuple counts.
    two = {(k, m, len(each), min(each, key=lambda t: (t[1], t))) for (k, m), each in pairs.items()}
    return one, two


@pytest.mark.parametrize("sample", [1, 4, 1 << 12])
@pytest.mark.parametrize("low", [0, -9, (1 << 63) - 40, -(1 << 63)])
def test_aggregates_are_those_of_a_recompute(low: int, sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_table, "MANY", 1)
    monkeypatch.setattr(group_table, "_SAMPLE", sample)
    rng = np.random.default_rng(sample + low % 7)
    made = np.column_stack(
        [rng.permutation(900), rng.integers(0, 30, 900), rng.integers(0, 6, 900), rng.integers(-50, 50, 900)]
    )
    made[:, 1] = [low + int(word) if word < 28 else 3 for word in made[:, 1]]
    rows = {(i, k, m, v) for i, k, m, v in made.tolist()}
    running = Running(PROGRAM)
    running.commit({"A": sorted(rows)})
    assert (set(running.rows("One")), set(running.rows("Two"))) == expected(rows)
    gone = set(sorted(rows)[::3])
    new = {(i + 1000, k, m, v) for i, k, m, v in sorted(rows)[::5]} | {(5000, -77, 99, 1)}
    running.commit({"A": sorted(new)}, {"A": sorted(gone)})
    rows = (rows - gone) | new
    assert (set(running.rows("One")), set(running.rows("Two"))) == expected(rows)


def test_sparse_keys_have_no_numbers() -> None:
    words = np.array([[0], [1 << 50]])
    assert DenseKeys.of(words, 1000) is None
    ends = np.array([[-(1 << 63)], [(1 << 63) - 1]])
    assert DenseKeys.of(ends, 1000) is None
    assert DenseKeys.of(np.array([[5], [900]]), 1000) is not None
