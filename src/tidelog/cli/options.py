"""Options and settings that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from tidelog.maintain.options import DEFAULT_SWITCH
from tidelog.maintain.strategies import DEFAULT_STRATEGY, STRATEGIES


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


def read_plans(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str] | None:
    """`Reach=frames` and the like, as `Program.open` takes it."""
    plans = {}
    for each in given:
        relation, is_pair, plan = each.partition("=")
        if not is_pair:
            raise click.BadParameter(f"{each!r} is not of the form RELATION=PLAN")
        plans[relation] = plan
    return plans or None


directory_option = click.option(
    "--db",
    "directory",
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the database there. If there is one, it goes on.",
)

engine_option = click.option(
    "--engine",
    type=click.Choice(("local", "spark", "auto")),
    help="Where to run: by default where the database of --db is, else local. Another one takes that over.",
)


def engine_for(asked: str | None, directory: Path | None) -> str:
    """The engine that was asked for; else that of the database, if there is one."""
    if asked is not None or directory is None:
        return asked or "local"
    from tidelog.database.storage.active_format import form_of

    return form_of(directory) or "local"


plans_option = click.option(
    "--plan",
    "plans",
    metavar="RELATION=PLAN",
    multiple=True,
    callback=read_plans,
    help="On Spark, run the stratum of a relation so: decomposed, single task or frames; with `--engine auto` also"
    " driver. May be given several times.",
)

_OPENING = (
    click.option(
        "--strategy",
        metavar="NAME",
        default=DEFAULT_STRATEGY,
        show_default=True,
        help="How derived relations are kept up to date. "
        + "; ".join(f"{a}: {b}" for a, b in STRATEGIES.items())
        + ".",
    ),
    click.option(
        "--switch",
        metavar="SHARE",
        type=float,
        default=DEFAULT_SWITCH,
        show_default=True,
        help="With `elastic`, while nothing is known of what repairs cost: give up one that has taken this share of the"
        " time of the last derivation, and derive anew.",
    ),
    click.option("--threads", metavar="N", type=int, help="Threads for one epoch. Default: as many as pay."),
    click.option("--max-rounds", metavar="N", type=int, help="Undo an epoch that needs more rounds in a recursion."),
    click.option("--max-rows", metavar="N", type=int, help="Undo an epoch in which a relation grows beyond this."),
    click.option("--deadline", metavar="SECONDS", type=float, help="Undo an epoch that takes longer."),
)
OPENING = ("strategy", "switch", "threads", "max_rounds", "max_rows", "deadline")


def opening_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of `Program.open` that are not about the engine; the command gets them as `opening`.

    What a value may be is for `Program.open` to say, so that the errors are the same.
    """

    @wraps(command)
    def gathered(**given: Any) -> Any:
        opening = {name: given.pop(name) for name in OPENING}
        return command(**given, opening=opening)

    for option in reversed(_OPENING):
        gathered = option(gathered)
    return gathered
