"""The pool of strings: UTF-8 bytes in an arena that kernels read and write (`kernels.string_pool`).

Python strings are made when somebody looks, and a bounded number of them is remembered. A lock keeps calls from several
threads apart, because kernels run without Python's own lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.pool import Marks, Words
from tidelog.engine.local.encoding.text_column import LONGEST_TEXT, TextColumn, column_of_texts, text_column
from tidelog.engine.local.kernels import string_pool as k
from tidelog.engine.local.storage.growable_array import Growing

_FEW = 16
_REMEMBERED = 1 << 14
_AT_ONCE = 1 << 16
_SMALLEST_ARENA, _SMALLEST_IDS, _SMALLEST_SLOTS = 1 << 10, 1 << 6, 1 << 7
_NO_MARKS = np.empty(0, dtype=np.uint8)


class StringPool:
    """The interned strings of an engine; see `Pool`."""

    def __init__(self) -> None:
        self.limit = pools.SMALLEST_SWEEP
        self._constants: set[int] = set()
        self._lock = Lock()
        self._numbers: dict[str, int] = {}  # some of them, for calls with one string
        self._texts: dict[int, str] = {}
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
        """The bytes in use, those of strings included."""
        header = self._header
        return int(header[k.ARENA_USED] + 16 * header[k.USED] + 8 * header[k.SLOT_COUNT])

    # Strings → ids

    def intern(self, value: str) -> int:
        known = self._numbers.get(value)
        if known is None:
            with self._lock:
                address, length = self._in_scratch(value)
                known = k.intern_text(self._header, address, length)
                if known < 0:
                    self._make_room(length)
                    known = k.intern_text(self._header, address, length)
                assert isinstance(known, int)
                self._remember(value, known)
        return known

    def find(self, value: str) -> int | None:
        known = self._numbers.get(value)
        if known is None:
            with self._lock:
                known = k.look_up_text(self._header, *self._in_scratch(value))
                assert isinstance(known, int)
                if known < 0:
                    return None
                self._remember(value, known)
        return known

    def intern_all(self, values: Sequence[str], *, distinct: bool = False) -> Words:
        if len(values) <= _FEW:
            return np.array([self.intern(value) for value in values], dtype=np.int64)
        found = [self.intern_column(column_of_texts(values[at : at + _AT_ONCE])) for at in _starts(len(values))]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def intern_arrow(self, column: pa.ChunkedArray) -> Words:
        """Returns the ids of the strings of an Arrow column."""
        ids: Words = np.empty(len(column), dtype=np.int64)
        at = 0
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                known = self.intern_column(text_column(chunk.dictionary))
                ids[at : at + len(chunk)] = known[chunk.indices.to_numpy(zero_copy_only=False)]
                at += len(chunk)
                continue
            for start in _starts(len(chunk)):
                some = chunk.slice(start, _AT_ONCE)
                ids[at : at + len(some)] = self.intern_column(text_column(some))
                at += len(some)
        return ids

    def intern_column(self, column: TextColumn) -> Words:
        """Returns the ids of the strings of a column, whose bytes may be in the arena itself."""
        ids: Words = np.empty(len(column), dtype=np.int64)
        with self._lock:
            done = 0
            while (done := k.intern_texts(self._header, column.addresses, column.lengths, done, ids)) < len(ids):
                self._make_room(int(column.lengths[done]))
        return ids

    # Ids → strings

    def value(self, number: int) -> str:
        known = self._texts.get(number)
        if known is None:
            (known,) = self.locate(np.array([number], dtype=np.int64)).texts()
            with self._lock:
                self._remember(known, number)
        return known

    def decode(self, ids: npt.NDArray[Any]) -> list[str]:
        if len(ids) <= _FEW:
            return [self.value(number) for number in ids.tolist()]
        distinct, codes = self._distinct(ids)
        texts = self.locate(distinct).texts()
        return texts if codes is None else [texts[code] for code in codes.tolist()]

    def locate(self, ids: npt.NDArray[Any]) -> TextColumn:
        """Returns the strings of ids where they lie. They stay there as long as the column is held."""
        ids = np.ascontiguousarray(ids, dtype=np.int64)
        addresses, lengths = np.empty_like(ids), np.empty_like(ids)
        with self._lock:
            k.locate_texts(self._header, ids, addresses, lengths)
            return TextColumn(addresses, lengths, (self._arena.array,))

    def export(self, ids: npt.NDArray[Any]) -> pa.Array | pa.ChunkedArray:
        """Returns the strings of ids as an Arrow column."""
        return self.locate(ids).arrow()

    # Memory that is given back

    def constant(self, value: str) -> int:
        known = self.intern(value)
        self._constants.add(known)
        return known

    def marks(self) -> Marks:
        marked = np.zeros(self.id_end, dtype=np.bool_)
        marked[list(self._constants)] = True
        return marked

    def sweep(self, marked: Marks) -> None:
        with self._lock:
            self._numbers, self._texts = {}, {}
            marks = np.ascontiguousarray(marked).view(np.uint8)
            k.free_texts(self._header, marks)
            self._resize_slots(self._slot_count(len(self)), marks)
            if 2 * int(self._header[k.ARENA_LIVE]) < int(self._header[k.ARENA_USED]) - _SMALLEST_ARENA:
                fresh = Growing(np.uint8, max(int(self._header[k.ARENA_LIVE]), _SMALLEST_ARENA))
                k.compact_arena(self._header, fresh.address)
                self._arena = fresh
                self._look_at_memory()

    # Checkpoints

    def copy_values(self) -> pa.ChunkedArray:
        """Returns an Arrow column of the strings by their ids; null for a free id."""
        found = self.locate(np.arange(self.id_end))
        is_free = found.lengths < 0
        column = TextColumn(found.addresses, np.maximum(found.lengths, 0), found.owners).arrow()
        chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column], pa.string())
        if not is_free.any():
            return chunked
        at, chunks = 0, []
        for chunk in chunked.chunks:
            present = np.packbits(~is_free[at : at + len(chunk)], bitorder="little")
            _, offsets, data = chunk.buffers()
            chunks.append(pa.StringArray.from_buffers(len(chunk), offsets, data, pa.py_buffer(present)))
            at += len(chunk)
        return pa.chunked_array(chunks, pa.string())

    def fill(self, values: pa.ChunkedArray | Sequence[str | None]) -> None:
        column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values], pa.string())
        present = np.concatenate([chunk.is_valid().to_numpy(zero_copy_only=False) for chunk in column.chunks] or [[]])
        present = present.astype(np.bool_)
        self.intern_arrow(column.drop_null())
        assert len(self) == int(present.sum()), "the strings of a pool are distinct"
        if len(self) < len(present):
            self._spread(present)
        self.limit = max(pools.SMALLEST_SWEEP, 2 * len(self))

    def _spread(self, present: Marks) -> None:
        """Moves the strings, whose ids are dense, to the ids that are present; the others are free."""
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

    # Room

    def _in_scratch(self, value: str) -> tuple[int, int]:
        """Copies a string to where kernels can read it; returns its address and its length."""
        data = value.encode("utf-8", "surrogatepass")
        if len(data) > len(self._scratch):
            if len(data) > _AT_ONCE:
                # A long string is read where it lies; the scratch would stay as long.
                self._long = np.frombuffer(data, np.uint8)
                return int(self._long.ctypes.data), len(data)
            self._scratch = np.empty(2 * len(data), dtype=np.uint8)
            self._look_at_memory()
        self._view[: len(data)] = data
        return self._scratch_address, len(data)

    def _remember(self, value: str, number: int) -> None:
        if len(value) > _AT_ONCE:
            return
        if len(self._texts) >= _REMEMBERED:
            self._texts, self._numbers = {}, {}
        self._texts[number] = value
        self._numbers[value] = number

    def _make_room(self, length: int) -> None:
        """Makes room for one string more, and usually for many."""
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

    def _distinct(self, ids: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
        """Returns the distinct ids, and the place of each id among them; None if they are distinct already."""
        if 8 * len(ids) < self.id_end:
            distinct, codes = np.unique(ids, return_inverse=True)
        else:
            seen = np.zeros(self.id_end, dtype=np.bool_)
            seen[ids] = True
            distinct = np.flatnonzero(seen)
            places = np.empty(self.id_end, dtype=np.int32)
            places[distinct] = np.arange(len(distinct), dtype=np.int32)
            codes = places[ids]
        return (ids, None) if len(distinct) == len(ids) else (distinct, codes)


def _starts(count: int) -> range:
    return range(0, max(count, 1), _AT_ONCE)
