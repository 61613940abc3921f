"""Options and settings that every command has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(slots=True)
class Settings:
    """What holds for the whole call. `debug`: show the Python traceback of an error."""

    debug: bool


def _remember(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and isinstance(context.obj, Settings):
        context.obj.debug = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Show the Python traceback of an error (also: TIDELOG_DEBUG=1).",
)

modules_option = click.option(
    "-L",
    "modules",
    metavar="DIRECTORY",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Look for imported modules here, too. May be given several times.",
)

program_argument = click.argument(
    "program", metavar="PROGRAM.dl", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
