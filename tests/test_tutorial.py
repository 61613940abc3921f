"""The sessions in the documentation run exactly as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("page", "examples"),
    [
        ("tutorial.md", 40),
        ("dbsp.md", 40),
        ("sql.md", 20),
        ("pandas.md", 13),
        ("reference/data.md", 12),
        ("reference/database.md", 12),
        ("reference/notebooks.md", 4),
        ("reference/queries.md", 10),
        ("reference/rules.md", 9),
        ("pipeline.md", 10),
    ],
)
def test_a_page_runs_as_printed(tmp_path: Path, page: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a page may go elsewhere; afterwards we are back
    sessions = tmp_path / "sessions.txt"
    # The fence that ends a block would be read as output; an empty line ends it.
    sessions.write_text((DOCS / page).read_text().replace("```", ""))
    result = doctest.testfile(str(sessions), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > examples
    assert result.failed == 0
