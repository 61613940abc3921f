"""`tidelog shell`: a program under the control of commands, typed or from a script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tidelog.cli import options
from tidelog.cli.externs import externs_option, load_externs


@click.command(short_help="Run commands on a program: insert, delete, commit, dump.")
@click.argument("program", metavar="[PROGRAM.dl]", required=False, type=options.FILE)
@options.directory
@options.engine
@options.modules
@externs_option
@click.option(
    "--no-init-snapshot", is_flag=True, help="Do not print the rows that the facts in the program's text derive."
)
@click.option("--output-internal-relations", is_flag=True, help="Treat relations without a role as output.")
@click.option("--keep-duplicates", is_flag=True, help="Groups keep equal values of different rows.")
@click.option("--no-store", is_flag=True, help="`dump` prints nothing, and no rows are stored for it.")
@click.option("--no-delta", is_flag=True, help="`commit dump_changes` prints nothing.")
@click.option("-w", "--workers", metavar="N", type=click.IntRange(min=1), help="Ignored; accepted for old scripts.")
@options.overflow
@options.language
@options.opening
@options.debug
@click.pass_context
def shell(
    context: click.Context,
    *,
    program: Path | None,
    directory: Path | None,
    engine: str | None,
    modules: tuple[Path, ...],
    externs_file: Path | None,
    no_init_snapshot: bool,
    output_internal_relations: bool,
    keep_duplicates: bool,
    no_store: bool,
    no_delta: bool,
    workers: int | None,
    overflow: str | None,
    language: dict[str, Any],
    opening: dict[str, Any],
) -> None:
    """Runs commands on a program, from the terminal or from standard input. `help;` lists them.

    If --db has a database, the program can be omitted.

    \b
    Example:
      tidelog shell reach.dl
      tidelog shell reach.dl < script.dat
      tidelog shell reach.dl --strategy recompute --deadline 10 < script.dat
      tidelog shell reach.dl --db reach-db
      tidelog shell --db reach-db
      tidelog shell --db reach-db --engine spark
    """
    from tidelog.cli.warnings import print_warnings
    from tidelog.database.program.program import compile
    from tidelog.shell.run_commands import lines_of, run_script, run_terminal
    from tidelog.shell.shell import Shell

    externs = load_externs(externs_file)
    if program is not None:
        compiled = compile(
            program,
            externs=externs,
            search_path=modules,
            keep_duplicates=keep_duplicates,
            output_internal=output_internal_relations,
            overflow=overflow or "wrap",
            **language,
        )
    elif overflow is not None:
        raise click.UsageError("`--overflow` needs a PROGRAM.dl: the program of a database has its own.", context)
    elif directory is not None:
        from tidelog.database.storage.open_local import read_program

        compiled = read_program(directory).compile(externs)
    else:
        raise click.UsageError("Missing argument '[PROGRAM.dl]': it can be omitted only with `--db`.", context)
    print_warnings(compiled.stages.typed)
    with Shell(
        compiled,
        sys.stdout,
        store=not no_store,
        delta=not no_delta,
        opening=opening,
        path=directory,
        engine=options.engine_for(engine, directory),
    ) as session:
        if not no_init_snapshot:
            session.show_initial()
            sys.stdout.flush()
        if sys.stdin.isatty():
            from tidelog.shell.terminal import terminal_lines

            code = run_terminal(session, terminal_lines(session.rows))
        else:
            code = run_script(session, lines_of(sys.stdin.buffer), sys.stdout.flush)
    context.exit(code)
