"""Files that appear whole or not at all, and the error for one that cannot be written."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yields a file beside `path`, which replaces it when the block ends well, and is removed when it fails."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises UsageError for an OSError inside the block, which writes a file or a folder."""
    if "\0" in str(path):
        raise UsageError(f"the path {str(path)!r} has a NUL character in it", code=Code.UNWRITABLE_OUTPUT)
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}", code=Code.UNWRITABLE_OUTPUT) from error
