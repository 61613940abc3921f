"""Log of the content of each batch, written before a batch is taken: a line of JSON per batch in `batches.jsonl`.

    {"start": {"Edge": {"table": "2f…", "version": 3}}}
    {"batch": 7, "files": {"feed/edge": ["0012.json"]}, "sizes": {"feed/edge": [2048]}, "times": {"feed/edge": [17…]},
     "positions": {"Edge": {"from": {"table": "2f…", "version": 3}, "to": {"table": "2f…", "version": 5}}}}

The commit itself stores the number of the last committed batch. So a batch that is in the log and not committed is
always taken again, with the same files and positions, and no other batch has any of them. An unfinished last line is no
batch: it was never taken. The sizes are those of the files when the batch was last about to be taken, and the times
those at which they had last been written to, in nanoseconds; earlier versions did not write them. `start` has the
positions at which feeds begin whose first rows are loaded with the starting tables.

As long as a batch is not committed, positions from which nothing can be read again, sizes and times may be replaced: a
later `start` replaces an earlier one, and a line with the number of the last batch replaces that batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError

Files = Mapping[str, list[str]]
"""File names, relative to their folder, by the path of the feed as it is written in the pipeline file."""

Numbers = Mapping[str, list[int]]
"""Numbers of the files, in the same order: their bytes, or their times."""

Version = tuple[int | None, int | None]
"""The size and the time of a file; None where the log does not say."""

LOCAL_LOG = "batches.jsonl"


@dataclass(frozen=True, slots=True)
class Range:
    """The changes after a position (None: all rows) up to another; both are JSON values."""

    begin: Any
    end: Any


@dataclass(frozen=True, slots=True)
class Planned:
    """The content of a batch: files by feed, and ranges of positions by relation."""

    files: Files = field(default_factory=dict)
    sizes: Numbers = field(default_factory=dict)
    times: Numbers = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)


class BatchLog:
    """The log in a folder. Only the process that has the database open for writing may use it."""

    def __init__(self, folder: Path) -> None:
        """Raises DataError if the log is damaged."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LOCAL_LOG
        self._batches: list[Planned] = []
        self._taken: dict[str, dict[str, Version]] = {}
        self.start: Mapping[str, Any] = {}
        self._read()

    @property
    def next(self) -> int:
        """Number of the next batch to plan."""
        return len(self._batches)

    def planned(self, batch: int) -> Planned:
        """Returns the content of a batch."""
        return self._batches[batch]

    def position(self, relation: str, last: int) -> Any:
        """Returns the position of a feed after a batch (-1: after the start); None if the feed has not begun."""
        for planned in reversed(self._batches[: last + 1]):
            if relation in planned.ranges:
                return planned.ranges[relation].end
        return self.start.get(relation)

    def is_taken(self, feed: str, name: str) -> bool:
        """True if a file is part of some batch."""
        return name in self._taken.get(feed, ())

    def version(self, feed: str, name: str) -> Version:
        """Returns the size and the time that a file had when its batch was about to be taken."""
        return self._taken[feed][name]

    def begin(self, positions: Mapping[str, Any]) -> None:
        """Writes the positions at which feeds begin to the disk."""
        if positions and positions != self.start:
            self._append({"start": positions})
            self.start = positions

    def plan(self, planned: Planned) -> int:
        """Writes the next batch to the disk, and returns its number."""
        number = self.next
        self._append(_entry(number, planned))
        self._note(planned)
        return number

    def replace_last(self, planned: Planned) -> None:
        """Replaces the last batch, which is not committed."""
        self._append(_entry(self.next - 1, planned))
        self._batches.pop()
        self._note(planned)

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        with self._path.open("ab") as log:
            log.write(line.encode())
            log.flush()
            os.fsync(log.fileno())

    def _read(self) -> None:
        whole = 0
        content = self._path.read_bytes() if self._path.exists() else b""
        for place, line in enumerate(content.split(b"\n")[:-1], 1):
            try:
                self._read_entry(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise DataError(
                    f"{self._path}:{place}:1: the log of batches is damaged: {error}",
                    code=Code.DAMAGED_DATABASE,
                ) from error
            whole += len(line) + 1
        if whole < len(content):
            with self._path.open("r+b") as log:
                log.truncate(whole)

    def _read_entry(self, entry: Any) -> None:
        if "batch" not in entry and "start" in entry:
            if not isinstance(entry["start"], dict):
                raise TypeError("the start has positions by feed")
            self.start = entry["start"]
            return
        number, files = entry["batch"], entry["files"]
        sizes, times = entry.get("sizes", {}), entry.get("times", {})
        _check_entry(files, sizes, times)
        ranges = {name: Range(each["from"], each["to"]) for name, each in entry.get("positions", {}).items()}
        planned = Planned(files, sizes, times, ranges)
        if self._batches and number == self.next - 1 and files == self._batches[-1].files:
            self._batches.pop()
        if number != self.next:
            raise DataError(
                f"{self._path}: batch {self.next} is missing in the log of batches", code=Code.DAMAGED_DATABASE
            )
        self._note(planned)

    def _note(self, planned: Planned) -> None:
        self._batches.append(planned)
        for feed, names in planned.files.items():
            sizes, times = planned.sizes.get(feed, ()), planned.times.get(feed, ())
            versions = zip_longest(sizes, times) if sizes or times else [(None, None)] * len(names)
            self._taken.setdefault(feed, {}).update(zip(names, versions, strict=True))


def _entry(number: int, planned: Planned) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "batch": number,
        "files": planned.files,
        "sizes": planned.sizes,
        "times": planned.times,
    }
    if planned.ranges:
        entry["positions"] = {name: {"from": each.begin, "to": each.end} for name, each in planned.ranges.items()}
    return entry


def _check_entry(files: object, sizes: object, times: object) -> None:
    """Raises TypeError for a line of JSON that is no batch."""
    for value, kind in ((files, str), (sizes, int), (times, int)):
        if not isinstance(value, dict) or not all(
            isinstance(each, list) and all(type(item) is kind for item in each) for each in value.values()
        ):
            raise TypeError("a batch has lists of files by feed, and as many sizes and times")
    assert isinstance(files, dict)
    for what, numbers in (("sizes", sizes), ("times", times)):
        assert isinstance(numbers, dict)
        if any(len(files.get(feed, ())) != len(each) for feed, each in numbers.items()):
            raise TypeError(f"a batch has as many {what} as files")
