"""A place of a pipeline file → its files, and their format on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tidelog.io.formats import FORMATS, JSON_LINES, Format
from tidelog.pipeline.settings import Place


def format_of(place: Place) -> Format:
    """Returns the format of a place's files; `sep` is the cell separator of a text file."""
    found = JSON_LINES if place.format == "json" else FORMATS[place.format]
    separator = place.options.get("sep")
    return replace(found, delimiter=separator) if separator and found.delimiter else found


def has_header(cells: Iterable[str], place: Place, needed: Iterable[str]) -> bool:
    """True if the first line of a text file has the column names: by the option, or if all needed names are in it."""
    said = place.options.get("header", "").lower()
    return said == "true" or (said != "false" and set(needed) <= set(cells))


def files_at(place: Place) -> list[Path]:
    """Returns the files below a folder, or the file itself, the oldest first, without hidden ones: writers use these
    names for unfinished files."""
    folder = place.folder
    if folder.is_file():
        return [folder]
    found = [path for path in folder.rglob("*") if path.is_file() and not is_hidden(path.relative_to(folder))]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))


def is_hidden(path: Path) -> bool:
    """True if the path, or a folder on it, has a name that begins with a dot or an underscore."""
    return any(part.startswith((".", "_")) for part in path.parts)
