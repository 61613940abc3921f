"""Compressed files, read up to a number of bytes: a small file must not fill the memory.

Rows as text are seldom compressed to less than a fiftieth. A file that grows to more than a hundred times its size, and
to more than 64 MiB, is refused; `TIDELOG_MAX_DECOMPRESSED` sets another number of bytes for every file.
"""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import IO, Any, BinaryIO

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError

_VARIABLE = "TIDELOG_MAX_DECOMPRESSED"
_AT_LEAST = 64 << 20
_RATIO = 100


def open_compressed(path: Path, packed: str = "gzip") -> BinaryIO:
    """Opens a file compressed by `gzip` or `zstd`; reading more bytes than are allowed raises DataError."""
    return io.BufferedReader(_Bounded(path, packed), 1 << 16)


def open_compressed_text(
    path: Path, packed: str = "gzip", *, encoding: str, errors: str = "strict", newline: str | None = None
) -> IO[str]:
    """Opens a compressed file as text; see `open_compressed`."""
    return io.TextIOWrapper(open_compressed(path, packed), encoding=encoding, errors=errors, newline=newline)


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


def _unpacked(path: Path, packed: str) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression=packed)


class _Bounded(io.RawIOBase):
    def __init__(self, path: Path, packed: str) -> None:
        self._path = path
        self._limit = _limit(path)
        self._count = 0
        self._file: Any = gzip.GzipFile(path, "rb") if packed == "gzip" else _unpacked(path, packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data: bytes = self._file.read1(len(buffer))
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
