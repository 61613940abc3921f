"""Options and settings shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from tidelog.maintain.options import DEFAULT_SWITCH
from tidelog.maintain.strategies import DEFAULT_STRATEGY, STRATEGIES

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)


@dataclass(slots=True)
class Settings:
    """Settings of one call of `tidelog`. `debug`: show the Python traceback of an error."""

    debug: bool


def _remember(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and isinstance(context.obj, Settings):
        context.obj.debug = True


debug = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Show the Python traceback of an error (also: TIDELOG_DEBUG=1).",
)

modules = click.option(
    "-L",
    "modules",
    metavar="DIRECTORY",
    multiple=True,
    type=FOLDER,
    help="Also look for imported modules here. May be given several times.",
)

facts = partial(click.option, "-F", "--facts", metavar="DIR", type=FOLDER)

overflow = click.option(
    "--overflow",
    type=click.Choice(("wrap", "error")),
    help="What happens where a result of integer arithmetic does not fit into its type: it wraps around, or the epoch"
    " ends with an error that names the rule and the row.  [default: wrap]",
)

program = click.argument("program", metavar="PROGRAM.dl", type=FILE)


def read_plans(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str] | None:
    """Returns `RELATION=PLAN` pairs as the dictionary that `Program.open` takes."""
    plans = {}
    for each in given:
        relation, is_pair, plan = each.partition("=")
        if not is_pair:
            raise click.BadParameter(f"{each!r} is not of the form RELATION=PLAN")
        plans[relation] = plan
    return plans or None


def read_macros(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Returns `NAME=TEXT` pairs as the dictionary that `Options` takes; a name alone is defined as nothing."""
    macros = {}
    for each in given:
        name, _is_pair, text = each.partition("=")
        if not name.isidentifier():
            raise click.BadParameter(f"{each!r} is not of the form NAME=TEXT")
        macros[name] = text
    return macros


directory = click.option(
    "--db",
    "directory",
    metavar="DIRECTORY",
    type=NEW_FOLDER,
    help="Keep the database in this directory. If it already holds a database, that one is opened and continued.",
)

engine = click.option(
    "--engine",
    type=click.Choice(("local", "spark", "auto")),
    help="The engine that evaluates the program. Default: the engine that wrote the database of --db, or local without"
    " one. With another engine, the database is converted.",
)


def engine_for(requested: str | None, directory: Path | None) -> str:
    """Returns the requested engine, or the engine of the database, if there is one."""
    if requested is not None or directory is None:
        return requested or "local"
    from tidelog.database.storage.active_format import active_engine

    return active_engine(directory) or "local"


plans = click.option(
    "--plan",
    "plans",
    metavar="RELATION=PLAN",
    multiple=True,
    callback=read_plans,
    help="On Spark, the plan for the stratum (rules that depend on each other) of a relation: decomposed, single task"
    " or frames; with `--engine auto` also driver. May be given several times.",
)

_LANGUAGE = (
    click.option(
        "--dialect",
        type=click.Choice(("tidelog", "souffle")),
        help="The language of the program. Default: recognised by its text.",
    ),
    click.option(
        "--word-bits",
        type=click.Choice(("32", "64")),
        default="32",
        help="Bits of numbers in Soufflé's language.  [default: 32]",
    ),
    click.option(
        "-M",
        "--macro",
        "macros",
        metavar="NAME=TEXT",
        multiple=True,
        callback=read_macros,
        help="Define a macro before a program in Soufflé's language. May be given several times.",
    ),
)


def language(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say which language a program is in; they reach the command as one dictionary."""

    @wraps(command)
    def with_language(
        *arguments: Any, dialect: str | None, word_bits: str, macros: dict[str, str], **others: Any
    ) -> Any:
        said = {"dialect": dialect or "", "word_bits": int(word_bits), "macros": macros}
        return command(*arguments, language=said, **others)

    made: Callable[..., Any] = with_language
    for option in reversed(_LANGUAGE):
        made = option(made)
    return made


_OPENING = (
    click.option(
        "--strategy",
        metavar="NAME",
        default=DEFAULT_STRATEGY,
        show_default=True,
        help="How derived relations are kept up to date after a change. "
        + "; ".join(f"{a}: {b}" for a, b in STRATEGIES.items())
        + ".",
    ),
    click.option(
        "--switch",
        metavar="SHARE",
        type=float,
        default=DEFAULT_SWITCH,
        show_default=True,
        help="For `elastic`: the time budget of an incremental update, as a share of the time of the last full"
        " recompute of the stratum (rules that depend on each other). An update over budget is stopped, and the"
        " stratum is recomputed. Used until the cost of updates has been measured.",
    ),
    click.option(
        "--threads",
        metavar="N",
        type=int,
        help="Threads that evaluate one epoch (one committed transaction). Default: one per core, at most 16.",
    ),
    click.option(
        "--max-rounds",
        metavar="N",
        type=int,
        help="Roll back an epoch in which a recursion needs more rounds (evaluation steps) than this.",
    ),
    click.option(
        "--max-rows", metavar="N", type=int, help="Roll back an epoch in which a relation grows beyond this many rows."
    ),
    click.option("--deadline", metavar="SECONDS", type=float, help="Roll back an epoch that takes longer than this."),
)
OPENING = ("strategy", "switch", "threads", "max_rounds", "max_rows", "deadline")


def opening(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of `Program.open` that are not about the engine; the command gets them as `opening`.

    `Program.open` checks the values, so that the errors are the same.
    """

    @wraps(command)
    def gathered(**given: Any) -> Any:
        opening = {name: given.pop(name) for name in OPENING}
        return command(**given, opening=opening)

    for option in reversed(_OPENING):
        gathered = option(gathered)
    return gathered
