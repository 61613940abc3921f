"""Digests of the sources of kernels: machine code is used only while everything that it was made from is unchanged."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[3]
_MODULES = "tidelog.engine.local"
_IMPORT = re.compile(r"^from (tidelog\.engine\.local[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_ENTRY_POINT = re.compile(r"^@(short_)?entry_point\b", re.MULTILINE)
# What decides how every kernel is compiled, and how Python calls it.
_COMPILER = ("intrinsics", "call_from_python", "numba_kernels", "compile_kernels", "link")


@cache
def sources_digest(module: str) -> str:
    """Returns a digest of the sources of a module and of all modules of the local engine that it imports, so that a
    change of one kernel compiles only the entry points that may call it."""
    digest = hashlib.sha256()
    names = {module, *(f"{_MODULES}.machine_code.{name}" for name in _COMPILER)}
    for name in sorted(_reached(names)):
        source = _source(name)
        digest.update(b"" if source is None else source[0])
    return digest.hexdigest()


@cache
def entry_point_modules() -> tuple[str, ...]:
    """Returns the modules that declare entry points, found by their text: importing them needs NumPy alone."""
    found = []
    for path in sorted(_PACKAGE.joinpath("engine", "local").rglob("*.py")):
        if _ENTRY_POINT.search(path.read_text(encoding="utf-8")):
            found.append(".".join(("tidelog", *path.relative_to(_PACKAGE).with_suffix("").parts)))
    return tuple(found)


def _reached(names: set[str]) -> set[str]:
    """Returns some modules and all that they import from the local engine, directly or not."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found and (source := _source(name)) is not None:
            found.add(name)
            left += source[1]
    return found


@cache
def _source(name: str) -> tuple[bytes, tuple[str, ...]] | None:
    """Returns the digest of a module's text and what it imports from the local engine; None if there is no file."""
    path = _PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
    try:
        text = path.read_bytes()
    except OSError:
        return None
    imported: list[str] = []
    for base, names in _IMPORT.findall(text.decode()):
        imported += [base, *(f"{base}.{each}" for each in re.findall(r"\w+", names))]
    return hashlib.sha256(text).digest(), tuple(imported)
