"""The memory of lists of ids (`kernels/row_lists`): records, words, and the table that finds the record of a key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_domains import Ids
from tidelog.engine.local.execution.row_wise_plan import Digits, Order
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_lists as kernels
from tidelog.engine.local.storage.growable_array import Growing

# So many records are made for all keys that may occur; and for keys of one column, always.
FEW_KEYS = 1 << 20
SMALLEST_TABLE = 1 << 10
SLOTS_A_KEY = 2
_NO_FLAGS: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)


class Lists:
    """The lists of one order. `table` is the kernels' table L, of which they have line `number`."""

    def __init__(self, order: Order, table: Words, number: int, rows: int, *, with_lines: bool) -> None:
        self.order = order
        self._table = table
        self._number = number
        self.stride = max(len(order.words), 1)
        self._pool = Growing(np.int32)
        self._lines = Growing(np.int32) if with_lines else None
        self._slots: Growing[np.int64] | None = None
        self._records = Growing(np.int32, width=kernels.RECORD_PLACES)
        self._changed = Growing(np.int32)
        self._keys = Growing(np.int64)
        line = table[number]
        line[kernels.LIST_STRIDE] = self.stride
        if len(order.keys) <= 1 or order.space <= max(FEW_KEYS, 2 * rows):
            self._records.resize(order.space)
            self._changed.resize(order.space)
            line[kernels.LIST_COUNT] = order.space
        else:
            slots = max(SLOTS_A_KEY * rows + 2, SMALLEST_TABLE)
            self._slots = Growing(np.int64, slots)
            self._make_records(slots)
        self._note()

    def _make_records(self, slots: int) -> None:
        """Makes room for as many records as there may be with so many slots."""
        records = 2 * slots // 3 + 1  # see `kernels.take_record`
        self._records.make_room(records)
        self._changed.make_room(records)
        if self.order.space > 1 << 32:
            self._keys.make_room(records)

    def _note(self) -> None:
        line = self._table[self._number]
        line[kernels.LIST_RECORDS], line[kernels.LIST_CHANGED] = self._records.address, self._changed.address
        line[kernels.LIST_KEYS] = self._keys.address
        if self._slots is not None:
            line[kernels.LIST_TABLE], line[kernels.LIST_SLOTS] = self._slots.address, len(self._slots)

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """The length of each list, by the number of its record."""
        return self._records.array[:, kernels.RECORD_LENGTH]

    def fill(self, ids: Mapping[int, Ids], rows: int, is_new: npt.NDArray[np.uint8] | None, lines: Words) -> None:
        """Makes the lists of so many rows, given the ids in their columns, the rows that are new, if any may be, and
        their lines, if there are lists of these."""
        new = 0 if is_new is None else int(np.count_nonzero(is_new))
        which = (kernels.FILL_OLD if new < rows else 0) | (kernels.FILL_NEW if new else 0)
        key: list[int] = _numbers(self.order.keys, ids)
        records: Words | None = None
        if self._slots is not None:
            records = number_of(self.order.keys, ids, rows)
            kernels.number_keys(self._table, self._number, records)
            key = [kernels.NOTED, records.ctypes.data]
        words = [word for digits in self.order.words or ((),) for word in _numbers(digits, ids)]
        room = k.POOL_LISTS + rows * self.stride
        self._make_room(room if not self.order.is_inside else room + room // 4)
        how: Words = np.array([which, *key, *words], dtype=np.int64)
        given = _NO_FLAGS if is_new is None else is_new
        kernels.fill_lists(self._table, self._number, how, rows, given, lines)

    def grow(self, status: int) -> None:
        """Makes room for longer lists, or for more of them."""
        if status == kernels.POOL_FULL:
            self._make_room(2 * len(self._pool))
            return
        assert self._slots is not None
        before, self._slots = self._slots, Growing(np.int64, 3 * len(self._slots) // 2)
        self._make_records(len(self._slots))
        self._note()
        kernels.refill_table(self._table, self._number, before.array)

    def _make_room(self, places: int) -> None:
        line = self._table[self._number]
        self._pool.make_room(places)
        line[k.POOL], line[k.POOL_CAPACITY] = self._pool.address, len(self._pool)
        if self._lines is not None:
            self._lines.make_room(len(self._pool))
            line[kernels.LIST_LINES] = self._lines.address


def number_of(digits: Digits, ids: Mapping[int, Ids], rows: int) -> Words:
    """Returns, for each row, the number with these digits, from the ids in each column."""
    found: Words = np.zeros(rows, dtype=np.int64)
    for column, factor in digits:
        found += np.multiply(ids[column], factor, dtype=np.int64)
    return found


def _numbers(digits: Digits, ids: Mapping[int, Ids]) -> list[int]:
    """Returns how kernels find the number with these digits (`kernels.number_at`)."""
    return [len(digits), *(word for column, factor in digits for word in (ids[column].ctypes.data, factor))]
