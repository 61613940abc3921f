"""Imports point down the map of ARCHITECTURE.md: a line of it may import the lines above it, and never one below.

The order is read from the tables of that page, so a package that is missing there fails, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
PAGE = ROOT / "ARCHITECTURE.md"
MAPS = {
    "tidelog": "The map",
    "tidelog.engine.local": "Rooms of the local engine",
    "tidelog.engine.spark": "Rooms of the Spark engine",
    "tidelog.souffle": "Rooms of Soufflé's language",
}


@cache
def modules() -> dict[str, Path]:
    """Returns the path of every module of the package by its name."""
    found = {}
    for path in SRC.rglob("*.py"):
        name = ".".join(path.relative_to(SRC).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yields the modules of the package that a file imports, at its top or inside a function, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules() else node.module for name in names]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "tidelog")


def order(title: str) -> dict[str, int]:
    """Returns the place of each room in the table below a title; rooms that share a line share a place."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {
        name.removesuffix(".py").strip("/"): place
        for place, line in enumerate(lines)
        for name in re.findall(r"`([^`]+)`", line)
    }


def room(module: str, package: str) -> str | None:
    """Returns the part of a module's name directly below a package; None for what is elsewhere."""
    if not module.startswith(f"{package}."):
        return None
    return module.removeprefix(f"{package}.").split(".")[0]


@pytest.mark.parametrize("package", MAPS)
def test_every_room_is_on_the_map(package: str) -> None:
    rooms = {room(name, package) for name in modules()} - {None}
    assert rooms == set(order(MAPS[package])), f"the table of {MAPS[package]!r} in {PAGE.name} and the folders differ"


@pytest.mark.parametrize("package", MAPS)
def test_no_import_points_back(package: str) -> None:
    places = order(MAPS[package])
    wrong = []
    for name, path in sorted(modules().items()):
        mine = room(name, package)
        for imported, line in imports(path):
            other = room(imported, package)
            if mine and other and places[other] > places[mine]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {imported}, which is below `{mine}` on the map")
    assert not wrong, "\n".join(wrong)


def test_the_map_is_read() -> None:
    assert order("The map")["diagnostics"] < order("The map")["engine"] < order("The map")["cli"]
