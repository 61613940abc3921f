"""Files of a feed that somebody writes to after they were taken are told of, whatever their size; others are not."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.folder import REACH_FILE, Pipe
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline.changed_files import ChangedFile, ChangeWarnings
from tidelog.pipeline.spark.checkpointed_files import TakenFiles
from tidelog.pipeline.spark.folder import Folder

LINE = '{"op": "+", "src": "%s", "dst": "%s"}\n'


def started(folder: Path, *, quarantine: bool = False) -> tuple[Pipe, Path]:
    pipe = Pipe(folder, file=REACH_FILE + '[quarantine]\npath = "bad"\n' if quarantine else REACH_FILE)
    pipe.table("src,dst\na,b\n")
    (folder / "feed").mkdir()
    return pipe, folder / "feed/rows.json"


def written_later(path: Path) -> None:
    """Gives a file a later time, whatever the clock of the file system can tell apart."""
    before = path.stat().st_mtime_ns
    os.utime(path, ns=(before, before + 10_000_000))


def rewritten(path: Path) -> None:
    path.write_text(LINE % ("e", "f"))


def renamed_over(path: Path) -> None:
    draft = path.with_name(".draft")
    draft.write_text(LINE % ("e", "f"))
    draft.rename(path)


def made_again(path: Path) -> None:
    path.unlink()
    path.write_text(LINE % ("e", "f"))


@pytest.mark.parametrize("change", [rewritten, renamed_over, made_again])
def test_a_file_written_again_with_the_same_size_is_told(change: Callable[[Path], None], tmp_path: Path) -> None:
    pipe, path = started(tmp_path)
    path.write_text(LINE % ("c", "d"))
    pipe.run()
    assert pipe.warnings == []
    change(path)
    written_later(path)
    pipe.run()
    (warning,) = pipe.warnings
    assert f"{path} has changed since its batch was planned, and files are read once" in warning
    assert ("e", "f") not in pipe.summed("reach")


def test_a_file_that_had_its_size_before_its_rows_is_told(tmp_path: Path) -> None:
    pipe, path = started(tmp_path)
    path.write_text(LINE % ("c", "d") + "\n" * len(LINE % ("e", "f")))
    pipe.run()
    path.write_text(LINE % ("c", "d") + LINE % ("e", "f"))
    written_later(path)
    pipe.run()
    assert len(pipe.warnings) == 1


def test_a_file_that_is_replaced_by_an_older_one_is_told(tmp_path: Path) -> None:
    pipe, path = started(tmp_path)
    path.write_text(LINE % ("c", "d"))
    pipe.run()
    renamed_over(path)
    os.utime(path, (1000, 1000))
    pipe.run()
    assert len(pipe.warnings) == 1


def test_other_properties_of_a_file_are_not_told(tmp_path: Path) -> None:
    pipe, path = started(tmp_path)
    path.write_text(LINE % ("c", "d"))
    pipe.run()
    path.chmod(0o600)
    path.rename(tmp_path / "kept")
    (tmp_path / "kept").rename(path)
    pipe.run()
    assert pipe.warnings == []


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_that_is_finished_before_its_failed_batch_is_tried_again_is_not_told(
    is_packed: bool, tmp_path: Path
) -> None:
    pipe, path = started(tmp_path)
    whole = (LINE % ("c", "d") + LINE % ("e", "f")).encode()
    whole = gzip.compress(whole) if is_packed else whole
    path = path.with_suffix(".json.gz") if is_packed else path
    path.write_bytes(whole[:-9])
    with pytest.raises(DataError):
        pipe.run()
    path.write_bytes(whole)
    written_later(path)
    for _ in range(2):  # in the run that takes it, and in the next one, which reads the log
        pipe.run()
        assert pipe.warnings == []
    assert {("c", "d"), ("e", "f")} <= pipe.summed("reach")
    path.write_bytes(whole + whole)
    pipe.run()
    assert f"it had {len(whole)} bytes and has {2 * len(whole)}" in pipe.warnings[0]


def test_a_torn_line_in_the_quarantine_is_told_once_the_file_is_finished(tmp_path: Path) -> None:
    pipe, path = started(tmp_path, quarantine=True)
    whole = LINE % ("c", "d") + LINE % ("e", "f")
    path.write_text(whole[:-9])
    pipe.run()
    assert "left out 1 bad record" in pipe.warnings[0]
    path.write_text(whole)
    pipe.run()
    (warning,) = pipe.warnings
    assert "has changed since its batch was planned" in warning


def test_a_log_without_times_is_read(tmp_path: Path) -> None:
    pipe, path = started(tmp_path)
    path.write_text(LINE % ("c", "d"))
    pipe.run()
    log = tmp_path / "state/feeds/batches.jsonl"
    entry = json.loads(log.read_text())
    assert entry["times"] == {"feed": [path.stat().st_mtime_ns]}
    del entry["times"]
    log.write_text(json.dumps(entry) + "\n")
    written_later(path)
    pipe.run()
    assert pipe.warnings == []
    entry["times"] = {"feed": []}
    log.write_text(json.dumps(entry) + "\n")
    with pytest.raises(DataError, match="the log of batches is damaged: a batch has as many times as files"):
        pipe.run()


def test_many_changed_files_are_counted() -> None:
    told: list[str] = []
    warnings = ChangeWarnings(told.append)
    warnings.tell([ChangedFile(f"f{number}") for number in range(3)])
    warnings.tell([ChangedFile(f"g{number}") for number in range(40)])
    assert [text.split()[0] for text in told] == ["f0", "f1", "f2", "g0", "g1", "38"]
    assert told[-1] == "38 other files have changed since their batches were planned; the first: g2"
    warnings.tell([ChangedFile("h")])
    assert told[-1] == "1 other file has changed since their batches were planned; the first: h"


def test_spark_tells_of_a_file_with_another_time_whether_later_or_earlier(tmp_path: Path) -> None:
    path = tmp_path / "feed/rows.json"
    path.parent.mkdir()
    path.write_text(LINE % ("c", "d"))
    os.utime(path, (5000, 5000))
    feeds = Folder(str(tmp_path / "feeds"))
    source = tmp_path / "feeds/log/sources/0"
    source.mkdir(parents=True)
    entry = {"path": path.as_uri(), "timestamp": 5_000_000, "batchId": 0}
    (source / "0").write_text(f"v1\n{json.dumps(entry)}\n")
    taken = TakenFiles(feeds)
    assert taken.changed() == []
    for second in (7000, 3000):
        os.utime(path, (second, second))
        assert taken.changed() == [str(path)]
        assert taken.changed() == []
    os.utime(path, (8000, 8000))
    taken.read_again([str(path), str(path.with_name("gone.json"))])
    assert taken.changed() == []
    assert TakenFiles(feeds).changed() == []
    os.utime(path, (9000, 9000))
    assert TakenFiles(feeds).changed() == [str(path)]
    path.unlink()
    assert TakenFiles(feeds).changed() == []
