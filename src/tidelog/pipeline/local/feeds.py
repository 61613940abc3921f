"""Folders on this machine → batches: the next batch is all files of all feeds that no batch has yet.

`maxFilesPerTrigger` limits the files of a feed in a batch; the oldest are first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.pipeline.batch import Batch, Records, Stop, Take
from tidelog.pipeline.local.batch_log import BatchLog, Files
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
            files = self._new_files()
            if files:
                take(self._batch(self._log.plan(files)))
            elif not watch or stop.wait(interval):
                return

    def _new_files(self) -> Files:
        found = {}
        for feed in self._feeds:
            at_most = int(feed.place.options.get(FILES_PER_BATCH, 0)) or None
            names = [_name(path, feed) for path in files_at(feed.place)]
            new = [name for name in names if not self._log.is_taken(feed.place.written, name)]
            if new:
                found[feed.place.written] = new[:at_most]
        return found

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
