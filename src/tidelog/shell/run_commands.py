"""Runs the commands of an input until it ends, or an error ends it.

In a script, the first command that fails ends the shell, with the exit code of its error. On a terminal an error is
reported, the rest of the line is dropped, and the next line is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import click

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, InternalError, ProgramError, TidelogError
from tidelog.shell.place import IncompleteError
from tidelog.shell.read_command import read_command
from tidelog.shell.scan import Scanner
from tidelog.shell.shell import Shell


def run_script(shell: Shell, read_line: Callable[[], str | None], flush: Callable[[], None]) -> int:
    """Runs all commands of a script; returns the exit code."""
    scanner = Scanner(read_line)
    try:
        while (command := read_command(scanner)) is not None:
            if not shell.run(command):
                break
            flush()
    except IncompleteError as error:
        click.echo(f"Warning: {error.place}: the input ends inside a command, which is not run", err=True)
    except InternalError:
        raise
    except TidelogError as error:
        flush()
        report(error)
        return error.exit_code
    return 0


def run_terminal(shell: Shell, read_line: Callable[[], str | None]) -> int:
    """Runs commands as they are typed; an error ends only its line."""
    scanner = Scanner(read_line)
    while True:
        try:
            command = read_command(scanner)
            if command is None or not shell.run(command):
                return 0
        except IncompleteError:
            return 0
        except InternalError:
            raise
        except TidelogError as error:
            scanner.drop_line()
            report(error)
        except KeyboardInterrupt:
            scanner.drop_line()
            click.echo("interrupted", err=True)


def report(error: TidelogError) -> None:
    """Prints an error with its code; errors in a query or a rule are shown in its text."""
    if isinstance(error, ProgramError):
        what = "query is" if error.diagnostics[0].span.source.name == "<query>" else "rules are"
        click.echo(f"Error: the {what} wrong\n{error}", err=True)
        return
    click.echo(f"Error: {error.message} [{error.code}]", err=True)
    if error.help:
        click.echo(f"  = help: {error.help}", err=True)


def lines_of(stream: BinaryIO) -> Callable[[], str | None]:
    """Returns a function that reads the next line of a stream; it raises DataError for a line that is not UTF-8."""
    number = 0

    def read_line() -> str | None:
        nonlocal number
        line = stream.readline()
        if not line:
            return None
        number += 1
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"<stdin>:{number}:{error.start + 1}: the line is not UTF-8 text", code=Code.BAD_COMMAND
            ) from error

    return read_line
