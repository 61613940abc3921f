"""Log of the files of each batch, written before a batch is taken: a line of JSON per batch in `batches.jsonl`.

    {"batch": 7, "files": {"feed/edge": ["0012.json", "0013.json"]}}

The commit itself stores the number of the last committed batch. So a batch that is in the log and not committed is
always taken again, with the same files, and no other batch has a file of it. An unfinished last line is no batch: it
was never taken.
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

LOCAL_LOG = "batches.jsonl"


class BatchLog:
    """The log in a folder. Only the process that has the database open for writing may use it."""

    def __init__(self, folder: Path) -> None:
        """Raises DataError if the log is damaged."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LOCAL_LOG
        self._batches: list[Files] = []
        self._taken: dict[str, set[str]] = {}
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

    def plan(self, files: Files) -> int:
        """Writes the next batch to the disk, and returns its number."""
        number = self.next
        line = json.dumps({"batch": number, "files": files}, ensure_ascii=False) + "\n"
        with self._path.open("ab") as log:
            log.write(line.encode())
            log.flush()
            os.fsync(log.fileno())
        self._note(files)
        return number

    def _read(self) -> None:
        whole = 0
        content = self._path.read_bytes() if self._path.exists() else b""
        for line in content.split(b"\n")[:-1]:
            try:
                entry = json.loads(line)
                number, files = entry["batch"], entry["files"]
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{self._path}:{self.next + 1}:1: the log of batches is damaged: {error}",
                    code=Code.DAMAGED_DATABASE,
                ) from error
            if number != self.next:
                raise DataError(
                    f"{self._path}: batch {self.next} is missing in the log of batches", code=Code.DAMAGED_DATABASE
                )
            self._note(files)
            whole += len(line) + 1
        if whole < len(content):
            with self._path.open("r+b") as log:
                log.truncate(whole)

    def _note(self, files: Files) -> None:
        self._batches.append(files)
        for feed, names in files.items():
            self._taken.setdefault(feed, set()).update(names)
