"""Checksums: the same in any order of rows, another one for other rows, and the same as Soufflé's expression says."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from tidelog.bench.references.checksum import checksum, souffle_expression


def table(*rows: tuple[int, ...]) -> pa.Table:
    return pa.table({f"c{i}": pa.array(column, pa.uint32()) for i, column in enumerate(zip(*rows))})


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [(i, i * i % 97, 3) for i in range(200)]
    assert checksum(table(*rows)) == checksum(table(*reversed(rows)))
    chunked = pa.concat_tables([table(*rows[:50]), table(*rows[50:])])
    assert checksum(chunked) == checksum(table(*rows))


def test_other_rows_have_another_sum() -> None:
    rows = table((1, 2), (3, 4))
    others = [table((1, 4), (3, 2)), table((2, 1), (4, 3)), table((1, 2), (3, 5)), table((2, 2), (2, 4))]
    sums = [checksum(each).sum for each in (rows, *others)]
    assert len(set(sums)) == len(sums)


def test_numbers_of_other_widths_and_signs_have_the_same_sum() -> None:
    wide = pa.table({"a": pa.array([1, 5], pa.uint64()), "b": pa.array([2, 6], pa.int32())})
    assert checksum(wide) == checksum(table((1, 2), (5, 6)))


def test_text_has_a_sum() -> None:
    one, same, other = (pa.table({"t": texts}) for texts in (["a", "b", "a"], ["b", "a", "a"], ["a", "b", "b"]))
    assert checksum(one) == checksum(same) != checksum(other)
    assert checksum(one).has_text
    assert not checksum(table((1,))).has_text


@pytest.mark.parametrize("columns", [1, 2, 4, 8])
def test_the_expression_for_souffle_gives_the_same_sum(columns: int) -> None:
    rows = np.random.default_rng(columns).integers(0, 2**32, (30, columns), dtype=np.uint64).astype(np.uint32)
    text = souffle_expression(columns).replace("bxor", "^").replace("bshru", ">>")
    text = re.sub(r"as\((x\d+), unsigned\)", r"\1", re.sub(r"\b(\d+)u", r"np.uint32(\1)", text))
    with np.errstate(over="ignore"):
        numbers = eval(text, {"np": np} | {f"x{i}": rows[:, i] for i in range(columns)})
    assert int(numbers.sum(dtype=np.uint64)) & 0xFFFFFFFF == checksum(table(*rows.tolist())).sum
