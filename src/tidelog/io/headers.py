"""The first line of a CSV or TSV file → is it a header, and which column of the relation is each of its cells?

| header | meaning |
| --- | --- |
| `exact` | the cells are the names of the columns, in any order; otherwise the line is a row. Options may be missing |
| `detect` | the same, also in other capitals (`Src,Dst`); or cells that do not fit the types above a line that does |
| `name` | there is a header, with the names of the columns |
| `position` | there is a header, whose names do not count |
| `none` | there is no header |

With `detect`, a header whose names are not those of the columns is read by position, and a header that names some of
the columns and others that do not exist is an error: by position it could mix them up. Where all columns are text, a
line of other names cannot be told from a row, and is a row. `Header.text` tells what was found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.diagnostics.wording import listed
from tidelog.io.fit import cell_fitter
from tidelog.io.tables import columns_help
from tidelog.io.values import UnfitError
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import is_option
from tidelog.values import Definitions

WAYS = ("detect", "name", "position", "none")
"""The ways that a user may ask for; `exact` is for pipelines, which read a feed record by record too."""

_NAME = re.compile(r"[^\W\d][\w .:/()#%-]*")

_HEADINGS = frozenset(
    re.findall(
        r"\w+",
        """source target src dst dest destination origin from to start end parent child left right subject predicate
        object relation key value id uid name label kind type node edge user group role account owner city country date
        time timestamp category item product shop customer first_name last_name first last email comment text title url
        description status code person employee manager member""",
    )
)
"""Words that head columns of text. Nothing but a note depends on them."""


@dataclass(frozen=True, slots=True)
class Header:
    """`names` are the relation's columns in the order of the file; `way` is `name`, `position` or `none`.

    `note` is worth a warning: the line could also have been read in another way.
    """

    names: tuple[str, ...]
    way: str
    note: str = ""

    @property
    def text(self) -> str:
        """Says what the first line was taken for."""
        by = {"name": "header by name", "position": "header by position", "none": "no header"}[self.way]
        return f"{by}: {self.note}" if self.note else by


def find_header(
    path: Path,
    first: Sequence[str],
    second: Sequence[str] | None,
    relation: Relation,
    definitions: Definitions,
    way: str,
) -> Header:
    """Returns how the first line is read; `second` has the cells of the next line, if there is one.

    Raises DataError (E503) for a header that does not have the columns of the relation.
    """
    declared = tuple(column.name for column in relation.columns)
    if way == "none":
        return Header(declared, "none")
    if names_columns(first, relation) and way != "position":
        return Header(tuple(first), "name")
    if way == "exact":
        return Header(declared, "none")
    if way == "position":
        return _by_position(path, first, relation, "")
    by_capitals = _in_other_capitals(first, relation)
    if by_capitals is not None:
        return Header(by_capitals, "name")
    shown = ",".join(first)
    if way == "name":
        raise _other_names(path, first, relation)
    looks_named = all(_NAME.fullmatch(cell.strip()) for cell in first) and len(set(first)) == len(first)
    fits_below = second is not None and _fits(second, relation, definitions)
    if looks_named and first and fits_below and not _fits(first, relation, definitions):
        if set(first) & set(declared):
            raise _other_names(path, first, relation)
        return _by_position(path, first, relation, f"`{shown}` does not name the columns of `{relation.name}`")
    if looks_named and set(first) & set(declared):
        if len(first) != len(declared):
            raise _other_names(path, first, relation)
        note = f"the first line, `{shown}`, is read as a row; `header='position'` or other names make it a header"
        return Header(declared, "none", note)
    if first and all(cell.strip().casefold() in _HEADINGS for cell in first) and len(set(first)) == len(first):
        note = f"the first line, `{shown}`, is read as a row; `header='position'` or other names make it a header"
        return Header(declared, "none", note)
    return Header(declared, "none")


def _by_position(path: Path, first: Sequence[str], relation: Relation, note: str) -> Header:
    declared = tuple(column.name for column in relation.columns)
    if len(first) != len(declared):
        raise _other_names(path, first, relation)
    return Header(declared, "position", note)


def needed_names(relation: Relation) -> list[str]:
    """Returns the columns that a header must name: all but those of an `Option`, unless there are no others."""
    declared = [column.name for column in relation.columns]
    return [column.name for column in relation.columns if not is_option(column.type)] or declared


def names_columns(cells: Sequence[str], relation: Relation) -> bool:
    """True if the cells are distinct names of columns, with all that are needed."""
    declared, found = {column.name for column in relation.columns}, set(cells)
    return len(found) == len(cells) and set(needed_names(relation)) <= found <= declared


def _in_other_capitals(first: Sequence[str], relation: Relation) -> tuple[str, ...] | None:
    """Returns the columns that the cells name in other capitals, or with blanks around them; None if they do not."""
    by_name = {column.name.casefold(): column.name for column in relation.columns}
    found = tuple(by_name.get(cell.strip().casefold(), "") for cell in first)
    return found if len(by_name) == len(relation.columns) and names_columns(found, relation) else None


def _fits(cells: Sequence[str], relation: Relation, definitions: Definitions) -> bool:
    if len(cells) != len(relation.columns):
        return False
    try:
        for cell, column in zip(cells, relation.columns):
            cell_fitter(column.type, definitions)(cell or None)
    except UnfitError:
        return False
    return True


def _other_names(path: Path, first: Sequence[str], relation: Relation) -> DataError:
    declared = [column.name for column in relation.columns]
    unknown = [cell for cell in first if cell not in declared]
    missing = [name for name in needed_names(relation) if name not in first]
    what = f"the header has {listed(unknown[:1])}, which is no column of `{relation.name}`"
    if not unknown:
        lacks = f"the header lacks the column `{missing[0]}` of `{relation.name}`"
        what = lacks if missing else "the header names a column twice"
    return DataError(
        f"{path}:1:1: {what}",
        code=Code.WRONG_COLUMNS,
        help=columns_help(relation, unknown[0] if unknown else "", missing),
    )
