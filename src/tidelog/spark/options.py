"""The options of a DataFrame of the format `tidelog`.

| option | meaning |
| --- | --- |
| `path` | the directory of the database, or its address; `load(path)` gives it, too |
| `relation` | the name of the relation |
| `columns` | the columns to read, with commas between them; all without it |
| `op` | of a streaming write: the column with the operation of a row (`insert`, `delete`, `+`, `-`, …); without it,
  `_change_type` or `_op` if the DataFrame has one, else every row is inserted |
| `externs` | `module:NAME`, a dictionary with the program's extern functions, in a module that tasks can import |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed

READ = ("path", "relation", "columns", "externs")
WRITTEN = ("path", "relation", "op", "externs", "checkpointlocation", "outputmode", "querytype")
"""Those of a streaming write; Spark adds some of its own."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The checked options of a read. `columns` is None for all columns."""

    path: str
    relation: str
    columns: tuple[str, ...] | None = None
    externs: str | None = None

    @staticmethod
    def of(given: Mapping[str, str]) -> ReadOptions:
        """Checks the options, whose names are told without regard to case. Raises UsageError."""
        options = _checked(given, READ)
        columns = options.get("columns")
        names = None if columns is None else tuple(name.strip() for name in columns.split(",") if name.strip())
        return ReadOptions(options["path"], options["relation"], names, options.get("externs"))


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The checked options of a streaming write. `op` is the column with the operation, `checkpoint` the folder of the
    query."""

    target: ReadOptions
    op: str | None = None
    checkpoint: str | None = None

    @staticmethod
    def of(given: Mapping[str, str]) -> WriteOptions:
        """Checks the options, whose names are told without regard to case. Raises UsageError."""
        options = _checked(given, WRITTEN)
        target = ReadOptions(options["path"], options["relation"], None, options.get("externs"))
        return WriteOptions(target, options.get("op"), options.get("checkpointlocation"))


def _checked(given: Mapping[str, str], known: Sequence[str]) -> dict[str, str]:
    options = {name.lower(): value for name, value in given.items()}
    for name in options:
        if name not in known:
            raise UsageError(
                f"the format `tidelog` has no option `{name}`",
                code=Code.BAD_SOURCE_OPTION,
                help=did_you_mean(name, known, f"the options are {listed(known)}"),
            )
    for name, example in (("path", "reach-db"), ("relation", "Reach")):
        if not options.get(name):
            raise UsageError(
                f"the format `tidelog` needs the option `{name}`",
                code=Code.BAD_SOURCE_OPTION,
                help=f'add `.option("{name}", "{example}")`',
            )
    return options


def imported_externs(where: str | None) -> Mapping[str, Callable[..., Any]]:
    """Returns the dictionary that `module:NAME` names; none without it. Raises UsageError where there is none."""
    if where is None:
        return {}
    module, _, name = where.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"the externs `{where}` cannot be imported: {error}",
            code=Code.BAD_EXTERNS,
            help="write `module:NAME`, the name of a dictionary in a module that tasks can import (`--py-files`)",
        ) from error
    if not isinstance(found, Mapping):
        raise UsageError(f"`{where}` is not a dictionary of functions", code=Code.BAD_EXTERNS)
    return found
