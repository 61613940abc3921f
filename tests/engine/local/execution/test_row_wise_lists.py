"""Lists whose keys are found by a table keep all rows, and know the new ones, however often the table grows."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution import row_wise_lists
from tidelog.engine.local.execution.row_wise_lists import Lists
from tidelog.engine.local.execution.row_wise_plan import Order
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_lists as kernels


def words(*numbers: int) -> Words:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize("factor", [500, 1 << 40])
def test_a_table_that_grows_keeps_the_lists_and_their_new_rows(factor: int) -> None:
    """The key is `prefix * factor + value`; with a large factor, keys differ only above their low 32 bits, too."""
    rng = np.random.default_rng(7)
    table: Words = np.zeros((1, k.ARRANGEMENT_FIELDS), dtype=np.int64)
    order = Order(0, ((0, factor), (1, 1)), (((1, 1),),), 100 * factor, True)
    with (
        mock.patch.object(row_wise_lists, "FEW_KEYS", -1),
        mock.patch.object(row_wise_lists, "SMALLEST_TABLE", 4),
    ):
        lists = Lists(order, table, 0, 0, with_lines=False)
    nothing = np.zeros(0, dtype=np.int32)
    lists.fill({0: nothing, 1: nothing}, 0, None, words())
    expected: dict[int, list[int]] = {}
    for _ in range(4):
        old = {key: len(values) for key, values in expected.items()}
        prefixes = rng.permutation(40)[:20]
        values = rng.integers(0, 500, 400).astype(np.int32)
        groups: Words = np.stack([prefixes, np.full(20, 20)], axis=1).astype(np.int64)
        for prefix, value in zip(np.repeat(prefixes, 20).tolist(), values.tolist()):
            expected.setdefault(prefix * factor + value, []).append(value)
        rows = words(groups.ctypes.data, values.ctypes.data, 20, 400)
        done = words(0, 0, 0)
        kernels.make_old(table, 0)
        shape, factors = words(2, 0, 1, 100, 1, 500), words(factor, 1, 0, 1)
        while status := kernels.append_by_columns(rows, table, 0, shape, factors, words(0, 0), done):
            lists.grow(status)
        assert table[0, kernels.LIST_COUNT] == len(expected)
        for key, found in expected.items():
            number = words(key)
            kernels.number_keys(table, 0, number)
            record = lists._records.array[int(number[0])]
            start, length, before = record[:3].tolist()
            assert lists._pool.array[start : start + length].tolist() == found
            assert before == old.get(key, 0)


@pytest.mark.parametrize("few_keys", [-1, 1 << 20])
@pytest.mark.parametrize("part_new", [0.0, 0.3, 1.0])
def test_lists_are_filled_with_old_rows_first(few_keys: int, part_new: float) -> None:
    rng = np.random.default_rng(11)
    ids = {column: rng.integers(0, 9, 300).astype(np.int32) for column in range(4)}
    # The key has two digits, the words one and two.
    order = Order(0, ((0, 9), (2, 1)), (((1, 1),), ((3, 9), (1, 2))), 81, True)
    table: Words = np.zeros((1, k.ARRANGEMENT_FIELDS), dtype=np.int64)
    with mock.patch.object(row_wise_lists, "FEW_KEYS", few_keys):
        lists = Lists(order, table, 0, 0 if few_keys < 0 else 300, with_lines=True)
    if few_keys < 0:
        lists = Lists(Order(0, order.keys, order.words, 1 << 40, True), table, 0, 300, with_lines=True)
        assert table[0, kernels.LIST_TABLE] != 0
    is_new = (rng.random(300) < part_new).astype(np.uint8)
    lines = rng.permutation(1000)[:300].astype(np.int64)
    lists.fill(ids, 300, is_new, lines)
    expected: dict[int, list[tuple[int, int, int, bool]]] = {}
    for row in np.argsort(is_new, kind="stable").tolist():
        zero, one, two, three = (int(ids[column][row]) for column in range(4))
        key, is_row_new = 9 * zero + two, bool(is_new[row])
        expected.setdefault(key, []).append((one, 9 * three + 2 * one, int(lines[row]), is_row_new))
    for key, found in expected.items():
        number = words(key)
        if few_keys < 0:
            kernels.number_keys(table, 0, number)
        start, length, old, room = lists._records.array[int(number[0])].tolist()
        pool = lists._pool.array[start : start + length].reshape(-1, 2).tolist()
        assert lists._lines is not None
        beside = lists._lines.array[start : start + length : 2].tolist()
        rows = zip(pool, beside, found, strict=True)
        assert all((*pair, line) == each[:3] for pair, line, each in rows)
        assert old == 2 * sum(not each[3] for each in found)
        assert room == length
    assert len({int(lists._records.array[i, 0]) for i in range(int(table[0, kernels.LIST_COUNT]))}) >= len(expected)
