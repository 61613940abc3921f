"""`tidelog check`: all errors and warnings of programs, without running them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tidelog.cli import options
from tidelog.cli.externs import externs_option, load_externs
from tidelog.cli.sources import programs_argument, read_program
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.wording import counted


@click.command(short_help="Print all errors and warnings of programs.")
@programs_argument
@options.language
@options.overflow
@options.modules
@externs_option
@click.option("--json", "as_json", is_flag=True, help="Print errors and warnings to standard output, as a JSON list.")
@options.debug
@click.pass_context
def check(
    context: click.Context,
    programs: tuple[Path, ...],
    overflow: str | None,
    modules: tuple[Path, ...],
    externs_file: Path | None,
    as_json: bool,
    language: dict[str, Any],
) -> None:
    """Checks programs, without running them, and prints all errors and warnings.

    Exits with 0 if no program has an error, else with 1; warnings do not count. `-` is standard input. With --externs,
    an extern function (written in Python) that a program declares and the file does not define is an error, too.

    \b
    Example:
      tidelog check reach.dl
      tidelog check -L modules reach.dl
    """
    from tidelog.cli.warnings import print_warnings
    from tidelog.compile_program import check_source, compile_program
    from tidelog.diagnostics.record import as_record
    from tidelog.rules.lower.program import Options

    externs = load_externs(externs_file)
    chosen = Options(externs, **language, overflow=overflow or "wrap")
    wrong = 0
    records = []
    for path in programs:
        try:
            source = read_program(path)
            typed = check_source(source, modules, chosen)
        except ProgramError as error:
            wrong += 1
            records += [as_record(each) for each in error.diagnostics]
            if not as_json:
                click.echo(f"{error}\n", err=True)
            click.echo(f"{path}: {counted(len(error.diagnostics), 'error')}", err=True)
            continue
        records += [as_record(each) for each in typed.warnings]
        if not as_json:
            print_warnings(typed)
        try:
            if externs_file is not None:
                functions = compile_program(source, modules, chosen).rules.functions
                functions.require(function.id for function in typed.functions.values() if function.is_extern)
        except UsageError as error:
            wrong += 1
            click.echo(f"{error}\n", err=True)
            click.echo(f"{path}: extern functions are missing", err=True)
        else:
            found = f"no errors, {counted(len(typed.warnings), 'warning')}" if typed.warnings else "no errors"
            size = f"{counted(len(typed.relations), 'relation')} and {counted(len(typed.rules), 'rule')}"
            click.echo(f"{path}: {found} in {size}", err=True)
    if as_json:
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
    context.exit(1 if wrong else 0)
