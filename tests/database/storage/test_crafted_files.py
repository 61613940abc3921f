"""Files that somebody has crafted, with right checksums: no crash, no raw exception, whatever they hold.

A count that is possible and wrong is not seen before an epoch changes its row: then the epoch is refused (E901).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

import tidelog
from tests.database.storage.crafted import craft, make, use, wrong_ones
from tidelog.database.storage.checked_file import CheckedFile, CheckedWriter
from tidelog.database.storage.checkpoint import checkpoints

FILES = int(os.environ.get("TIDELOG_CRAFTED_FILES", "240"))


def test_no_crafted_file_crashes_or_raises_raw(tmp_path: Path) -> None:
    found = craft(tmp_path, range(FILES))
    assert not wrong_ones(found), "\n".join(wrong_ones(found))
    assert found.count("E853") > FILES // 3


@pytest.mark.parametrize("word", [10**12, -5, 0])
def test_a_free_line_that_is_none_is_refused(tmp_path: Path, word: int) -> None:
    make(tmp_path / "db")
    (path,) = checkpoints(tmp_path / "db").values()
    file = CheckedFile.map(path)
    description = dict(file.description)
    del description["checksums"]
    contents = bytearray(file.pages[: description.pop("length")])
    (free, *_) = [part for part in description["parts"] if part["kind"] == "free"]
    assert free["rows"] > 1
    struct.pack_into("<q", contents, free["at"], word)
    if word == 0:
        struct.pack_into("<q", contents, free["at"] + 8, word)
    with path.open("wb", buffering=0) as out:
        writer = CheckedWriter(out)
        writer.add(bytes(contents))
        writer.finish(description)
    (tmp_path / "db" / "head").unlink()
    with pytest.raises(tidelog.DataError, match=r"the unused lines of|is listed as unused") as caught:
        use(tmp_path / "db")
    assert caught.value.code == "E853"
    assert path.name in str(caught.value)
