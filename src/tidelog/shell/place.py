"""Positions in a script, and errors that point to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, EvaluationError, TidelogError, TransactionError, UsageError


class Place(NamedTuple):
    """A line and a column, both from 1; printed as `<stdin>:3:12`."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


class IncompleteError(DataError):
    """The input ends inside the command that begins at `place`."""

    def __init__(self, place: Place) -> None:
        super().__init__(f"{place}: the input ends inside a command", code=Code.BAD_COMMAND)
        self.place = place


def bad_command(place: Place, message: str, help: str | None = None) -> DataError:
    """Returns the error for text that is no command."""
    return DataError(f"{place}: {message}", code=Code.BAD_COMMAND, help=help)


@contextmanager
def error_at(place: Place) -> Iterator[None]:
    """Puts the position of the command in front of the errors that the database raises inside the block."""
    try:
        yield
    except (DataError, EvaluationError, TransactionError, UsageError) as error:
        if error.message.startswith(f"{place.source}:"):
            raise
        kind: type[TidelogError] = type(error)
        # The command has another name than the method.
        help = error.help.replace("`upsert`", "`insert_or_update`") if error.help else None
        raise kind(f"{place}: {error.message}", code=error.code, help=help) from error
