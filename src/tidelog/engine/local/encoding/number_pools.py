"""The pools of numbers that are not words: floating-point numbers, and integers of more than 64 bits.

A float is its eight bytes in canonical form (`values.floats`), so equal numbers have equal bytes. An integer is as many
words as it needs, two's complement, the lowest first: one that fits into a word is a word to kernels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.bytes_pool import BytesPool
from tidelog.engine.local.encoding.pool import Value, Words
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.kernels import string_pool as k
from tidelog.values.floats import NAN

Numbers = npt.NDArray[Any]
"""Floats, words, or Python integers where some do not fit into a word."""

_DOUBLE = Struct("<d")
_WORD = 8


class NumberPool(BytesPool, ABC):
    """The interned numbers of one type; see `Pool`."""

    @abstractmethod
    def intern_numbers(self, numbers: Numbers) -> Words:
        """Returns the ids of numbers in canonical form."""

    @abstractmethod
    def numbers(self, ids: npt.NDArray[Any]) -> Numbers:
        """Returns the numbers of ids."""

    @abstractmethod
    def _bytes(self, value: Value) -> bytes: ...

    @abstractmethod
    def _array(self, values: Sequence[Value]) -> Numbers: ...

    def intern(self, value: Value) -> int:
        data = self._bytes(value)
        with self._writing:
            return self._intern_bytes(data)

    def find(self, value: Value) -> int | None:
        data = self._bytes(value)
        with self._next, self._lock:
            return self._find_bytes(data)

    def intern_all(self, values: Sequence[Value], *, distinct: bool = False) -> Words:
        return self.intern_numbers(self._array(values))

    def value(self, number: int) -> Value:
        return self.decode(np.array([number], dtype=np.int64))[0]

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        found: list[Value] = self.numbers(ids).tolist()
        return found

    def constant(self, value: Value) -> int:
        known = self.intern(value)
        self._constants.add(known)
        return known

    def copy_values(self) -> list[Value]:
        present = np.flatnonzero(self._spans.array[: self.id_end, 1] >= 0)
        values: list[Value] = [None] * self.id_end
        for number, value in zip(present.tolist(), self.decode(present)):
            values[number] = value
        return values

    def fill(self, values: Sequence[Value]) -> None:
        self.intern_all([value for value in values if value is not None])
        present = np.fromiter((value is not None for value in values), np.bool_, len(values))
        if len(self) < len(present):
            self._spread(present)
        self.limit = max(pools.SMALLEST_SWEEP, 2 * len(self))

    def _intern_words(self, words: Words) -> Words:
        """Returns the ids of numbers of one word each."""
        words = np.ascontiguousarray(words)
        addresses = words.ctypes.data + _WORD * np.arange(len(words), dtype=np.int64)
        return self.intern_column(TextColumn(addresses, np.full(len(words), _WORD, np.int64), (words,)))

    def _first_words(self, found: TextColumn) -> Words:
        words = np.empty_like(found.lengths)
        k.read_words(found.addresses, 0, words)
        return words


class FloatPool(NumberPool):
    """The interned numbers of `float` or `double`; `numbers` are 64-bit floats, NaN among them NumPy's."""

    def intern_numbers(self, numbers: Numbers) -> Words:
        # Adding zero makes -0.0 positive; all NaNs get the same bits.
        canonical = numbers + 0.0
        canonical[np.isnan(canonical)] = np.nan
        return self._intern_words(canonical.view(np.int64))

    def numbers(self, ids: npt.NDArray[Any]) -> Numbers:
        return self._first_words(self.locate(ids)).view(np.float64)

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        return [NAN if number != number else number for number in self.numbers(ids).tolist()]

    def _bytes(self, value: Value) -> bytes:
        return _DOUBLE.pack(np.nan if value != value or value is NAN else value + 0.0)

    def _array(self, values: Sequence[Value]) -> Numbers:
        return np.array(values, dtype=np.float64)


class IntegerPool(NumberPool):
    """The interned integers of a type that is wider than a word."""

    def intern_numbers(self, numbers: Numbers) -> Words:
        if numbers.dtype != np.object_:
            return self._intern_words(numbers)
        encoded = [self._bytes(number) for number in numbers.tolist()]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
        return self.intern_column(TextColumn(data.ctypes.data + np.cumsum(lengths) - lengths, lengths, (data,)))

    def numbers(self, ids: npt.NDArray[Any]) -> Numbers:
        found = self.locate(ids)
        if not len(ids) or int(found.lengths.max()) == _WORD:
            return self._first_words(found)
        data, ends = found.gathered().tobytes(), np.cumsum(found.lengths).tolist()
        numbers = np.empty(len(ids), dtype=np.object_)
        for place, (start, end) in enumerate(zip([0, *ends], ends)):
            numbers[place] = int.from_bytes(data[start:end], "little", signed=True)
        return numbers

    def _bytes(self, value: Value) -> bytes:
        # Of -n - 1 there are as many bits as of n, so that the least number of one word takes one word.
        words = (value if value >= 0 else ~value).bit_length() // 64 + 1
        encoded: bytes = value.to_bytes(_WORD * words, "little", signed=True)
        return encoded

    def _array(self, values: Sequence[Value]) -> Numbers:
        return integers(values)


def integers(values: Sequence[int]) -> Numbers:
    """Returns integers as words, or as Python objects if one does not fit into a word."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        found = np.empty(len(values), dtype=np.object_)
        found[:] = values
        return found
