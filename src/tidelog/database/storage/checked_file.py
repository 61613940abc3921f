"""A file of bytes with a description behind them, and checksums for all of it.

    the bytes, each piece filled up to whole words
    a description in JSON, with the checksum of every block of the bytes
    the place, the length and the checksum of the description, and a mark

The file is written once, from front to end, and then mapped. A file that was cut short, or in which a byte has flipped,
is detected before any of it is used.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_END = struct.Struct("<QQI4s")
_MARK = b"TIDE"
_BLOCK = 4 << 20
_WORD = 8


class DamagedError(Exception):
    """The file is not as it was written; the text says how."""


class CheckedWriter:
    """Appends to a new, unbuffered file. `length` is the place of the next piece."""

    def __init__(self, file: BinaryIO) -> None:
        self.length = 0
        self._file = file
        self._checksums: list[int] = []
        self._open = 0  # the checksum of the block that is not full yet

    def add(self, piece: Any) -> None:
        """Appends any object with a buffer of bytes."""
        view = memoryview(piece)
        if view.nbytes:
            self._append(view.cast("B"))
            self._append(memoryview(bytes(-view.nbytes % _WORD)))

    def finish(self, description: dict[str, Any]) -> None:
        """Appends the description; nothing may follow."""
        checked = {**description, "length": self.length, "checksums": [*self._checksums, self._open]}
        data = json.dumps(checked).encode()
        self._write(memoryview(data))
        self._write(memoryview(_END.pack(self.length, len(data), zlib.crc32(data), _MARK)))

    def _append(self, view: memoryview) -> None:
        self._write(view)
        while len(view):
            part = view[: _BLOCK - self.length % _BLOCK]
            self._open = zlib.crc32(part, self._open)
            self.length += len(part)
            if self.length % _BLOCK == 0:
                self._checksums.append(self._open)
                self._open = 0
            view = view[len(part) :]

    def _write(self, view: memoryview) -> None:
        while len(view):
            view = view[self._file.write(view) :]


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that passed its checks. Its pages may be written to: that changes memory, and never the file."""

    pages: mmap.mmap
    description: dict[str, Any]

    @staticmethod
    def map(path: Path) -> CheckedFile:
        """Maps a file and checks all of it. Raises DamagedError, or OSError when it cannot be read."""
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < _END.size:
                raise DamagedError("it was cut short")
            pages = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        at, length, checksum, mark = _END.unpack_from(pages, size - _END.size)
        if mark != _MARK or at + length + _END.size != size:
            raise DamagedError("it was cut short")
        data = pages[at : at + length]
        if zlib.crc32(data) != checksum:
            raise DamagedError("its description is not as it was written")
        try:
            description = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DamagedError("its description is no JSON") from error
        if not isinstance(description, dict) or description.get("length") != at:
            raise DamagedError("its description is not that of its contents")
        if not _is_whole(pages, at, description.get("checksums")):
            raise DamagedError("its contents are not as they were written")
        return CheckedFile(pages, description)


def _is_whole(pages: mmap.mmap, length: int, checksums: object) -> bool:
    """True if all blocks have their checksums. Two threads, since this is most of the time to open a database."""
    view = memoryview(pages)
    starts = range(0, length + 1, _BLOCK)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda start: zlib.crc32(view[start : min(start + _BLOCK, length)]), starts))
    return found == checksums
