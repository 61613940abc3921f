"""Files compressed with gzip, read up to a number of bytes: a small file must not fill the memory.

Rows as text are seldom compressed to less than a fiftieth. A file that grows to more than a hundred times its size, and
to more than 64 MiB, is refused; `TIDELOG_MAX_DECOMPRESSED` sets another number of bytes for every file.
"""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import IO, BinaryIO

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError

_VARIABLE = "TIDELOG_MAX_DECOMPRESSED"
_AT_LEAST = 64 << 20
_RATIO = 100


def open_gzip(path: Path) -> BinaryIO:
    """Opens a compressed file; reading more bytes than are allowed raises DataError."""
    return io.BufferedReader(_Bounded(path), 1 << 16)


def open_gzip_text(path: Path, *, encoding: str, errors: str = "strict", newline: str | None = None) -> IO[str]:
    """Opens a compressed file as text; see `open_gzip`."""
    return io.TextIOWrapper(open_gzip(path), encoding=encoding, errors=errors, newline=newline)


def _limit(path: Path) -> int:
    given = os.environ.get(_VARIABLE)
    if not given:
        return max(_AT_LEAST, _RATIO * path.stat().st_size)
    if not given.isdecimal() or len(given) > 18:
        raise DataError(
            f"the environment variable {_VARIABLE} is {given!r}, which is not a number of bytes",
            code=Code.UNREADABLE_FILE,
        )
    return int(given)


class _Bounded(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._limit = _limit(path)
        self._count = 0
        self._file = gzip.GzipFile(path, "rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read1(len(buffer))
        self._count += len(data)
        if self._count > self._limit:
            raise DataError(
                f"{self._path}: decompressed, it has more than {self._limit:,} bytes",
                code=Code.UNREADABLE_FILE,
                help=f"if you trust the file, set the environment variable {_VARIABLE} to the bytes that are allowed",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
