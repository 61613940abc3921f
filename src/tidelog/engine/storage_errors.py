"""The errors of databases on disk, in one place so that all of them read alike, whichever engine raises them."""

from __future__ import annotations

from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, TransactionError, UsageError
from tidelog.rules.ir import Column, Relation

Place = Path | str
"""A directory, or an address such as `s3://bucket/state`."""


def damaged(
    place: Place, what: str, help: str = "restore the directory from a copy; nothing in it has been changed"
) -> DataError:
    """Makes the error for files that have changed since they were written; `what` says how."""
    return DataError(f"the database {place} is damaged: {what}", code=Code.DAMAGED_DATABASE, help=help)


def missing_file(place: Place, name: str) -> DataError:
    """Makes the error for a missing file of the state: somebody removed it, or the writer did, epochs ago."""
    help = "if another process writes to it, `refresh()` first; otherwise restore the directory from a copy"
    return damaged(place, f"its file {name} is not there", help)


def not_a_database(place: Place, what: str, help: str | None = None) -> UsageError:
    return UsageError(f"{place} is not a Tidelog database: {what}", code=Code.NOT_A_DATABASE, help=help)


def not_usable(place: Place, what: str) -> UsageError:
    """Makes the error for a database that is as it should be, on a disk that is full, broken or read-only."""
    return UsageError(
        f"the database {place} cannot be used as it lies there: {what}",
        code=Code.UNUSABLE_DIRECTORY,
        help="make room on the disk, or see to its permissions; `read_only=True` opens it without writing to it;"
        " nothing in it has been changed",
    )


def other_engine(place: Place, engine: str) -> UsageError:
    """Makes the error for reading a database of another engine; only a writer converts it."""
    return UsageError(
        f"the database {place} belongs to the engine {engine!r}, and only that engine can read it",
        code=Code.UNUSABLE_DIRECTORY,
        help=f"read it with `engine={engine!r}`; opened without `read_only`, it is converted to the requested engine",
    )


def in_use(place: Place, who: str) -> UsageError:
    """Makes the error for a database that another process, `who`, writes to."""
    return UsageError(
        f"the database {place} is open for writing in {who}",
        code=Code.DATABASE_IN_USE,
        help="close it there first, or open it here with `read_only=True`",
    )


def not_written(
    place: Place, reason: object, what: str = "commit", left: str = "the last commit is intact"
) -> TransactionError:
    """Makes the error for an epoch, or `what` else, that could not be written."""
    help = f"make room on the disk, or see to its permissions, and {what} again"
    if "locked" in str(reason):
        help = f"another process has the journal open for writing; end it, and {what} again"
    return TransactionError(
        f"the {what} could not be written to {place} ({reason}); {left}",
        code=Code.COMMIT_NOT_WRITTEN,
        help=help,
    )


def read_only(place: Place) -> TransactionError:
    return TransactionError(
        f"the database {place} is open for reading only",
        code=Code.READ_ONLY_DATABASE,
        help="open it without `read_only=True` to write",
    )


def not_storable(relation: Relation, column: Column) -> UsageError:
    return UsageError(
        f"the values of `{relation.name}.{column.name}`, of type `{column.type}`, cannot be stored on disk",
        code=Code.NOT_STORABLE,
        help="open the database in memory, without `path`",
    )


def foreign_process(place: Place, owner: int) -> UsageError:
    return UsageError(
        f"the database {place} was opened by process {owner}, and this is a child of it",
        code=Code.FOREIGN_PROCESS,
        help="open a database in the process that writes to it",
    )


def other_program(place: Place) -> UsageError:
    return UsageError(
        f"the database {place} has another program since it was opened here",
        code=Code.DIFFERENT_PROGRAM,
        help="open it again with `tidelog.open(path)`",
    )


def other_format(place: Place, found: object, known: int) -> UsageError:
    return UsageError(
        f"the database {place} has format {found}; this version of Tidelog reads format {known}",
        code=Code.OTHER_FORMAT,
        help="open it with the version that made it",
    )
