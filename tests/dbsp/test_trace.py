"""Traces: the sums of deltas, which share memory and yet never change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dbsp.generate import zsets
from tidelog.dbsp import Trace, ZSet, row_hashes, trace
from tidelog.dbsp.row_hashes import Words, hash_rows


def keys_of(rows: Words) -> row_hashes.Hashes:
    return hash_rows(rows[:, :1])


def contents(of: Trace) -> ZSet:
    return ZSet.from_words(*of.everything())


@pytest.mark.parametrize("collide", [False, True])
@settings(deadline=None, max_examples=60)
@given(st.lists(zsets(), max_size=8))
def test_a_trace_is_the_sum_of_its_deltas_and_the_old_ones_stay(collide: bool, deltas: list[ZSet]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(trace, "marks_of", lambda keys, rows: keys & np.uint64(0xFFFFFFFF00000000))
        traces, sums = [Trace.empty(2)], [ZSet()]
        for delta in filter(len, deltas):
            traces.append(traces[-1].add(keys_of(delta.words), delta.words, delta.weights))
            sums.append(sums[-1] + delta)
        for held, expected in zip(traces, sums, strict=True):
            assert contents(held) == expected
            assert len(held) == len(expected)
            lengths = list(map(len, held.batches))
            assert all(longer >= 2 * shorter for longer, shorter in pairwise(lengths)), lengths
            for row in {row[0] for row in expected}:
                asked = ZSet.of((row, row)).words
                found = held.find(keys_of(asked))
                mine = found.rows[:, 0] == asked[0, 0]
                assert ZSet.from_words(found.rows[mine], found.weights[mine]) == expected.where(
                    lambda x, y, row=row: x == row
                )
                assert held.fanout(keys_of(asked))[0] >= len(found.rows)


def test_a_small_delta_shares_the_memory_of_the_rest() -> None:
    rows = np.arange(2000, dtype=np.int64).reshape(-1, 2)
    large = Trace.empty(2).add(keys_of(rows), rows, np.ones(1000, dtype=np.int64))
    extra = np.array([[-1, -1]], dtype=np.int64)
    more = large.add(keys_of(extra), extra, np.ones(1, dtype=np.int64))
    assert more.batches[0] is large.batches[0]
    gone = more.add(keys_of(rows[:1]), rows[:1], -np.ones(1, dtype=np.int64))
    assert gone.batches[0].rows is large.batches[0].rows
    assert (len(large), len(more), len(gone)) == (1000, 1001, 1000)
    assert more.bytes() > large.bytes()


def test_memory_is_given_back_when_most_rows_are_gone() -> None:
    rows = np.arange(2000, dtype=np.int64).reshape(-1, 2)
    weights = np.ones(1000, dtype=np.int64)
    large = Trace.empty(2).add(keys_of(rows), rows, weights)
    assert large.add(keys_of(rows[:900]), rows[:900], -weights[:900]).bytes() < large.bytes() / 5
    assert large.add(keys_of(rows), rows, -weights).bytes() == 0


def test_rows_with_some_word_in_a_column_are_left_out() -> None:
    rows = np.array([[0, 1], [1, 1], [2, 1]], dtype=np.int64)
    held = Trace.empty(2).add(keys_of(rows), rows, np.ones(3, dtype=np.int64))
    left = held.without(0, np.array([0, 2]))
    assert left.everything()[0].tolist() == [[1, 1]]
