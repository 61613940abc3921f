"""Files that somebody has crafted, with right checksums: no crash, no raw exception, whatever they hold.

A count that is possible and wrong is not seen before an epoch changes its row: then the epoch is refused (E901).
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import traceback
from pathlib import Path

import pytest

import tidelog
from tests.database.storage.crafted import make, tampered, use
from tidelog.database.storage.checked_file import CheckedFile, CheckedWriter
from tidelog.database.storage.checkpoint import checkpoints

FILES = int(os.environ.get("TIDELOG_CRAFTED_FILES", "240"))
AT_ONCE = 40


def outcomes(made: Path, folder: Path, seeds: range) -> str:
    """Uses a crafted directory for each seed, in a child; returns a line of text each, the last of a crash."""
    log = folder / "log"
    child = os.fork()
    if child == 0:
        with log.open("w", buffering=1) as out:
            for seed in seeds:
                target = folder / f"crafted{seed}"
                try:
                    print(f"{seed} {tampered(made, target, random.Random(seed))!r}", end=" ", file=out, flush=True)
                    found = use(target)
                except tidelog.TidelogError as error:
                    found = error.code
                    if found == "E901" and "do not add up; the last commit is intact" not in str(error):
                        found = f"RAW {str(error)!r}"
                except BaseException:
                    found = f"RAW {traceback.format_exc(limit=-2)!r}"
                print(found, file=out)
                shutil.rmtree(target)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return log.read_text() + ("" if status == 0 else f"CRASH {status}\n")


def test_no_crafted_file_crashes_or_raises_raw(tmp_path: Path) -> None:
    make(tmp_path / "made")
    shutil.copytree(tmp_path / "made", tmp_path / "warm")
    assert use(tmp_path / "warm") == "opened"
    found = ""
    for start in range(0, FILES, AT_ONCE):
        found += outcomes(tmp_path / "made", tmp_path, range(start, min(start + AT_ONCE, FILES)))
    wrong = [line for line in found.splitlines() if "RAW" in line or "CRASH" in line]
    assert not wrong, "\n".join(wrong)
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
