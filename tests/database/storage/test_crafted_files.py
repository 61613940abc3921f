"""Files that somebody has crafted, with right checksums: no crash, no raw exception, whatever they hold.

A count that is possible and wrong is not seen before an epoch changes its row: then the epoch is refused (E901).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

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


def _read(directory: Path) -> tuple[Path, dict[str, Any], bytearray]:
    """Makes a database; returns its checkpoint, with the description and the contents."""
    make(directory)
    (path,) = checkpoints(directory).values()
    file = CheckedFile.map(path)
    description = dict(file.description)
    del description["checksums"]
    return path, description, bytearray(file.pages[: description.pop("length")])


def _write(path: Path, description: dict[str, Any], contents: bytearray) -> None:
    """Writes a checkpoint with right checksums."""
    with path.open("wb", buffering=0) as out:
        writer = CheckedWriter(out)
        writer.add(bytes(contents))
        writer.finish(description)
    (path.parent / "head").unlink()


@pytest.mark.parametrize("word", [10**12, -5, 0])
def test_a_free_line_that_is_none_is_refused(tmp_path: Path, word: int) -> None:
    path, description, contents = _read(tmp_path / "db")
    (free, *_) = [part for part in description["parts"] if part["kind"] == "free"]
    assert free["rows"] > 1
    struct.pack_into("<q", contents, free["at"], word)
    if word == 0:
        struct.pack_into("<q", contents, free["at"] + 8, word)
    _write(path, description, contents)
    with pytest.raises(tidelog.DataError, match=r"the unused lines of|is listed as unused") as caught:
        use(tmp_path / "db")
    assert caught.value.code == "E853"
    assert path.name in str(caught.value)


def test_a_row_that_is_there_twice_is_refused_when_the_rows_are_indexed(tmp_path: Path) -> None:
    path, description, contents = _read(tmp_path / "db")
    (edges,) = [part for part in description["parts"] if (part["kind"], part["relation"]) == ("rows", "Edge")]
    row = 8 * edges["width"]
    meta = 8 * 3  # behind the columns
    lines = [edges["at"] + line * row for line in range(edges["rows"])]
    used = [line for line in lines if struct.unpack_from("<q", contents, line + meta)[0] >> 32 == 0]
    contents[used[-1] : used[-1] + row] = contents[used[1] : used[1] + row]
    _write(path, description, contents)
    for _ in range(2):
        with pytest.raises(tidelog.DataError, match="a row of `Edge` is there twice") as caught:
            use(tmp_path / "db")
        assert caught.value.code == "E853"
        assert path.name in str(caught.value)
