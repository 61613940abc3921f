"""A column of text outside Python: where the UTF-8 bytes of each string lie, and how many there are.

The bytes may be those of a pool, of an Arrow array, or results of kernels; a substring is another place in the same
bytes. Arrow arrays become such columns, and such columns become Arrow arrays, without a Python object per string.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.local.kernels import string_pool as k

Words = npt.NDArray[np.int64]
LONGEST_TEXT = (1 << 31) - 1
"""The bytes of the longest string: those that one Arrow array of strings can hold."""
_ENCODING = ("utf-8", "surrogatepass")  # a Python string may hold half of a surrogate pair


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Strings by addresses and lengths. `owners` are the objects whose memory they lie in."""

    addresses: Words
    lengths: Words
    owners: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, places: npt.NDArray[Any]) -> TextColumn:
        """Returns the strings at some places."""
        return TextColumn(self.addresses[places], self.lengths[places], self.owners)

    def gathered(self) -> npt.NDArray[np.uint8]:
        """Returns the bytes of all strings, one after the other."""
        data = np.empty(max(int(self.lengths.sum()), 1), dtype=np.uint8)
        end = k.gather_texts(self.addresses, self.lengths, data.ctypes.data)
        return data[:end]

    def texts(self) -> list[str]:
        """Returns the strings as Python objects."""
        text = self.gathered().tobytes().decode(*_ENCODING)
        counts = self.lengths
        if not text.isascii():
            counts = np.empty(len(self), dtype=np.int64)
            k.count_characters(self.addresses, self.lengths, counts)
        ends = np.cumsum(counts).tolist()
        return [text[start:end] for start, end in zip([0, *ends], ends)]

    def arrow(self) -> pa.Array | pa.ChunkedArray:
        """Returns the strings as an Arrow array; one of several chunks if they are too long for one."""
        chunks = [piece._chunk() for piece in self._pieces()]
        return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, pa.string())

    def _pieces(self) -> Iterator[TextColumn]:
        ends = np.cumsum(self.lengths)
        start = 0
        while start < len(ends) and int(ends[-1]) - (before := int(ends[start - 1]) if start else 0) > LONGEST_TEXT:
            end = int(np.searchsorted(ends, before + LONGEST_TEXT, side="right"))
            yield self.take(np.arange(start, end))
            start = end
        yield self if start == 0 else self.take(np.arange(start, len(ends)))

    def _chunk(self) -> pa.Array:
        offsets = np.zeros(len(self) + 1, dtype=np.int32)
        np.cumsum(self.lengths, out=offsets[1:])
        return pa.StringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(self.gathered()))


def text_column(array: pa.Array) -> TextColumn:
    """Returns an Arrow array of strings, without nulls, as a column."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    wide = pa.types.is_large_string(array.type)
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        zeros = np.zeros(len(array), dtype=np.int64)
        return TextColumn(zeros, zeros, ())
    ends = np.frombuffer(offsets, np.int64 if wide else np.int32, len(array) + 1, array.offset * (8 if wide else 4))
    places = ends.astype(np.int64)
    return TextColumn(places[:-1] + data.address, np.diff(places), (array,))


def column_of_texts(texts: Sequence[str]) -> TextColumn:
    """Returns Python strings as a column."""
    try:
        return text_column(pa.array(texts, pa.large_string()))
    except UnicodeEncodeError:
        encoded = [text.encode(*_ENCODING) for text in texts]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
        return TextColumn(data.ctypes.data + np.cumsum(lengths) - lengths, lengths, (data,))
