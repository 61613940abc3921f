"""The checkpoint of a query → the missing files of the batch that will be delivered again.

Spark writes to `offsets/N` the step of each source after batch N, to `sources/S` the files of each step of a source,
and to `commits` the batches that were taken. It silently leaves out a missing file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from tidelog.pipeline.addresses import shown_place
from tidelog.pipeline.spark.folder import Folder


def missing_files(log: Folder) -> list[str]:
    """Returns the files that were planned for the last batch, if it was not taken, and that no longer exist."""
    numbers = _numbers(log / "offsets")
    if not numbers or max(numbers) in _numbers(log / "commits"):
        return []
    last = max(numbers)
    begin, end = _steps(log, last - 1), _steps(log, last)
    missing = []
    for source, until in end.items():
        planned = {
            path for step, path in _files(log / "sources" / str(source)) if begin.get(source, -1) < step <= until
        }
        missing += [path for path in sorted(map(shown_place, planned)) if not _is_there(path)]
    return missing


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
            for line in (folder.read_text(name) or "").splitlines()[1:]:
                entry = json.loads(line)
                yield entry["batchId"], entry["path"]


def _is_there(path: str) -> bool:
    parent, _, name = path.rpartition("/")
    return Folder(parent or "/").exists(name)
