"""A relation → the number of its rows and a sum over them, the same in any order of rows and in every system.

A row's number is made of its columns, which are taken modulo 2³², text by its CRC-32: a sum of the columns times odd
numbers, mixed with the high bits of a second one, times a third one. The sum of these numbers is taken modulo 2³², so
that systems with words of 32 bits can compute it themselves.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_ROWS_AT_A_TIME = 1 << 21
_SHIFT = 13
_FIRST = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
Word = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Checksum:
    """`has_text`: not every system can add up text."""

    rows: int
    sum: int
    columns: int
    has_text: bool = False

    def __str__(self) -> str:
        return f"{self.rows:,} rows with the sum {self.sum:08x}"


def checksum(table: pa.Table) -> Checksum:
    """Returns the checksum of a table of integers and text."""
    total = 0
    with np.errstate(over="ignore"):
        for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
            words = [_words(column) for column in batch.columns]
            one, other, factor = (_mixed(words, number) for number in range(3))
            total += int(((one ^ (other >> np.uint32(_SHIFT))) * factor).sum(dtype=np.uint64))
    has_text = not all(pa.types.is_integer(column.type) for column in table.columns)
    return Checksum(table.num_rows, total & 0xFFFFFFFF, table.num_columns, has_text)


def souffle_expression(columns: int) -> str:
    """Returns the number of a row whose columns are `x0`, `x1`, … as an expression of Soufflé."""
    one, other, factor = (
        " + ".join([f"{_FIRST[number]}u", *(f"as(x{i}, unsigned) * {_factor(number, i)}u" for i in range(columns))])
        for number in range(3)
    )
    return f"(({one}) bxor (({other}) bshru {_SHIFT}u)) * ({factor})"


def _factor(number: int, column: int) -> int:
    """Returns an odd number for a column."""
    mixed = (_FIRST[number] * (2 * column + 3)) & 0xFFFFFFFF
    return ((mixed ^ (mixed >> 15)) | 1) & 0xFFFFFFFF


def _mixed(words: list[Word], number: int) -> Word:
    found = np.full(len(words[0]), _FIRST[number], dtype=np.uint32)
    for column, each in enumerate(words):
        found += each * np.uint32(_factor(number, column))
    return found


def _words(column: pa.Array) -> Word:
    if pa.types.is_integer(column.type):
        numbers: Word = column.to_numpy(zero_copy_only=False).astype(np.uint32)
        return numbers
    encoded = pc.dictionary_encode(column)
    texts = [zlib.crc32(text.encode()) for text in encoded.dictionary.to_pylist()]
    found: Word = np.array(texts, dtype=np.uint32)[encoded.indices.to_numpy()]
    return found
