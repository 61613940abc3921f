"""A path as it is written in a pipeline file → where that is: on this machine, or in a store that has an address.

`file:` is this machine, with as many slashes as one likes. What stands behind it is the path as it is, as Spark has it:
a `%20` is no blank.
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
    """The absolute path, relative to a folder, or the address; one of this machine begins with `file:///`."""
    at = _FILE.match(path)
    if at is not None:
        return f"file://{Path('/', path[at.end() :]).resolve()}"
    return path if is_address(path) else str((folder / path).resolve())


def on_this_machine(path: str) -> Path | None:
    """The path of a file or folder of this machine; None for one that is elsewhere."""
    at = _FILE.match(path)
    if at is not None:
        return Path("/", path[at.end() :])
    return None if is_address(path) else Path(path)


def shown_place(address: str | None) -> str:
    """The file that a record is from, as it is called on this machine; Spark has it as an address, with `%20` for a
    blank."""
    if address is None or not is_address(address):
        return address or "a row"
    plain = unquote(address)
    return str(on_this_machine(plain) or plain)


def known_to_arrow(address: str) -> str:
    """An address in pyarrow's words, which has other names for some schemes than Spark."""
    scheme = _SCHEME.match(address)
    return address if scheme is None else f"{_store(scheme[1])}{address[len(scheme[1]) :]}"


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern of Spark's, which stands for several."""
    return _PATTERN.search(path) is not None


def overlap(one: str, other: str) -> bool:
    """Whether two resolved places are the same, or one is inside the other. A place may be a pattern of Spark's, such
    as `data/*.csv`."""
    return all(_may_be_equal(left, right) for left, right in zip(_parts(one), _parts(other)))


def is_inside(inner: str, outer: str) -> bool:
    """Whether a place is another one, or inside it."""
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
