"""ARCHITECTURE.md lists every file with the first sentence of its docstring."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_index_of_files_is_that_of_the_docstrings() -> None:
    section = runpy.run_path(str(ROOT / "scripts" / "file_index.py"))["section"]()
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert section.count("\n- ") > 500
    assert page.endswith(section), "run `make index`"
