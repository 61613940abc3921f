"""Filters of the values in a column: they never deny a value that is there, and deny most others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidelog.engine.spark.plans.tasks import key_filters
from tidelog.engine.spark.plans.tasks.key_filters import KeyFilter


def column(numbers: range, repeat: int = 1) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(np.repeat(np.array(numbers, np.uint32), repeat))])


@pytest.mark.parametrize("values", [0, 1, 20, 500, 5_000])
def test_a_filter_has_all_its_values_and_few_others(values: int) -> None:
    found = KeyFilter.of(column(range(values), repeat=3))
    assert found.may_have(column(range(values))).all()
    others = found.may_have(column(range(1_000_000, 1_010_000)))
    assert others.mean() < 0.1
    assert len(found.bits) <= max(512, 64 * values)


def test_a_column_of_very_many_values_fills_its_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_filters, "_MOST_BITS", 512)
    monkeypatch.setattr(key_filters, "_EXAMINED_TOGETHER", 1000)
    found = KeyFilter.of(column(range(20_000)))
    assert found.bits.all()
    assert len(found.bits) == 512
    assert found.with_values(column(range(5))).may_have(column(range(90_000, 90_100))).all()
