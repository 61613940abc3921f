"""The memory of a scan tree of words (`kernels.scan_tree`): sorted entries of one or two words.

The nodes of the leapfrog paper's scan trees (3.1.1) have the smallest and the largest entry of each part. In a sorted
sequence these are the ends of that part, so min and max need only the entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import scan_tree as k

_FILLED = k.ROWS * 3 // 4


class ScanTree:
    """A sorted sequence of entries; each is `width` words. A change or a look-up by position costs O(log n)."""

    __slots__ = ("_directory", "_header", "_words")

    def __init__(self, entries: Words) -> None:
        """Builds the tree from the entries, a line each, in any order."""
        count, width = entries.shape
        ordered = np.sort(entries[:, 0])[:, None] if width == 1 else entries[np.lexsort(entries.T[::-1])]
        pages = -(-count // _FILLED)
        room = pages + pages // 4 + 1
        self._header = np.array([pages, pages, 0, count, width], dtype=np.int64)
        words = np.zeros((room, width, k.ROWS), dtype=np.int64)
        padded = np.zeros((pages * _FILLED, width), dtype=np.int64)
        padded[:count] = ordered
        words[:pages, :, :_FILLED] = padded.reshape(pages, _FILLED, width).transpose(0, 2, 1)
        directory = np.zeros((room, 2), dtype=np.int64)
        directory[:pages, 0] = np.arange(pages)
        directory[:pages, 1] = _FILLED
        if pages:
            directory[pages - 1, 1] = count - (pages - 1) * _FILLED
        self._words = words.reshape(-1)
        self._directory = directory.reshape(-1)

    def __len__(self) -> int:
        return int(self._header[k.SIZE])

    @property
    def bytes(self) -> int:
        return self._words.nbytes + self._directory.nbytes

    def insert(self, entries: Words) -> None:
        """Inserts entries, a line each."""
        flat = np.ascontiguousarray(entries).reshape(-1)
        done = k.insert_all(self._header, self._words, self._directory, flat, 0)
        while done < len(entries):
            self._grow()
            done = k.insert_all(self._header, self._words, self._directory, flat, done)

    def remove(self, entries: Words) -> bool:
        """Deletes entries, a line each; False if one of them was absent."""
        flat = np.ascontiguousarray(entries).reshape(-1)
        return bool(k.remove_all(self._header, self._words, self._directory, flat) == len(entries))

    def has(self, entries: Words) -> npt.NDArray[np.bool_]:
        """Returns, for each of some entries, a line each, whether it is present."""
        found = np.zeros(len(entries), dtype=np.bool_)
        k.find_all(self._header, self._words, self._directory, np.ascontiguousarray(entries).reshape(-1), found)
        return found

    def first(self) -> list[int]:
        """Returns the first entry; there must be one."""
        return self._read(k.FIRST, np.empty(int(self._header[k.WIDTH]), dtype=np.int64))

    def last(self) -> list[int]:
        """Returns the last entry; there must be one."""
        return self._read(k.LAST, np.empty(int(self._header[k.WIDTH]), dtype=np.int64))

    def first_from(self, entry: list[int]) -> list[int]:
        """Returns the first entry that does not come before this one; there must be one."""
        return self._read(k.FROM, np.array(entry, dtype=np.int64))

    def _read(self, which: int, entry: Words) -> list[int]:
        found = k.read(self._header, self._words, self._directory, entry, which)
        assert found, "an empty sequence has no ends"
        words: list[int] = entry.tolist()
        return words

    def _grow(self) -> None:
        for name in ("_words", "_directory"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
