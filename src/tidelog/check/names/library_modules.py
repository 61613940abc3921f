"""A name that is not visible → the modules of the library that declare it, for the help of an error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from tidelog.check.names.modules import LIBRARY

_DECLARATION = re.compile(
    r"^(?:extern )?(function|typedef|type|transformer) (\w+)(?:\(\w+: (?:mut )?(\w+))?", re.MULTILINE
)
_KINDS = {"function": "function", "typedef": "type", "type": "type", "transformer": "transformer"}


def is_library_module(name: str) -> bool:
    """True if the library has a module of that name."""
    return name in _modules()


def import_of(what: str, name: str, visible: Iterable[str]) -> str | None:
    """Returns the import that would make a function, type or transformer visible, if there is just one."""
    known = set(visible)
    found = {module for module, _ in _declared().get((what, name), ()) if module not in known}
    return f"`import {min(found)}` declares it" if len(found) == 1 else None


def import_for(name: str, first: str, visible: Iterable[str]) -> str | None:
    """Returns the import that would bring a function of that name for a first argument of the type, if there is just
    one."""
    known = set(visible)
    named = _declared().get(("function", name), ())
    found = {module for module, taken in named if module not in known and taken == first}
    return f"`import {min(found)}` declares one for `{first}`" if len(found) == 1 else None


@cache
def _modules() -> dict[str, str]:
    """Returns the texts of the library's modules."""
    return {
        "::".join(path.relative_to(LIBRARY).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(LIBRARY.rglob("*.dl"))
    }


@cache
def _declared() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Returns, for each kind and name, the modules that declare it and the type of its first argument."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for module, text in _modules().items():
        for kind, name, first in _DECLARATION.findall(text):
            found.setdefault((_KINDS[kind], name), []).append((module, first))
    return found
