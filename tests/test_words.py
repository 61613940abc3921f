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


FOR_NEWCOMERS = (
    *("README.md", "docs/tutorial.md", "docs/sql.md", "docs/pandas.md", "docs/souffle.md", "docs/pipeline.md"),
    *("docs/spark.md", "docs/lake.md", "docs/scale.md"),
    *(
        f"docs/reference/{page}.md"
        for page in (
            *("concurrency", "data", "database", "errors", "installation", "language", "notebooks", "queries", "rules"),
            *("shell", "types"),
        )
    ),
)
WORDS = ("epochs?", "strat(?:um|a)", "arrangements?")


def test_words_of_tidelog_are_defined_where_a_page_uses_them_first() -> None:
    """A page defines the word in bold, or links it to the glossary; code and the names of rooms do not count."""
    found = []
    for name in FOR_NEWCOMERS:
        text = (ROOT / name).read_text(encoding="utf-8")
        plain = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        for word in WORDS:
            first = re.search(rf"\b{word}\b", plain, re.IGNORECASE)
            if first is not None:
                around = plain[max(first.start() - 2, 0) : first.end() + 30]
                if not re.search(r"\*\*\w+\*\*|\[\w+\]\((?:reference/)?glossary\.md#", around):
                    found.append(f"{name}: {plain[max(first.start() - 40, 0) : first.end() + 20]!r}")
    assert found == []
