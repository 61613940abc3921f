"""The pool of strings: UTF-8 bytes outside Python. A bounded number of Python strings is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.bytes_pool import AT_ONCE, BytesPool
from tidelog.engine.local.encoding.pool import Words
from tidelog.engine.local.encoding.text_column import TextColumn, column_of_texts, text_column

_FEW = 16
_REMEMBERED = 1 << 14


class StringPool(BytesPool):
    """The interned strings of an engine; see `Pool`."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}  # some of them, for calls with one string
        self._texts: dict[int, str] = {}

    # Strings → ids

    def intern(self, value: str) -> int:
        known = self._numbers.get(value)
        if known is None:
            with self._writing:
                known = self._intern_bytes(_encoded(value))
                self._remember(value, known)
        return known

    def find(self, value: str) -> int | None:
        known = self._numbers.get(value)
        if known is None:
            with self._next, self._lock:
                known = self._find_bytes(_encoded(value))
                if known is not None:
                    self._remember(value, known)
        return known

    def intern_all(self, values: Sequence[str], *, distinct: bool = False) -> Words:
        if len(values) <= _FEW:
            return np.array([self.intern(value) for value in values], dtype=np.int64)
        found = [self.intern_column(column_of_texts(values[at : at + AT_ONCE])) for at in _starts(len(values))]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def intern_arrow(self, column: pa.ChunkedArray, ids: Words | None = None) -> Words:
        """Returns the ids of the strings of an Arrow column; writes them to `ids`, if these are given."""
        if ids is None:
            ids = np.empty(len(column), dtype=np.int64)
        at = 0
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                known = self.intern_column(text_column(chunk.dictionary))
                ids[at : at + len(chunk)] = known[chunk.indices.to_numpy(zero_copy_only=False)]
                at += len(chunk)
                continue
            for start in _starts(len(chunk)):
                some = chunk.slice(start, AT_ONCE)
                ids[at : at + len(some)] = self.intern_column(text_column(some))
                at += len(some)
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

    def export(self, ids: npt.NDArray[Any]) -> pa.Array | pa.ChunkedArray:
        """Returns the strings of ids as an Arrow column."""
        return self.locate(ids).arrow()

    def constant(self, value: str) -> int:
        known = self.intern(value)
        self._constants.add(known)
        return known

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

    # Python strings

    def _forget(self) -> None:
        self._numbers, self._texts = {}, {}

    def _remember(self, value: str, number: int) -> None:
        if len(value) > AT_ONCE:
            return
        if len(self._texts) >= _REMEMBERED:
            self._texts, self._numbers = {}, {}
        self._texts[number] = value
        self._numbers[value] = number

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
    return range(0, max(count, 1), AT_ONCE)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
