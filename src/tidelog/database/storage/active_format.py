"""Which engine's files count in a directory, and how that changes from one moment to the next.

A database has one of two forms: that of the local engine has a journal, that of Spark a manifest. While it goes from
one to the other, both are there. Then the file `form` says which one counts; it is replaced in one step, so at every
moment exactly one does:

    begin     what is left of the other form is removed; `form` says what counted so far
              ... all of the other form is written ...
    take      `form` says that the other one counts: the database has gone over
    sweep     what counted so far is removed, its journal or manifests first

Where only one of the two is there, it counts, whatever the file says: databases that never went over have none.
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
# What makes a form first: without it, nothing of the rest counts.
_FILES = {
    LOCAL: (r"journal\.sqlite", r"journal\.sqlite.+|head|snapshot-\d+\.(tide|partial)"),
    SPARK: (r"manifest-\d+\.json", r"draft\..*|epoch-\d+"),
}


def form_of(directory: Path) -> str | None:
    """The form that counts; None where there is no database. Raises DataError where that cannot be told."""
    is_local, is_spark = is_database(directory), any(directory.glob("manifest-*.json"))
    if is_local and is_spark:
        return _noted(directory)
    return LOCAL if is_local else SPARK if is_spark else None


def begin(directory: Path, form: str) -> None:
    """Before the other form is written beside this one, which counts. Raises OSError."""
    sweep(directory, _other(form))
    take(directory, form)


def take(directory: Path, form: str) -> None:
    """From now on this form counts, which is there, whole and on the disk. Raises OSError; then nothing has changed."""
    draft = directory / _DRAFT
    with draft.open("w") as file:
        file.write(form)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / FORM_FILE)
    sync_directory(directory)


def sweep(directory: Path, form: str) -> None:
    """Removes all files of a form that does not count. Raises OSError."""
    for pattern in _FILES[form]:
        names = [name for name in os.listdir(directory) if re.fullmatch(pattern, name)]
        for name in names:
            path = directory / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if names:
            sync_directory(directory)


def sweep_other(directory: Path, form: str) -> None:
    """Removes what a process that was killed while the database went over to this form has left of the other."""
    if (directory / FORM_FILE).exists():
        (directory / _DRAFT).unlink(missing_ok=True)
        sweep(directory, _other(form))


def _noted(directory: Path) -> str:
    try:
        form = (directory / FORM_FILE).read_text()
    except OSError:
        form = ""
    if form not in (LOCAL, SPARK):
        raise damaged(
            directory, f"there are a journal and a manifest in it, and `{FORM_FILE}` does not say which counts"
        )
    return form


def _other(form: str) -> str:
    return SPARK if form == LOCAL else LOCAL
