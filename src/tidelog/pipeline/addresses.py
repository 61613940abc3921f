"""Paths of a pipeline file → absolute paths of this machine, or addresses of stores.

`file:` is this machine, with any number of slashes. The text after it is the path as it is: a `%20` is no blank.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from tidelog.engine.spark.storage.directory import SAME_STORE, is_address

_FILE = re.compile("file:/+", re.IGNORECASE)
_SCHEME = re.compile(r"([^:/]+):/+")
_PATTERN = re.compile(r"[*?\[{]")


def resolve(path: str, folder: Path) -> str:
    """Returns the absolute path, relative to a folder, or the address; `file:` addresses begin with `file:///`."""
    at = _FILE.match(path)
    if at is not None:
        return f"file://{Path('/', path[at.end() :]).resolve()}"
    return path if is_address(path) else str((folder / path).resolve())


def on_this_machine(path: str) -> Path | None:
    """Returns the path of a file or folder of this machine, or None for an address of a store."""
    at = _FILE.match(path)
    if at is not None:
        return Path("/", path[at.end() :])
    return None if is_address(path) else Path(path)


def shown_place(address: str | None) -> str:
    """Returns the file of a record as messages name it; Spark gives an address, with `%20` for a blank."""
    if address is None or not is_address(address):
        return address or "a row"
    plain = unquote(address)
    return str(on_this_machine(plain) or plain)


def known_to_arrow(address: str) -> str:
    """Returns the address with pyarrow's name of the scheme, which may differ from Spark's."""
    scheme = _SCHEME.match(address)
    return address if scheme is None else f"{_store(scheme[1])}{address[len(scheme[1]) :]}"


def is_pattern(path: str) -> bool:
    """True if a path is a pattern of Spark, which matches several paths."""
    return _PATTERN.search(path) is not None


def overlap(one: str, other: str) -> bool:
    """True if two resolved places, or patterns such as `data/*.csv`, are equal or one is inside the other."""
    return all(_may_be_equal(left, right) for left, right in zip(_parts(one), _parts(other)))


def is_inside(inner: str, outer: str) -> bool:
    """True if the two places are equal, or the first is inside the second."""
    return len(_parts(inner)) >= len(_parts(outer)) and overlap(inner, outer)


def _parts(path: str) -> tuple[str, ...]:
    local = on_this_machine(path)
    if local is not None:
        return ("file", *local.parts[1:])
    scheme = _SCHEME.match(path)
    assert scheme is not None
    return (_store(scheme[1]), *(part for part in path[scheme.end() :].split("/") if part))


def _may_be_equal(left: str, right: str) -> bool:
    if "{" in left + right:
        return True
    return left == right or any(
        is_pattern(pattern) and fnmatchcase(name, pattern) for pattern, name in ((left, right), (right, left))
    )


def _store(scheme: str) -> str:
    return SAME_STORE.get(scheme.lower(), scheme.lower())
