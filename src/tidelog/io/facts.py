"""A folder of files → which file holds the rows of which input relation.

A file belongs to the relation whose name it bears (`Edge.csv` to `Edge`). A relation may be without a file, but not
have two: nobody could tell which one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.formats import split_name


@dataclass(frozen=True, slots=True)
class FactFiles:
    """`files` by relation; `strangers` are data files that bear the name of no input relation."""

    files: Mapping[str, Path]
    strangers: tuple[Path, ...]


def find_fact_files(folder: Path, inputs: Iterable[str]) -> FactFiles:
    """Looks at the folder once, leaving other kinds of files and hidden ones alone. Raises DataError for two files."""
    wanted = list(inputs)
    files: dict[str, Path] = {}
    strangers = []
    for path in sorted(folder.iterdir()):
        named = split_name(path)
        if named is None or path.name.startswith("."):
            continue
        name = named[0]
        if name not in wanted:
            strangers.append(path)
        elif name in files:
            raise DataError(
                f"{folder}: both `{files[name].name}` and `{path.name}` hold rows of `{name}`",
                code=Code.TWO_FILES,
                help="keep one of them in the folder",
            )
        else:
            files[name] = path
    return FactFiles({name: files[name] for name in wanted if name in files}, tuple(strangers))
