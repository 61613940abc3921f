"""The engine whose files are active in a directory, and the atomic change to the other engine's files.

A database of the local engine has a journal, one of the Spark engine a manifest. During a conversion both are there.
The file `form` then names the active engine. It is replaced atomically, so exactly one engine is active at any time:

    prepare_conversion   removes old files of the other engine; `form` names the present engine
                         ... the caller writes all files of the other engine ...
    activate             `form` names the other engine: the database is converted
    remove_files         removes the files of the engine before, its journal or manifests first

If only one of journal and manifest is there, its engine is active whatever `form` says: a database that was never
converted has no such file.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tidelog.database.storage.journal import is_database, sync_directory
from tidelog.engine.storage_errors import damaged

LOCAL, SPARK = "local", "spark"
FORM_FILE = "form"
_DRAFT = "form.partial"
# The first pattern makes a database of a directory: without such a file, the others mean nothing.
_FILES = {
    LOCAL: (r"journal\.sqlite", r"journal\.sqlite.+|head|snapshot-\d+\.(tide|partial)"),
    SPARK: (r"manifest-\d+\.json", r"draft\..*|epoch-\d+|changes-\d+\.json"),
}


def active_engine(directory: Path) -> str | None:
    """Returns the engine whose files are active; None without a database. Raises DataError if nothing names it."""
    is_local, is_spark = is_database(directory), any(directory.glob("manifest-*.json"))
    if is_local and is_spark:
        return _named_engine(directory)
    return LOCAL if is_local else SPARK if is_spark else None


def prepare_conversion(directory: Path, engine: str) -> None:
    """Makes room for files of the other engine beside those of `engine`, which stays active. Raises OSError."""
    remove_files(directory, _other(engine))
    activate(directory, engine)


def activate(directory: Path, engine: str) -> None:
    """Makes an engine active whose files are all on the disk. Raises OSError; then nothing has changed."""
    draft = directory / _DRAFT
    with draft.open("w") as file:
        file.write(engine)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / FORM_FILE)
    sync_directory(directory)


def remove_files(directory: Path, engine: str) -> None:
    """Removes all files of an engine that is not active. Raises OSError."""
    for pattern in _FILES[engine]:
        names = [name for name in os.listdir(directory) if re.fullmatch(pattern, name)]
        for name in names:
            path = directory / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if names:
            sync_directory(directory)


def finish_conversion(directory: Path, engine: str) -> None:
    """Removes files of the other engine that are left from a conversion to `engine` in a killed process."""
    if (directory / FORM_FILE).exists():
        (directory / _DRAFT).unlink(missing_ok=True)
        remove_files(directory, _other(engine))


def _named_engine(directory: Path) -> str:
    try:
        engine = (directory / FORM_FILE).read_text()
    except OSError:
        engine = ""
    if engine not in (LOCAL, SPARK):
        raise damaged(directory, f"it has a journal and a manifest, and `{FORM_FILE}` does not say which is active")
    return engine


def _other(engine: str) -> str:
    return SPARK if engine == LOCAL else LOCAL
