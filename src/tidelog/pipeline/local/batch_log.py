"""Log of the files of each batch, written before a batch is taken: a line of JSON per batch in `batches.jsonl`.

    {"batch": 7, "files": {"feed/edge": ["0012.json", "0013.json"]}, "sizes": {"feed/edge": [2048, 310]}}

The commit itself stores the number of the last committed batch. So a batch that is in the log and not committed is
always taken again, with the same files, and no other batch has a file of it. An unfinished last line is no batch: it
was never taken. The sizes are those of the files when the batch was planned; earlier versions did not write them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError

Files = Mapping[str, list[str]]
"""File names, relative to their folder, by the path of the feed as it is written in the pipeline file."""

Sizes = Mapping[str, list[int]]
"""The bytes of the files, in the same order."""

LOCAL_LOG = "batches.jsonl"


class BatchLog:
    """The log in a folder. Only the process that has the database open for writing may use it."""

    def __init__(self, folder: Path) -> None:
        """Raises DataError if the log is damaged."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LOCAL_LOG
        self._batches: list[Files] = []
        self._taken: dict[str, dict[str, int | None]] = {}
        self._read()

    @property
    def next(self) -> int:
        """Number of the next batch to plan."""
        return len(self._batches)

    def files(self, batch: int) -> Files:
        """Returns the files of a batch."""
        return self._batches[batch]

    def is_taken(self, feed: str, name: str) -> bool:
        """True if a file is part of some batch."""
        return name in self._taken.get(feed, ())

    def size(self, feed: str, name: str) -> int | None:
        """Returns the bytes of a file when its batch was planned; None if the log does not say."""
        return self._taken[feed][name]

    def plan(self, files: Files, sizes: Sizes) -> int:
        """Writes the next batch to the disk, and returns its number."""
        number = self.next
        line = json.dumps({"batch": number, "files": files, "sizes": sizes}, ensure_ascii=False) + "\n"
        with self._path.open("ab") as log:
            log.write(line.encode())
            log.flush()
            os.fsync(log.fileno())
        self._note(files, sizes)
        return number

    def _read(self) -> None:
        whole = 0
        content = self._path.read_bytes() if self._path.exists() else b""
        for line in content.split(b"\n")[:-1]:
            try:
                entry = json.loads(line)
                number, files, sizes = entry["batch"], entry["files"], entry.get("sizes", {})
                _check_entry(files, sizes)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise DataError(
                    f"{self._path}:{self.next + 1}:1: the log of batches is damaged: {error}",
                    code=Code.DAMAGED_DATABASE,
                ) from error
            if number != self.next:
                raise DataError(
                    f"{self._path}: batch {self.next} is missing in the log of batches", code=Code.DAMAGED_DATABASE
                )
            self._note(files, sizes)
            whole += len(line) + 1
        if whole < len(content):
            with self._path.open("r+b") as log:
                log.truncate(whole)

    def _note(self, files: Files, sizes: Sizes) -> None:
        self._batches.append(files)
        for feed, names in files.items():
            known: list[int | None] = [*sizes.get(feed, ())] or [None] * len(names)
            self._taken.setdefault(feed, {}).update(zip(names, known, strict=True))


def _check_entry(files: object, sizes: object) -> None:
    """Raises TypeError for a line of JSON that is no batch."""
    for value, kind in ((files, str), (sizes, int)):
        if not isinstance(value, dict) or not all(
            isinstance(each, list) and all(type(item) is kind for item in each) for each in value.values()
        ):
            raise TypeError("a batch has lists of files by feed, and as many sizes")
    assert isinstance(files, dict)
    assert isinstance(sizes, dict)
    if any(len(files.get(feed, ())) != len(each) for feed, each in sizes.items()):
        raise TypeError("a batch has as many sizes as files")
