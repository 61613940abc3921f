"""`tidelog.open`: a directory → its database, with the program that is stored in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tidelog.database.database import Database


def open(
    path: str | os.PathLike[str], *, externs: Mapping[str, Callable[..., Any]] | None = None, **options: Any
) -> Database:
    """Opens the durable database in a directory, which was made with `program.open(path=...)`.

    Its program is stored there. `externs` are the Python functions of its extern functions, as for `compile`: they are
    given again. One that has another `version` (an attribute of the function) than before derives everything anew.
    The other options are those of `Program.open`.

    Raises UsageError where there is no database, a function is missing, or another process writes to it; DataError for
    a directory that is damaged.
    """
    from tidelog.database.durable.open import read_program

    program = read_program(Path(path)).compile(externs or {})
    return program.open(path=path, **options)
