"""The first sentence of every module → the section "Every file" of ARCHITECTURE.md.

`make index` runs this after a file was added, moved or described differently; a test compares the two.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
HEADING = "## Every file\n"
SOURCE = ROOT / "src" / "tidelog"


def section() -> str:
    """Returns the section: a heading for each folder below src/tidelog, and a line for each of its files."""
    lines = [HEADING, "Made from the first sentence of each module by `make index`.\n"]
    folder = None
    for path in sorted(SOURCE.rglob("*.py"), key=lambda each: (each.parent, each.name)):
        if path.name == "__init__.py":
            continue
        if path.parent != folder:
            folder = path.parent
            lines.append(f"\n**{folder.relative_to(SOURCE).as_posix()}/**\n".replace("**./**", "**src/tidelog/**"))
        lines.append(f"- {path.name}: {_first_sentence(path)}")
    return "\n".join(lines) + "\n"


def _first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    text = docstring.split("\n\n")[0].replace("\n", " ")
    return re.split(r"\.(?:\s|$)|: `python|; ", text)[0]


def main() -> None:
    """Writes the section into the page, in place of the one that it has."""
    before = PAGE.read_text(encoding="utf-8").split(f"\n{HEADING}")[0].rstrip("\n")
    PAGE.write_text(f"{before}\n\n{section()}", encoding="utf-8")


if __name__ == "__main__":
    main()
