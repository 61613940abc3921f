"""A path of the command line → the text of a program; `-` is standard input."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.spans import Source

STANDARD_INPUT = "-"

programs_argument = click.argument(
    "programs",
    metavar="PROGRAM.dl...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)


def read_program(path: Path) -> Source:
    """Reads the program in a file, or on standard input. Raises UsageError if it cannot be read, or is not UTF-8."""
    from tidelog.database.program.program import read_source

    if not is_standard_input(path):
        return read_source(path)
    try:
        return Source("<stdin>", sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"the program on standard input is not UTF-8 text: byte {error.start}"
        raise UsageError(message, code=Code.UNREADABLE_PROGRAM) from error


def is_standard_input(path: Path) -> bool:
    return str(path) == STANDARD_INPUT
