"""`tidelog fmt`: formats programs. A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from tidelog.cli import options
from tidelog.cli.sources import is_standard_input, programs_argument, read_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.io.replace_file import replacing, writing


@click.command(short_help="Format programs in the standard layout.")
@programs_argument
@click.option("--check", "only_check", is_flag=True, help="Change no file. Exit with 1 if a file would change.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the result instead of changing the file.")
@options.debug
@click.pass_context
def fmt(context: click.Context, programs: tuple[Path, ...], only_check: bool, to_stdout: bool) -> None:
    """Formats programs in place: line breaks, blanks and parentheses change, comments and meaning do not.

    A file that does not parse is not changed; its errors are printed, and the command exits with 1. `-` is standard
    input: the result goes to standard output. In a program in Soufflé's language, line breaks stay.

    \b
    Example:
      tidelog fmt reach.dl
      tidelog fmt --check rules/*.dl
      tidelog fmt - < reach.dl
    """
    from tidelog.souffle.dialect import SOUFFLE, dialect_of
    from tidelog.souffle.text.format import format_souffle
    from tidelog.syntax.format import format_program

    if only_check and to_stdout:
        raise click.UsageError("--check prints nothing to standard output: give one of --check and --stdout")
    failed = False
    for path in programs:
        source = read_program(path)
        try:
            is_souffle = dialect_of(source.text) == SOUFFLE
            text = format_souffle(source) if is_souffle else format_program(source)
        except ProgramError as error:
            failed = True
            click.echo(f"{error}\n", err=True)
            click.echo(f"{source.name}: does not parse, left as it is", err=True)
            continue
        if to_stdout or (is_standard_input(path) and not only_check):
            click.echo(text, nl=False)
        elif text == source.text:
            click.echo(f"{source.name}: unchanged", err=True)
        elif only_check:
            failed = True
            click.echo(f"{source.name}: would change", err=True)
        else:
            _replace(path, text)
            click.echo(f"{path}: formatted", err=True)
    context.exit(1 if failed else 0)


def _replace(path: Path, text: str) -> None:
    """Replaces the text of the file in one step; keeps its mode, and follows links."""
    target = Path(os.path.realpath(path))
    with writing(path), replacing(target) as file:
        file.write(text.encode())
        shutil.copymode(target, file.name)
