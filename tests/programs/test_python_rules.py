"""The rules of these programs run in kernels, except for the parts that `docs/reference/python-rules.md` lists."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import tidelog
from tidelog.engine.local.execution.show_python import in_python

PROGRAMS = Path(__file__).parent
DOCUMENT = PROGRAMS.parents[1] / "docs" / "reference" / "python-rules.md"
FUNCTION = re.compile(r"the function `([\w:]+)`.*")


def listed() -> dict[str, set[str]]:
    """Returns the parts in the table of the document, each with the programs that have it."""
    found = {}
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            part, programs, reason = cells
            assert reason, f"no reason for {part}"
            found[part.strip("`")] = set(programs.split(", "))
    return found


def externs(folder: Path) -> dict[str, Any]:
    path = folder / "externs.py"
    if not path.exists():
        return {}
    spec = spec_from_file_location("externs_of_a_program", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    return {**own, **module.EXTERNS}


def part_name(part: str) -> str:
    """Returns a function's name, or what else runs in Python, without the arguments of types."""
    function = FUNCTION.fullmatch(part)
    return function[1] if function else re.sub(r"<.*>", "", part).replace("`", "")


def parts_in_python(path: Path) -> set[str]:
    program = tidelog.compile(path, externs=externs(path.parent))
    return {part_name(part) for each in in_python(program.stages.rules) for part in each.parts}


def test_only_listed_parts_of_rules_run_in_python_and_all_of_the_list_do() -> None:
    table = listed()
    found: dict[str, set[str]] = {}
    unlisted = []
    for path in sorted(PROGRAMS.glob("*/program.dl")):
        for part in parts_in_python(path):
            places = [pattern for pattern in table if fnmatchcase(part, pattern)]
            if not places:
                unlisted.append(f"{path.parent.name}: {part}")
            for pattern in places:
                found.setdefault(pattern, set()).add(path.parent.name)
    assert not unlisted
    assert found == table
