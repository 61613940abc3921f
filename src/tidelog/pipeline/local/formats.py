"""A place of a pipeline file → the files that are there, and how they are read and written on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tidelog.io.formats import FORMATS, JSON_LINES, Format
from tidelog.pipeline.settings import Place


def format_of(place: Place) -> Format:
    """The format of a place's files; `sep` is the separator of the cells of a text file."""
    found = JSON_LINES if place.format == "json" else FORMATS[place.format]
    separator = place.options.get("sep")
    return replace(found, delimiter=separator) if separator and found.delimiter else found


def has_header(cells: Iterable[str], place: Place, needed: Iterable[str]) -> bool:
    """Whether the first line of a text file has the names of its columns: if the option says so, or, without it, if all
    names are there that are needed."""
    said = place.options.get("header", "").lower()
    return said == "true" or (said != "false" and set(needed) <= set(cells))


def files_at(place: Place) -> list[Path]:
    """The files below a folder, the oldest first, without those whose name begins with a dot or an underscore: that is
    how writers call what they have not finished. A path that is a file is that file; one that is not there has none.
    """
    folder = place.folder
    if folder.is_file():
        return [folder]
    found = [path for path in folder.rglob("*") if path.is_file() and not is_hidden(path.relative_to(folder))]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))


def is_hidden(path: Path) -> bool:
    """True for what is in, or is, something whose name begins with a dot or an underscore."""
    return any(part.startswith((".", "_")) for part in path.parts)
