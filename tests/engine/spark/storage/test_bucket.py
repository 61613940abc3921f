"""A value has one bucket, wherever it is stored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidelog.engine.spark.storage.bucket import bucket_of_column, bucket_of_constant, rows_of_bucket
from tidelog.rules.ir import Constant
from tidelog.rules.schema.arrow import arrow_type
from tidelog.types import BOOL, S8, S64, STRING, U8, U64, U128, Type

VALUES: list[tuple[Type, list[bool | int | str]]] = [
    (BOOL, [False, True]),
    (U8, [0, 1, 255]),
    (U64, [0, 2**63, 2**64 - 1]),
    (S8, [-128, -1, 0, 127]),
    (S64, [-(2**63), -1, 2**63 - 1]),
    (U128, [0, 2**127]),
    (STRING, ["", "a", "ä", "a" * 100]),
]


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=lambda value: str(value)[:20])
def test_a_constant_has_the_bucket_of_the_same_value_in_a_column(type_: Type, values: list[bool | int | str]) -> None:
    stored = [str(value) for value in values] if type_ == U128 else values
    column = pa.chunked_array([pa.array(stored[:1], arrow_type(type_)), pa.array(stored[1:], arrow_type(type_))])
    found = bucket_of_column(column, 7).tolist()
    assert found == [bucket_of_constant(Constant(value, type_), 7) for value in values]
    assert all(0 <= bucket < 7 for bucket in found)


def test_buckets_are_the_same_in_every_release() -> None:
    """State on disk is cut by them."""
    assert bucket_of_column(pa.chunked_array([pa.array([0, 1, 2, 3, 4], pa.uint32())]), 5).tolist() == [0, 0, 0, 3, 3]
    assert bucket_of_column(pa.chunked_array([pa.array(["a", "b", "c"])]), 5).tolist() == [4, 2, 2]


def test_consecutive_numbers_are_spread_evenly() -> None:
    counts = np.bincount(bucket_of_column(pa.chunked_array([pa.array(np.arange(10_000))]), 4))
    assert counts.min() > 2_300


def test_the_buckets_of_a_table_are_its_rows_each_once() -> None:
    table = pa.table({"c0": ["a", "b", "c", "a"], "c1": [1, 2, 3, 4]})
    parts = [rows_of_bucket(table, 0, 3, bucket).to_pylist() for bucket in range(3)]
    assert sorted(row["c1"] for part in parts for row in part) == [1, 2, 3, 4]
    assert all(len({bucket for bucket in range(3) for row in parts[bucket] if row["c0"] == "a"}) == 1 for _ in parts)
