"""`tidelog.open`: a directory → its database, with the program that is stored in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.database.database import Database

if TYPE_CHECKING:
    from tidelog.database.storage.stored_program import StoredProgram


def open(
    path: str | os.PathLike[str], *, externs: Mapping[str, Callable[..., Any]] | None = None, **options: Any
) -> Database:
    """Opens the durable database in a directory, which was made with `program.open(path=...)`.

    Its program is stored there. `externs` are the Python functions of its extern functions, as for `compile`. If the
    `version` (an attribute) of a function has changed, everything is derived from scratch. The other options are those
    of `Program.open`. Without an `engine` the database is opened with its own engine; with another, it is converted.

    Raises UsageError where there is no database, a function is missing, or another process writes to it; DataError for
    a damaged directory.
    """
    from tidelog.database.storage.active_format import SPARK, active_engine
    from tidelog.database.storage.open_local import check_address

    address = os.fspath(path)
    check_address(address)
    where = on_this_disk(address)
    is_on_spark = where is None or active_engine(where) == SPARK
    stored = read_stored(address, where)
    return stored.compile(externs or {}).open(
        **{"engine": "spark" if is_on_spark else "local", "path": path, **options}
    )


def on_this_disk(address: str) -> Path | None:
    """Returns the path on this machine; None for an address elsewhere."""
    if ":/" not in address:
        return Path(address)
    from tidelog.engine.spark.storage.directory import StateDirectory

    directory = StateDirectory(address)
    return directory.local_path if directory.is_local else None


def read_stored(address: str, where: Path | None) -> StoredProgram:
    """Reads the program of a database, of either engine; `where` is the path of one on this machine.

    Raises UsageError where there is none.
    """
    from tidelog.database.storage.open_local import read_program
    from tidelog.database.storage.open_spark import read_program_on_spark
    from tidelog.engine.storage_errors import not_a_database

    if where is not None:
        return read_program(where)
    stored = read_program_on_spark(address)
    if stored is None:
        raise not_a_database(address, "there is no manifest in it")
    return stored
