"""A pool of values that are bytes to kernels: text, or rows of words (`kernels.string_pool`).

Python objects are made when somebody looks. A lock keeps calls from several threads apart, because kernels run without
Python's own lock.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.pool import Marks, Words
from tidelog.engine.local.encoding.text_column import LONGEST_TEXT, TextColumn
from tidelog.engine.local.kernels import string_pool as k
from tidelog.engine.local.storage.growable_array import Growing

AT_ONCE = 1 << 16
_SMALLEST_ARENA, _SMALLEST_IDS, _SMALLEST_SLOTS = 1 << 10, 1 << 6, 1 << 7
_NO_MARKS = np.empty(0, dtype=np.uint8)


class BytesPool:
    """The memory of a pool, and the way from bytes to ids and back; a subclass makes values of them."""

    def __init__(self) -> None:
        self.limit = pools.SMALLEST_SWEEP
        self._constants: set[int] = set()
        self._lock = Lock()
        self._header: Words = np.zeros(k.HEADER_FIELDS, dtype=np.int64)
        self._arena = Growing(np.uint8, _SMALLEST_ARENA)
        self._spans = Growing(np.int64, _SMALLEST_IDS, width=2)
        self._slots = Growing(np.int64, _SMALLEST_SLOTS)
        self._scratch = np.empty(256, dtype=np.uint8)
        self._look_at_memory()

    def __len__(self) -> int:
        return int(self._header[k.LIVE])

    @property
    def id_end(self) -> int:
        return int(self._header[k.USED])

    @property
    def memory(self) -> int:
        """The bytes in use, those of values included."""
        header = self._header
        return int(header[k.ARENA_USED] + 16 * header[k.USED] + 8 * header[k.SLOT_COUNT])

    def intern_column(self, column: TextColumn) -> Words:
        """Returns the ids of the bytes of a column, which may be in the arena itself."""
        ids: Words = np.empty(len(column), dtype=np.int64)
        with self._lock:
            done = 0
            while (done := k.intern_texts(self._header, column.addresses, column.lengths, done, ids)) < len(ids):
                self._make_room(int(column.lengths[done]))
        return ids

    def locate(self, ids: npt.NDArray[Any]) -> TextColumn:
        """Returns the bytes of ids where they lie. They stay there as long as the column is held."""
        ids = np.ascontiguousarray(ids, dtype=np.int64)
        addresses, lengths = np.empty_like(ids), np.empty_like(ids)
        with self._lock:
            k.locate_texts(self._header, ids, addresses, lengths)
            return TextColumn(addresses, lengths, (self._arena.array,))

    def marks(self) -> Marks:
        marked = np.zeros(self.id_end, dtype=np.bool_)
        marked[list(self._constants)] = True
        return marked

    def sweep(self, marked: Marks) -> None:
        with self._lock:
            self._forget()
            marks = np.ascontiguousarray(marked).view(np.uint8)
            k.free_texts(self._header, marks)
            self._resize_slots(self._slot_count(len(self)), marks)
            if 2 * int(self._header[k.ARENA_LIVE]) < int(self._header[k.ARENA_USED]) - _SMALLEST_ARENA:
                fresh = Growing(np.uint8, max(int(self._header[k.ARENA_LIVE]), _SMALLEST_ARENA))
                k.compact_arena(self._header, fresh.address)
                self._arena = fresh
                self._look_at_memory()

    def _spread(self, present: Marks) -> None:
        """Moves the values, whose ids are dense, to the ids that are present; the others are free."""
        numbers = np.flatnonzero(present)
        self._spans.make_room(len(present))
        spans = self._spans.array
        spans[numbers] = spans[: len(numbers)].copy()
        slots = self._slots.array
        taken = slots != 0
        slots[taken] = (slots[taken] & ~k.LOW_MASK) | (numbers[(slots[taken] & k.LOW_MASK) - 1] + 1)
        self._header[k.USED] = len(present)
        self._look_at_memory()
        k.free_texts(self._header, present.view(np.uint8))

    def _forget(self) -> None:
        """Forgets the Python objects of ids, before some of these are freed."""

    def _intern_bytes(self, data: bytes) -> int:
        """Returns the id of some bytes. The caller has the lock."""
        address, length = self._in_scratch(data)
        known: int = k.intern_text(self._header, address, length)
        if known < 0:
            self._make_room(length)
            known = k.intern_text(self._header, address, length)
        return known

    def _find_bytes(self, data: bytes) -> int | None:
        """Returns the id of some bytes, if they are interned. The caller has the lock."""
        known: int = k.look_up_text(self._header, *self._in_scratch(data))
        return None if known < 0 else known

    def _in_scratch(self, data: bytes) -> tuple[int, int]:
        """Copies bytes to where kernels can read them; returns their address and their number."""
        if len(data) > len(self._scratch):
            if len(data) > AT_ONCE:
                # Many bytes are read where they lie; the scratch would stay as large.
                self._long = np.frombuffer(data, np.uint8)
                return int(self._long.ctypes.data), len(data)
            self._scratch = np.empty(2 * len(data), dtype=np.uint8)
            self._look_at_memory()
        self._view[: len(data)] = data
        return self._scratch_address, len(data)

    def _make_room(self, length: int) -> None:
        """Makes room for one value more, and usually for many."""
        if length > LONGEST_TEXT:
            raise EvaluationError(
                f"a string of {length:,} bytes is too long (at most {LONGEST_TEXT:,}); the last commit is intact",
                code=Code.EXTERN_FAILED,
            )
        header = self._header
        self._arena.make_room(int(header[k.ARENA_USED]) + length)
        self._spans.make_room(int(header[k.USED]) + 1)
        self._look_at_memory()
        if 4 * (len(self) + 1) > 3 * len(self._slots):
            self._resize_slots(2 * len(self._slots), _NO_MARKS)

    def _slot_count(self, count: int) -> int:
        size = len(self._slots)
        while size > _SMALLEST_SLOTS and 4 * (count + 1) <= 3 * (size // 4):
            size //= 2
        return size

    def _resize_slots(self, size: int, marks: npt.NDArray[np.uint8]) -> None:
        old = self._slots.array
        self._slots = Growing(np.int64, size)
        self._look_at_memory()
        k.refill_texts(self._header, old, marks)

    def _look_at_memory(self) -> None:
        """Writes the addresses and sizes of the memory into the header."""
        header = self._header
        header[k.ARENA], header[k.ARENA_SIZE] = self._arena.address, len(self._arena)
        header[k.SPANS], header[k.SPAN_ROOM] = self._spans.address, len(self._spans)
        header[k.SLOTS], header[k.SLOT_COUNT] = self._slots.address, len(self._slots)
        self._view = self._scratch.data
        self._scratch_address = int(self._scratch.ctypes.data)
