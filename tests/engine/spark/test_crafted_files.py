"""Directories of databases on Spark that somebody has crafted: no crash, no raw exception, no count that is a lie."""

from __future__ import annotations

import os
from pathlib import Path

from tests.database.storage.crafted import wrong_ones
from tests.engine.spark.crafted import craft

FILES = int(os.environ.get("TIDELOG_CRAFTED_FILES", "160"))


def test_no_crafted_file_crashes_or_raises_raw(tmp_path: Path) -> None:
    found = craft(tmp_path, range(FILES))
    assert not wrong_ones(found), "\n".join(wrong_ones(found))
    assert found.count("E853") > FILES // 2
