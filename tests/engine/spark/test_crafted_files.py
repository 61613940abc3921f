"""Directories of databases on Spark that somebody has crafted: no crash, no raw exception, no count that is a lie."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.database.storage.crafted import wrong_ones
from tests.engine.spark.crafted import craft, make, use

from tidelog.diagnostics.errors import DataError
from tidelog.engine.spark.storage import manifest as manifests

FILES = int(os.environ.get("TIDELOG_CRAFTED_FILES", "160"))


def test_no_crafted_file_crashes_or_raises_raw(tmp_path: Path) -> None:
    found = craft(tmp_path, range(FILES))
    assert not wrong_ones(found), "\n".join(wrong_ones(found))
    assert found.count("E853") > FILES // 2


def test_a_manifest_whose_kept_changes_are_nothing_is_damaged(tmp_path: Path) -> None:
    make(tmp_path / "made")
    nothing: tuple[object, ...] = (None, [], 0, "", False)
    for number, wrong in enumerate(nothing):
        (path,) = shutil.copytree(tmp_path / "made", tmp_path / str(number)).glob("manifest-*")
        document = json.loads(path.read_text())
        document["manifest"]["kept"] = wrong
        document["checksum"] = manifests._checksum(document["manifest"])
        path.write_text(json.dumps(document))
        with pytest.raises(DataError, match="E853"):
            use(tmp_path / str(number))
