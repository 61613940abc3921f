"""The checkpoint of a query → files that did not stay as they were: missing ones, and those that somebody wrote to.

Spark writes to `offsets/N` the step of each source after batch N, to `sources/S` the files of each step of a source,
each with the time of its last change then, and to `commits` the batches that were taken. It silently leaves out a
missing file, and never looks again at a file that it has planned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from tidelog.pipeline.addresses import shown_place
from tidelog.pipeline.spark.folder import Folder

_READ_AGAIN = "read_again.json"


def planned_files(log: Folder) -> list[str]:
    """Returns the files that were planned for the last batch, if it was not taken: they will be read again."""
    numbers = _numbers(log / "offsets")
    if not numbers or max(numbers) in _numbers(log / "commits"):
        return []
    last = max(numbers)
    begin, end = _steps(log, last - 1), _steps(log, last)
    found = []
    for source, until in end.items():
        planned = {
            path for step, path in _files(log / "sources" / str(source)) if begin.get(source, -1) < step <= until
        }
        found += sorted(map(shown_place, planned))
    return found


def missing(paths: Iterable[str]) -> list[str]:
    """Returns the files that no longer exist."""
    return [path for path in paths if not _is_there(path)]


class TakenFiles:
    """The files of all batches that were planned, and the time at which each was last changed by then.

    A batch that failed is read again, with its files as they are then: `folder` has a note of their times.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._log = folder / "log"
        self._read: set[str] = set()
        self._times: dict[str, int] = json.loads(folder.read_text(_READ_AGAIN) or "{}")

    def read_again(self, paths: Iterable[str]) -> None:
        """Notes the times of files that are about to be read again."""
        times = {path: time for path in paths if (time := _time(path)) is not None}
        if times:
            noted = json.loads(self._folder.read_text(_READ_AGAIN) or "{}") | times
            self._folder.write_text(_READ_AGAIN, json.dumps(noted))
            self._times |= times

    def changed(self) -> list[str]:
        """Returns the files that were changed since their batches were planned; each again only if it changes again."""
        self._read_more()
        folders: dict[str, list[tuple[str, str]]] = {}
        for path in self._times:
            parent, _, name = path.rpartition("/")
            folders.setdefault(parent or "/", []).append((path, name))
        changed = []
        for folder, files in folders.items():
            times = Folder(folder).times()
            for path, name in files:
                if name in times and times[name] != self._times[path]:
                    self._times[path] = times[name]
                    changed.append(path)
        return sorted(changed)

    def _read_more(self) -> None:
        sources = self._log / "sources"
        for source in sources.names():
            for step, name in ((step, f"{source}/{step}") for step in (sources / source).names()):
                if name not in self._read and step.removesuffix(".compact").isdecimal():
                    self._read.add(name)
                    for entry in _entries(sources, name):
                        self._times.setdefault(shown_place(entry["path"]), entry["timestamp"])


def _numbers(folder: Folder) -> set[int]:
    return {int(name) for name in folder.names() if name.isdecimal()}


def _steps(log: Folder, batch: int) -> dict[int, int]:
    """Returns the step of each file source after a batch."""
    found = {}
    lines = (log.read_text(f"offsets/{batch}") or "").splitlines()[2:]
    for source, line in enumerate(lines):
        with suppress(ValueError, TypeError, KeyError):  # other sources have other formats
            found[source] = int(json.loads(line)["logOffset"])
    return found


def _files(folder: Folder) -> Iterator[tuple[int, str]]:
    for name in folder.names():
        if name.removesuffix(".compact").isdecimal():
            for entry in _entries(folder, name):
                yield entry["batchId"], entry["path"]


def _entries(folder: Folder, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder.read_text(name) or "").splitlines()[1:]]


def _time(path: str) -> int | None:
    parent, _, name = path.rpartition("/")
    return Folder(parent or "/").times().get(name)


def _is_there(path: str) -> bool:
    parent, _, name = path.rpartition("/")
    return Folder(parent or "/").exists(name)
