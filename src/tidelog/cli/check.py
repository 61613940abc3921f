"""`tidelog check`: all that is wrong with programs, without running them."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.options import debug_option, modules_option
from tidelog.diagnostics.errors import ProgramError


@click.command(short_help="Print everything that is wrong with programs.")
@click.argument(
    "programs",
    metavar="PROGRAM.dl...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@modules_option
@debug_option
@click.pass_context
def check(context: click.Context, programs: tuple[Path, ...], modules: tuple[Path, ...]) -> None:
    """Checks programs and prints everything that is wrong with them.

    Exits with 0 when all of them are right and with 1 when one is not.

    \b
    Example:
      tidelog check reach.dl
      tidelog check -L modules reach.dl
    """
    from tidelog.database.program import read_source
    from tidelog.rules.compile_rules import check_source

    wrong = 0
    for path in programs:
        try:
            typed = check_source(read_source(path), modules)
        except ProgramError as error:
            wrong += 1
            click.echo(f"{error}\n", err=True)
            count = len(error.diagnostics)
            click.echo(f"{path}: {count} {'error' if count == 1 else 'errors'}", err=True)
        else:
            click.echo(f"{path}: no errors in {len(typed.relations)} relations and {len(typed.rules)} rules", err=True)
    context.exit(1 if wrong else 0)
