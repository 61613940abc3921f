"""Arrays that grow without being copied.

A small array is ordinary NumPy memory. From `LARGE` bytes on it lies in an anonymous mapping of its own: when it grows,
the operating system moves page tables, not bytes, and room that was never written costs no memory, so a large array may
double. Where mappings cannot grow (outside Linux), a larger one is made and filled.

Invariant: memory lives as long as any array over it. A mapping cannot move while another array refers to it; then the
other array keeps the old memory and the owner continues with a copy.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", np.int64, np.int32, np.uint16, np.uint8)
LARGE = 4 << 20
LARGE_PAGE = 2 << 20
SMALLEST = 16


class Growing(Generic[Scalar]):
    """Lines of `width` numbers each (0: plain numbers), zero where nothing was written; `array` is all of them.

    `array` changes when the lines grow: read `address` again after that.
    """

    __slots__ = ("_dtype", "_map", "_width", "array")

    def __init__(self, dtype: type[Scalar], lines: int = 0, *, width: int = 0) -> None:
        self._dtype: type[Scalar] = dtype
        self._width = width
        self._map: mmap.mmap | None = None
        self.array: npt.NDArray[Scalar] = np.zeros(self._shape(0), dtype=dtype)
        if lines:
            self.resize(lines)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def address(self) -> int:
        """Address of the first number; 0 if there is none."""
        return int(self.array.ctypes.data) if len(self.array) else 0

    def adopt(self, array: npt.NDArray[Scalar]) -> None:
        """Uses foreign memory, which nothing else writes to, for these lines; it is copied when it grows."""
        self._map, self.array = None, array

    def make_room(self, wanted: int) -> None:
        """Makes room for `wanted` lines in total, and at least for twice as many as now, so that growth is rare."""
        if wanted > len(self.array):
            self.resize(max(wanted, 2 * len(self.array), SMALLEST))

    def set_width(self, width: int) -> None:
        """Takes the same memory for lines of another width, as many as there is room for."""
        words = self.array.reshape(-1)
        lines = len(words) // width
        self._width = width
        self.array = words[: lines * width].reshape(self._shape(lines))

    def resize(self, lines: int) -> None:
        """Makes room for exactly so many lines, more than there are now."""
        size = lines * max(self._width, 1) * np.dtype(self._dtype).itemsize
        if size < LARGE:
            larger = np.zeros(self._shape(lines), dtype=self._dtype)
            larger[: len(self.array)] = self.array
            self.array = larger
            return
        # Linux begins a mapping at a large page, also where it moves it to, only if it has a whole number of them.
        # Elsewhere large pages would be taken apart when they move.
        size = -(-size // LARGE_PAGE) * LARGE_PAGE
        if self._map is None or not self._resize_map(lines, size):
            fresh = _mapping(size)
            larger = self._over(fresh, lines)
            larger[: len(self.array)] = self.array
            self._map, self.array = fresh, larger

    def _resize_map(self, lines: int, size: int) -> bool:
        """Moves the mapping; returns False, and changes nothing, if it cannot be moved."""
        assert self._map is not None
        held = len(self.array)
        # A mapping moves only when no array lies over it.
        self.array = np.zeros(self._shape(0), dtype=self._dtype)
        try:
            self._map.resize(size)
        except (BufferError, SystemError, OSError):
            self.array = self._over(self._map, held)
            return False
        self.array = self._over(self._map, lines)
        return True

    def _over(self, mapping: mmap.mmap, lines: int) -> npt.NDArray[Scalar]:
        count = lines * max(self._width, 1)
        found: npt.NDArray[Scalar] = np.frombuffer(mapping, dtype=self._dtype, count=count).reshape(self._shape(lines))
        return found

    def _shape(self, lines: int) -> tuple[int, ...]:
        return (lines, self._width) if self._width else (lines,)


def _mapping(size: int) -> mmap.mmap:
    """Returns private zeroed memory, in large pages if the system has them: fewer faults, fewer TLB misses."""
    mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # A system without them says so; it does no harm.
        with contextlib.suppress(OSError):
            mapping.madvise(mmap.MADV_HUGEPAGE)
    return mapping
