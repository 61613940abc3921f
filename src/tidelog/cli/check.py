"""`tidelog check`: all that is wrong with programs, or doubtful, without running them."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.options import debug_option, modules_option
from tidelog.cli.sources import programs_argument, read_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.wording import counted


@click.command(short_help="Print everything that is wrong with programs.")
@programs_argument
@modules_option
@debug_option
@click.pass_context
def check(context: click.Context, programs: tuple[Path, ...], modules: tuple[Path, ...]) -> None:
    """Checks programs and prints everything that is wrong with them.

    Exits with 0 when all of them are right and with 1 when one is not; warnings do not count. `-` is standard input.

    \b
    Example:
      tidelog check reach.dl
      tidelog check -L modules reach.dl
    """
    from tidelog.cli.warnings import print_warnings
    from tidelog.rules.compile_rules import check_source

    wrong = 0
    for path in programs:
        try:
            typed = check_source(read_program(path), modules)
        except ProgramError as error:
            wrong += 1
            click.echo(f"{error}\n", err=True)
            click.echo(f"{path}: {counted(len(error.diagnostics), 'error')}", err=True)
        else:
            print_warnings(typed)
            found = f"no errors, {counted(len(typed.warnings), 'warning')}" if typed.warnings else "no errors"
            size = f"{counted(len(typed.relations), 'relation')} and {counted(len(typed.rules), 'rule')}"
            click.echo(f"{path}: {found} in {size}", err=True)
    context.exit(1 if wrong else 0)
