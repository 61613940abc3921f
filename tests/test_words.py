"""The glossary's words: those that it replaces are gone from code and pages, and docstrings open with a verb."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
REPLACED = re.compile(
    r"\b(desk|agenda|inquiry|laid_out|LaidOut|before_keeping|so asked for|in_time|kit_tables|anew|go_over|going_over"
    r"|pass_the_last_stop|hand_over|take_over|handed over|taken over)\b",
    re.IGNORECASE,
)
"""Words of the column `instead of` that English does not need in another sense."""

NO_VERB = re.compile(r"(The|An?|What|Who|Where|How|Whether|Which|All|Every|Each|It|That|Those|These|Some|Nothing)\b")


def sources() -> Iterator[Path]:
    yield from sorted((ROOT / "src").rglob("*.py"))


def pages() -> Iterator[Path]:
    yield from (page for page in sorted((ROOT / "docs").rglob("*.md")) if page != GLOSSARY)
    yield from (ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))


def test_no_replaced_word_is_left() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in (*sources(), *pages())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in REPLACED.finditer(line)
    ]
    assert found == []


def test_docstrings_of_functions_open_with_a_verb() -> None:
    found = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or any("property" in ast.unparse(d) for d in node.decorator_list):
                continue
            if NO_VERB.match(ast.get_docstring(node) or ""):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}")
    assert found == []
