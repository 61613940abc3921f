"""Folders on this machine and sources with positions → batches that are written to a log before they are taken.

The next batch is all files of all folders that no batch has yet, and of each source the changes after the position at
which the last batch ended. `maxFilesPerTrigger` limits the files of a folder in a batch; the oldest are first.

A file is taken once, as it is then. If its size or its time is another one later, somebody has written to it: that is
told, once for each size and time, since rows of it may be missing. For a batch that failed and is read again, the sizes
and times before the last try count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.pipeline.batch import Batch, Records, SourceRange, Stop, Take
from tidelog.pipeline.batch_log import BatchLog, Planned, Range
from tidelog.pipeline.changed_files import ChangedFile, ChangeWarnings
from tidelog.pipeline.local.formats import files_at
from tidelog.pipeline.local.records import read_records
from tidelog.pipeline.settings import FILES_PER_BATCH, Feed
from tidelog.pipeline.sources.formats import is_positioned, open_source
from tidelog.pipeline.sources.source import Source
from tidelog.rules.ir import Relation


class LoggedFeeds:
    """Implements `Feeds`. The log of batches is in `folder`; `warn` is called for missing files."""

    def __init__(
        self, feeds: Sequence[Feed], relations: Mapping[str, Relation], folder: Path, warn: Callable[[str], object]
    ) -> None:
        self._feeds = [feed for feed in feeds if not is_positioned(feed.place)]
        self._positioned = [feed for feed in feeds if is_positioned(feed.place)]
        self._relations = relations
        self._folder = folder
        self._warn = warn
        self._log = BatchLog(folder)
        self._changes = ChangeWarnings(warn)
        self._told: set[tuple[str, str, int, int]] = set()
        self._sources: dict[str, Source] = {}
        for feed in self._feeds:
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
        for feed in self._positioned:
            name = feed.relation
            source = self._sources[name] = open_source(feed.place, self._relations[name], feed)
            source.check(None if last is None else self._log.position(name, last))

    def start(self) -> Mapping[str, SourceRange]:
        begun = {
            name: SourceRange(source, None, source.start(self._log.start.get(name)))
            for name, source in self._sources.items()
            if not source.gives_records
        }
        self._log.begin({name: each.end for name, each in begun.items()})
        return begun

    def run(self, take: Take, last: int | None, *, watch: bool, interval: float, stop: Stop) -> None:
        number = -1 if last is None else last
        self._acknowledge(number)
        for planned in range(number + 1, self._log.next):
            if stop.is_set():
                return
            self._renew(planned)
            self._take(take, planned)
        while not stop.is_set():
            planned_now = self._new()
            if planned_now is not None:
                self._take(take, self._log.plan(planned_now))
            elif not watch or stop.wait(interval):
                return

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    def _take(self, take: Take, number: int) -> None:
        take(self._batch(number))
        self._acknowledge(number)

    def _acknowledge(self, number: int) -> None:
        """Tells the sources what is committed."""
        for name, source in self._sources.items():
            position = self._log.position(name, number)
            if position is not None:
                source.acknowledge(position)

    def _renew(self, number: int) -> None:
        """Replaces, in a batch that was not committed, the first rows of a feed that cannot be read again, and the
        sizes and times of files, which will be read as they are now."""
        planned = self._log.planned(number)
        ranges = {
            name: replace(each, end=self._sources[name].start(each.end)) if each.begin is None else each
            for name, each in planned.ranges.items()
            if name in self._sources
        }
        sizes, times = dict(planned.sizes), dict(planned.times)
        for feed in self._feeds:
            if found := self._versions(feed, planned):
                sizes[feed.place.written] = [size for size, _ in found]
                times[feed.place.written] = [time for _, time in found]
        renewed = replace(planned, sizes=sizes, times=times, ranges=ranges)
        if renewed != planned:
            self._log.replace_last(renewed)

    def _versions(self, feed: Feed, planned: Planned) -> list[tuple[int, int]]:
        """Returns the present sizes and times of the files of a batch; those of the log for files that are gone."""
        known = self._log.version
        found = []
        for name in planned.files.get(feed.place.written, ()):
            size, time = _version(_path(feed, name)) or known(feed.place.written, name)
            found.append((size or 0, time or 0))
        return found

    def _new(self) -> Planned | None:
        """Returns the next batch; None if there is nothing new."""
        found = replace(self._new_files(), ranges=self._new_ranges())
        return found if found.files or found.ranges else None

    def _new_ranges(self) -> dict[str, Range]:
        found = {}
        for name, source in self._sources.items():
            begin = self._log.position(name, self._log.next - 1)
            end = source.start(None) if begin is None else source.latest(begin)
            if end is not None:
                found[name] = Range(begin, end)
        return found

    def _new_files(self) -> Planned:
        """Returns the files of the next batch; tells of taken files that have changed since."""
        files: dict[str, list[str]] = {}
        sizes: dict[str, list[int]] = {}
        times: dict[str, list[int]] = {}
        changed: list[ChangedFile] = []
        for feed in self._feeds:
            at_most = int(feed.place.options.get(FILES_PER_BATCH, 0)) or None
            new = []
            for path in files_at(feed.place):
                name, version = _name(path, feed), _version(path)
                if version is None:
                    continue  # it has just been removed
                if self._log.is_taken(feed.place.written, name):
                    changed += self._changed(feed, path, name, version)
                else:
                    new.append((name, *version))
            if new:
                place = feed.place.written
                names, its_sizes, its_times = zip(*new[:at_most], strict=True)
                files[place], sizes[place], times[place] = [*names], [*its_sizes], [*its_times]
        self._changes.tell(changed)
        return Planned(files, sizes, times)

    def _changed(self, feed: Feed, path: Path, name: str, version: tuple[int, int]) -> Iterator[ChangedFile]:
        """Yields a taken file if it has changed since, and this was not told yet."""
        known = self._log.version(feed.place.written, name)
        told = feed.place.written, name, *version
        if told in self._told or all(before in (None, now) for before, now in zip(known, version, strict=True)):
            return
        self._told.add(told)
        before, size = known[0], version[0]
        is_resized = before is not None and before != size
        yield ChangedFile(str(path), f": it had {before:,} bytes and has {size:,}" if is_resized else "")

    def _batch(self, number: int) -> Batch:
        planned = self._log.planned(number)
        records: dict[str, Records] = {}
        for feed in self._feeds:
            names = planned.files.get(feed.place.written)
            if names:
                records[feed.relation] = chain.from_iterable(self._records(feed, names))
        ranges = {}
        for name, each in planned.ranges.items():
            if name not in self._sources:
                self._warn(f"`changes.{name}` is no longer in the pipeline, and is left out of batch {number}")
                continue
            ranges[name] = SourceRange(self._sources[name], each.begin, each.end)
        return Batch(number, records, ranges)

    def _records(self, feed: Feed, names: Sequence[str]) -> Iterator[Records]:
        for name in names:
            path = _path(feed, name)
            if path.exists():
                yield read_records(path, feed, self._relations[feed.relation])
            else:
                self._warn(f"{path} no longer exists and is left out of its batch")


def _name(path: Path, feed: Feed) -> str:
    folder = feed.place.folder
    return path.name if path == folder else path.relative_to(folder).as_posix()


def _path(feed: Feed, name: str) -> Path:
    return feed.place.folder if feed.place.folder.is_file() else feed.place.folder / name


def _version(path: Path) -> tuple[int, int] | None:
    """Returns the size of a file and the time at which it was last written to; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
