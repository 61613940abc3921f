"""`tidelog backup`: a copy of a durable database, made while others write to it."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli import options


@click.command(short_help="Copy a database while commits go on.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("to", type=click.Path(path_type=Path))
@options.debug
def backup(directory: Path, to: Path) -> None:
    """Copies the database in DIRECTORY to the new or empty directory TO.

    The copy has the last epoch that was committed when the command began, or a later one, whatever other processes
    commit meanwhile. It is opened like any other database.

    \b
    Example:
      tidelog backup state copies/monday
    """
    from tidelog.database.storage.backup import backup as copy_database

    epoch = copy_database(directory, to)
    click.echo(f"{to}: epoch {epoch} of {directory}", err=True)
