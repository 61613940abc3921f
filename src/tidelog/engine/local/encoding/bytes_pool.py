"""A pool of values that are bytes to kernels: text, or rows of words (`kernels.string_pool`).

Python objects are made when somebody looks. Kernels run without Python's own lock, so a pool has locks of its own:
`_writing` for threads that intern or sweep, and `_lock` for the moments in which memory changes that readers use. Who
interns many values, moves the index or sweeps, does it beside readers, and takes `_lock` only now and then. `_next` is
for those who will have it next: without it, a thread that gives `_lock` back and takes it again would always win.
"""

from __future__ import annotations

from collections.abc import Callable
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
_PIECE, _PIECE_BYTES = 1 << 13, 1 << 22  # values and bytes that are interned while readers wait
_SMALLEST_ARENA, _SMALLEST_IDS, _SMALLEST_SLOTS = 1 << 10, 1 << 6, 1 << 7
_NO_MARKS = np.empty(0, dtype=np.uint8)


class BytesPool:
    """The memory of a pool, and the way from bytes to ids and back; a subclass makes values of them."""

    def __init__(self) -> None:
        self.limit = pools.SMALLEST_SWEEP
        self._constants: set[int] = set()
        self._writing, self._next, self._lock = Lock(), Lock(), Lock()
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
        lengths = column.lengths
        size = _PIECE
        if len(ids) > _PIECE:
            size = max(min(_PIECE, _PIECE_BYTES * len(ids) // max(int(lengths.sum()), 1)), 1)
        done = 0
        with self._writing:
            while done < len(ids):
                end = min(done + size, len(ids))
                with self._next, self._lock:
                    done = k.intern_texts(self._header, column.addresses[:end], lengths[:end], done, ids)
                if done < end:
                    self._make_room(int(lengths[done]))
        return ids

    def locate(self, ids: npt.NDArray[Any]) -> TextColumn:
        """Returns the bytes of ids where they lie. They stay there as long as the column is held."""
        ids = np.ascontiguousarray(ids, dtype=np.int64)
        addresses, lengths = np.empty_like(ids), np.empty_like(ids)
        with self._next, self._lock:
            k.locate_texts(self._header, ids, addresses, lengths)
            return TextColumn(addresses, lengths, (self._arena.array,))

    def marks(self) -> Marks:
        marked = np.zeros(self.id_end, dtype=np.bool_)
        marked[list(self._constants)] = True
        return marked

    def prepare_sweep(self, marked: Marks) -> Callable[[], None]:
        """See `Pool.prepare_sweep`. What changes is changed in copies; bytes of values that stay may move with them."""
        with self._next, self._lock:
            header = self._header.copy()
            # Values that are interned meanwhile cannot move these arrays, only replace them.
            held = self._spans.array, self._slots.array, self._arena.array
        marks = np.zeros(int(header[k.USED]), dtype=np.uint8)
        marks[: len(marked)] = marked
        spans = Growing(np.int64, len(held[0]), width=2)
        spans.array[: len(marks)] = held[0][: len(marks)]
        header[k.SPANS] = spans.address
        k.free_texts(header, marks)
        slots = Growing(np.int64, self._slot_count(int(header[k.LIVE])))
        header[k.SLOTS], header[k.SLOT_COUNT] = slots.address, len(slots)
        if len(marks):  # no marks at all would mean all ids
            k.refill_texts(header, held[1], marks)
        arena = self._arena
        if 2 * int(header[k.ARENA_LIVE]) < int(header[k.ARENA_USED]) - _SMALLEST_ARENA:
            arena = Growing(np.uint8, max(int(header[k.ARENA_LIVE]), _SMALLEST_ARENA))
            k.compact_arena(header, arena.address)
        del held

        def sweep() -> None:
            with self._writing, self._next, self._lock:
                self._forget()
                self._header[:] = header
                self._spans, self._slots, self._arena = spans, slots, arena
                self._look_at_memory()

        return sweep

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
        """Returns the id of some bytes. The caller has `_writing`."""
        with self._lock:
            address, length = self._in_scratch(data)
            known: int = k.intern_text(self._header, address, length)
        if known < 0:
            self._make_room(length)
            with self._lock:
                known = k.intern_text(self._header, *self._in_scratch(data))
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
        """Makes room for one value more, and usually for many. The caller has `_writing`, and not `_lock`."""
        if length > LONGEST_TEXT:
            raise EvaluationError(
                f"a string of {length:,} bytes is too long (at most {LONGEST_TEXT:,}); the last commit is intact",
                code=Code.EXTERN_FAILED,
            )
        header = self._header
        with self._next, self._lock:
            self._arena.make_room(int(header[k.ARENA_USED]) + length)
            self._spans.make_room(int(header[k.USED]) + 1)
            self._look_at_memory()
        if 4 * (len(self) + 1) > 3 * len(self._slots):
            self._double_slots()

    def _slot_count(self, count: int) -> int:
        size = len(self._slots)
        while size > _SMALLEST_SLOTS and 4 * (count + 1) <= 3 * (size // 4):
            size //= 2
        return size

    def _double_slots(self) -> None:
        """Makes a larger index beside the readers of the present one."""
        slots, header = Growing(np.int64, 2 * len(self._slots)), self._header.copy()
        header[k.SLOTS], header[k.SLOT_COUNT] = slots.address, len(slots)
        k.refill_texts(header, self._slots.array, _NO_MARKS)
        with self._next, self._lock:
            self._slots = slots
            self._look_at_memory()

    def _look_at_memory(self) -> None:
        """Writes the addresses and sizes of the memory into the header."""
        header = self._header
        header[k.ARENA], header[k.ARENA_SIZE] = self._arena.address, len(self._arena)
        header[k.SPANS], header[k.SPAN_ROOM] = self._spans.address, len(self._spans)
        header[k.SLOTS], header[k.SLOT_COUNT] = self._slots.address, len(self._slots)
        self._view = self._scratch.data
        self._scratch_address = int(self._scratch.ctypes.data)
