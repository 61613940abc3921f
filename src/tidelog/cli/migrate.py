"""`tidelog migrate`: the database of another program → one of this program, with its facts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidelog.cli import options
from tidelog.cli.externs import externs_option, load_externs
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.wording import counted

if TYPE_CHECKING:
    from tidelog.database.program.program import Program
    from tidelog.database.storage.migration.plan import MigrationPlan


def _pairs(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for each in given:
        name, is_pair, value = each.partition("=")
        if not is_pair or not name:
            raise click.BadParameter(f"{each!r} is not of the form {parameter.metavar}")
        pairs[name] = value
    return pairs


@click.command(short_help="Give a database another program, and keep its facts.")
@click.argument("directory", metavar="DIRECTORY")
@options.program
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@click.option(
    "--rename",
    metavar="OLD=NEW",
    multiple=True,
    callback=_pairs,
    help="A relation (Link=Edge) or a column (Edge.src=source) that has another name now. May be given several times.",
)
@click.option(
    "--default",
    metavar="RELATION.COLUMN=VALUE",
    multiple=True,
    callback=_pairs,
    help="The value of a new column in the facts that are there, as in a CSV file. May be given several times.",
)
@click.option(
    "--drop",
    metavar="NAME",
    multiple=True,
    help="An old relation or an old column (Edge.note) whose facts may be lost, or `rules`: those added at run time."
    " May be given several times.",
)
@click.option("-y", "--yes", is_flag=True, help="Lose whatever is printed as lost, without asking.")
@options.overflow
@options.modules
@externs_option
@options.debug
def migrate(
    directory: str,
    program: Path,
    dry_run: bool,
    rename: dict[str, str],
    default: dict[str, str],
    drop: tuple[str, ...],
    yes: bool,
    overflow: str | None,
    modules: tuple[Path, ...],
    externs_file: Path | None,
) -> None:
    """Gives the database in DIRECTORY the program PROGRAM.dl.

    The facts of input relations are kept, everything else is derived again. First the command prints what changes and
    what is lost. A loss that no --drop names is asked for on a terminal, and an error elsewhere. Until the new state is
    committed, the database is the old one.

    \b
    Example:
      tidelog migrate state reach.dl --dry-run
      tidelog migrate state reach.dl --rename Edge.src=source --default Edge.weight=1
    """
    import tidelog

    externs = load_externs(externs_file)
    compiled = tidelog.compile(program, externs=externs, search_path=modules, overflow=overflow or "wrap")
    said: dict[str, Any] = {
        "rename": rename,
        "default": {name: _value(compiled, name, text) for name, text in default.items()},
        "drop": ["*"] if yes else list(drop),
    }
    plan = compiled.migration(directory, said)
    click.echo(str(plan))
    if dry_run or plan.is_empty:
        _warn(plan)
        return
    if plan.unsaid and not plan.problems and sys.stdin.isatty():
        click.confirm(f"{counted(len(plan.unsaid), 'part')} of the database will be lost. Go on?", abort=True)
        said["drop"] = [*drop, *(loss.name for loss in plan.unsaid)]
    elif plan.unsaid or plan.problems:
        raise UsageError(
            f"the database {directory} cannot be migrated before you say more:{_lines(plan)}",
            code=Code.MIGRATION_NOT_SAID,
            help=_options(plan),
        )
    engine = options.engine_for(None, Path(directory)) if ":/" not in directory else "spark"
    with compiled.open(engine, path=directory, migrate=said) as db:
        click.echo(f"{directory}: migrated, epoch {db.report.epoch}", err=True)


def _value(program: Program, name: str, text: str) -> Any:
    """Reads the default of a new column as a cell of a file; the text itself for an unknown column."""
    from tidelog.io.fit import cell_fitter
    from tidelog.io.values import UnfitError

    relation, _, column = name.partition(".")
    rules = program.stages.rules
    declared = rules.relations.get(relation)
    found = next((each for each in declared.columns if each.name == column), None) if declared is not None else None
    if found is None:
        return text  # the plan reports the name
    try:
        return cell_fitter(found.type, rules.functions.definitions)(text)
    except UnfitError as error:
        raise UsageError(
            f"the default of `{name}` is {text!r}, which is not a {found.type}", code=Code.MIGRATION_NOT_SAID
        ) from error


def _warn(plan: MigrationPlan) -> None:
    if plan.unsaid or plan.problems:
        click.echo(f"this migration needs more:{_lines(plan)}\n  = help: {_options(plan)}", err=True)


def _lines(plan: MigrationPlan) -> str:
    return "".join(
        f"\n  - {line}" for line in [*(f"it would lose {loss.text}" for loss in plan.unsaid), *plan.problems]
    )


def _options(plan: MigrationPlan) -> str:
    # As cells of a file: `plan` has them as Python writes them.
    cells = {"False": "false", '""': ""}
    defaults = [f"--default {name}={cells.get(value, value)}" for name, value in plan.missing_defaults.items()]
    given = [*defaults, *(f"--drop {loss.name}" for loss in plan.unsaid)]
    return f"add `{' '.join(given)}`, or `--rename OLD=NEW`" if given else "change the column's type to a wider one"
