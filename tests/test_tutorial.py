"""The tutorial's sessions run exactly as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"


def test_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    sessions = tmp_path / "tutorial.txt"
    # The fence that ends a block would be read as output; an empty line ends it.
    sessions.write_text(TUTORIAL.read_text().replace("```", ""))
    result = doctest.testfile(str(sessions), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 20
    assert result.failed == 0
