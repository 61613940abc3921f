"""A folder of a pipeline on Spark: moving it where folders cannot be renamed, and the addresses of stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from tidelog.database.program.program import compile
from tidelog.pipeline.addresses import known_to_arrow
from tidelog.pipeline.settings import Feed, Place
from tidelog.pipeline.spark.feeds import SparkFeeds
from tidelog.pipeline.spark.folder import Folder


class Store:
    """Files of this machine, as a store of objects has them: no folder can be moved. `copies` and `deletes` are how
    many of each it does before it breaks."""

    def __init__(self, copies: int = 100, deletes: int = 100) -> None:
        self._files = pafs.LocalFileSystem()
        self.left = {"copy_file": copies, "delete_file": deletes}
        self.copied: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def move(self, old: str, new: str) -> None:
        if Path(old).is_dir():
            raise OSError("there are no folders here")
        self._files.move(old, new)

    def copy_file(self, old: str, new: str) -> None:
        self._spend("copy_file")
        self.copied.append(Path(old).name)
        self._files.copy_file(old, new)

    def delete_file(self, path: str) -> None:
        self._spend("delete_file")
        self._files.delete_file(path)

    def _spend(self, what: str) -> None:
        if not self.left[what]:
            raise KeyboardInterrupt
        self.left[what] -= 1


def folder_in(path: Path, store: Store) -> Folder:
    folder = Folder(str(path))
    folder.__dict__["_opened"] = (store, str(path))
    return folder


def pending(path: Path) -> None:
    for name in ("_SUCCESS", "a.csv", "zone=1/b.csv", "c.csv"):
        (path / "_pending-3" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "_pending-3" / name).write_text(name)


def names(path: Path) -> list[str]:
    return sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())


def test_where_folders_cannot_be_renamed_their_files_are_copied(tmp_path: Path) -> None:
    pending(tmp_path)
    (tmp_path / "epoch=3").mkdir()
    (tmp_path / "epoch=3/old.csv").write_text("old")
    store = Store()
    folder_in(tmp_path, store).move("_pending-3", "epoch=3")
    assert names(tmp_path) == [f"epoch=3/{name}" for name in ("_SUCCESS", "a.csv", "c.csv", "zone=1/b.csv")]
    assert store.copied[-1] == "_SUCCESS"


@pytest.mark.parametrize("broken", [*({"copies": n} for n in range(4)), *({"deletes": n} for n in range(4))])
def test_a_copy_that_was_interrupted_is_completed(tmp_path: Path, broken: dict[str, int]) -> None:
    pending(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        folder_in(tmp_path, Store(**broken)).move("_pending-3", "epoch=3")
    folder = folder_in(tmp_path, Store())
    assert folder.exists("_pending-3")
    folder.move("_pending-3", "epoch=3")
    assert names(tmp_path) == [f"epoch=3/{name}" for name in ("_SUCCESS", "a.csv", "c.csv", "zone=1/b.csv")]


def test_an_address_of_spark_is_said_in_the_words_of_arrow() -> None:
    assert known_to_arrow("s3a://bucket/out") == "s3://bucket/out"
    assert known_to_arrow("hdfs://host:8020/out") == "hdfs://host:8020/out"
    filesystem, path = Folder("s3a://bucket/out?region=us-east-1")._opened
    assert (type(filesystem), path) == (pafs.S3FileSystem, "bucket/out")
    assert Folder("s3a://bucket/out").spark_path("x") == "s3a://bucket/out/x"


def test_a_feed_that_is_a_pattern_is_no_folder_to_be_made(tmp_path: Path) -> None:
    program = compile("input relation A(n: u8)").stages.rules
    given = [Feed("A", Place("json", f"{tmp_path}/{name}")) for name in ("feed", "feeds/*.json")]
    SparkFeeds(None, given, program, Folder(str(tmp_path / "state")), warn=print).check(None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feed", "state"]
