"""The options of a DataFrame of the format `tidelog`; their names are told without regard to case.

| option | of | meaning |
| --- | --- | --- |
| `path` | all | the directory of the database, or its address; `load(path)` gives it, too |
| `relation` | all | the name of the relation |
| `columns` | reads | the columns to read, with commas between them; all without it |
| `epoch` | reads | the rows as of this epoch, whose later changes are kept (`keep_changes`); else those of the last |
| `changes` | reads, streams | changes instead of rows: `true` for our change columns, `delta` for those of Delta |
| `after` | changes | the epoch after which they begin, or `latest`; without it the first epoch, if all are kept |
| `until` | changes | the last epoch; of a stream there is none |
| `maxEpochs` | streams | the epochs of a micro-batch, at most |
| `op` | streaming writes | the column with the operation of a row (`insert`, `delete`, `+`, `-`, …); without it |
| | | `_change_type` or `_op`, if the DataFrame has one; else every row is inserted |
| `externs` | all | `module:NAME`, a dictionary with the program's extern functions, in a module that tasks can import |
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

READ = ("path", "relation", "columns", "epoch", "changes", "after", "until", "maxepochs", "externs")
WRITTEN = ("path", "relation", "op", "externs")
_OF_SPARK = ("checkpointlocation", "outputmode", "queryname", "querytype", "truncate", "numrows")
LATEST = "latest"
_WAYS = {"true": "tidelog", "tidelog": "tidelog", "delta": "delta", "false": None}


@dataclass(frozen=True, slots=True)
class Target:
    """The relation of a database in a directory."""

    path: str
    relation: str
    columns: tuple[str, ...] | None = None  # all of them
    externs: str | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The checked options of a read. `changes` names the change columns; None for rows."""

    target: Target
    epoch: int | None = None
    changes: str | None = None
    after: int | str | None = None
    until: int | None = None
    max_epochs: int | None = None

    @staticmethod
    def of(given: Mapping[str, str]) -> ReadOptions:
        """Checks the options. Raises UsageError."""
        options = _checked(given, READ)
        changes = options.get("changes", "false").lower()
        if changes not in _WAYS:
            raise _bad("changes", options["changes"], "write `true` for our change columns, or `delta`")
        way = _WAYS[changes]
        for name in ("after", "until", "maxepochs") if way is None else ("epoch",):
            if name in options:
                help = 'add `.option("changes", "true")`' if way is None else "changes are read `after` an epoch"
                what = "rows" if way is None else "changes"
                raise UsageError(f"a read of {what} has no `{name}`", code=Code.BAD_SOURCE_OPTION, help=help)
        after = options.get("after")
        return ReadOptions(
            Target(options["path"], options["relation"], _names(options.get("columns")), options.get("externs")),
            _number(options, "epoch"),
            way,
            LATEST if after is not None and after.lower() == LATEST else _number(options, "after", least=-1),
            _number(options, "until"),
            _number(options, "maxepochs", least=1),
        )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The checked options of a streaming write. `op` is the column with the operation, `checkpoint` the folder of the
    query."""

    target: Target
    op: str | None = None
    checkpoint: str | None = None

    @staticmethod
    def of(given: Mapping[str, str]) -> WriteOptions:
        """Checks the options. Raises UsageError."""
        options = _checked(given, WRITTEN)
        target = Target(options["path"], options["relation"], None, options.get("externs"))
        return WriteOptions(target, options.get("op"), options.get("checkpointlocation"))


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


def _checked(given: Mapping[str, str], known: Sequence[str]) -> dict[str, str]:
    options = {name.lower(): value for name, value in given.items()}
    for name in options:
        if name not in known and name not in _OF_SPARK:
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


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _number(options: Mapping[str, str], name: str, *, least: int = 0) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        raise _bad(name, text, "write a whole number") from None
    if number < least:
        raise _bad(name, text, f"the least is {least}")
    return number


def _bad(name: str, value: str, help: str) -> UsageError:
    return UsageError(f"the option `{name}` is `{value}`", code=Code.BAD_SOURCE_OPTION, help=help)
