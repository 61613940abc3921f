"""A folder of files → the file of each input relation.

A file belongs to the relation of its name (`Edge.csv` to `Edge`). A relation may have no file, but not two.
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
    """`files` by relation; `strangers` are data files without an input relation of that name.

    `unknown` are files that have the name of an input relation and an ending that tells no format (`Edge.json`).
    """

    files: Mapping[str, Path]
    strangers: tuple[Path, ...]
    unknown: tuple[Path, ...] = ()


def find_fact_files(folder: Path, inputs: Iterable[str]) -> FactFiles:
    """Lists the folder once, without hidden files. Raises DataError for two files of one relation."""
    wanted = list(inputs)
    files: dict[str, Path] = {}
    strangers, unknown = [], []
    for path in sorted(folder.iterdir()):
        named = split_name(path)
        if path.name.startswith("."):
            continue
        if named is None:
            if path.name.partition(".")[0] in wanted:
                unknown.append(path)
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
    return FactFiles({name: files[name] for name in wanted if name in files}, tuple(strangers), tuple(unknown))
