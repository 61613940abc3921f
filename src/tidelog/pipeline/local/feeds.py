"""Folders on this machine → batches: the next batch is all files of all feeds that no batch has yet.

`maxFilesPerTrigger` limits the files of a feed in a batch; the oldest are first.

A file is taken once, as it is then. If its size is another one later, somebody was still writing it: that is told, once
for each size, since rows of it may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.pipeline.batch import Batch, Records, Stop, Take
from tidelog.pipeline.local.batch_log import BatchLog, Files, Sizes
from tidelog.pipeline.local.formats import files_at
from tidelog.pipeline.local.records import read_records
from tidelog.pipeline.settings import FILES_PER_BATCH, Feed
from tidelog.rules.ir import Relation


class LocalFeeds:
    """Implements `Feeds`. The log of batches is in `folder`; `warn` is called for missing files."""

    def __init__(
        self, feeds: Sequence[Feed], relations: Mapping[str, Relation], folder: Path, warn: Callable[[str], object]
    ) -> None:
        self._feeds = feeds
        self._relations = relations
        self._folder = folder
        self._warn = warn
        self._log = BatchLog(folder)
        self._told: set[tuple[str, str, int]] = set()
        for feed in feeds:
            if not feed.place.folder.exists():
                feed.place.folder.mkdir(parents=True)

    def check(self, last: int | None) -> None:
        if last is not None and last >= self._log.next and (self._folder / "log").exists():
            raise UsageError(
                "the feeds of this state were read on Spark, and their position is in the checkpoint of its query",
                code=Code.OTHER_FEEDS,
                help="continue there with `--engine spark`, or give the pipeline a new `state`",
            )
        if last is not None and last >= self._log.next:
            raise UsageError(
                f"the state has batch {last}, but the log in {self._folder} has {self._log.next} batches",
                code=Code.OTHER_FEEDS,
                help="give the pipeline a new `state`; the log of batches and the database belong together",
            )

    def run(self, take: Take, last: int | None, *, watch: bool, interval: float, stop: Stop) -> None:
        number = -1 if last is None else last
        for planned in range(number + 1, self._log.next):
            if stop.is_set():
                return
            take(self._batch(planned))
        while not stop.is_set():
            files, sizes = self._new_files()
            if files:
                take(self._batch(self._log.plan(files, sizes)))
            elif not watch or stop.wait(interval):
                return

    def _new_files(self) -> tuple[Files, Sizes]:
        """Returns the files of the next batch, and their sizes; tells of taken files that have changed since."""
        found: dict[str, list[str]] = {}
        sizes: dict[str, list[int]] = {}
        for feed in self._feeds:
            at_most = int(feed.place.options.get(FILES_PER_BATCH, 0)) or None
            new = []
            for path in files_at(feed.place):
                name, size = _name(path, feed), _size(path)
                if size is None:
                    continue  # it has just been removed
                if self._log.is_taken(feed.place.written, name):
                    self._tell_change(feed, path, name, size)
                else:
                    new.append((name, size))
            if new:
                found[feed.place.written] = [name for name, _ in new[:at_most]]
                sizes[feed.place.written] = [size for _, size in new[:at_most]]
        return found, sizes

    def _tell_change(self, feed: Feed, path: Path, name: str, size: int) -> None:
        before = self._log.size(feed.place.written, name)
        told = feed.place.written, name, size
        if before is None or before == size or told in self._told:
            return
        self._told.add(told)
        self._warn(
            f"{path} has changed since its batch was planned: it had {before:,} bytes and has {size:,}, and files are "
            "read once. Rows of it may be missing: write a file elsewhere, move it into the folder when it is "
            "finished, and put the missing rows into a new file"
        )

    def _batch(self, number: int) -> Batch:
        files = self._log.files(number)
        records: dict[str, Records] = {}
        for feed in self._feeds:
            names = files.get(feed.place.written)
            if names:
                records[feed.relation] = chain.from_iterable(self._records(feed, names))
        return Batch(number, records)

    def _records(self, feed: Feed, names: Sequence[str]) -> Iterator[Records]:
        for name in names:
            path = feed.place.folder if feed.place.folder.is_file() else feed.place.folder / name
            if path.exists():
                yield read_records(path, feed, self._relations[feed.relation])
            else:
                self._warn(f"{path} no longer exists and is left out of its batch")


def _name(path: Path, feed: Feed) -> str:
    folder = feed.place.folder
    return path.name if path == folder else path.relative_to(folder).as_posix()


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
