"""Settings → a running pipeline: the starting tables, then batch after batch of the feeds, each one epoch.

Exactly once, however often a process is killed: the number of a batch is committed with its epoch, as a mark, and the
batch is skipped when it is delivered again. Its outputs are written before the commit and made visible after it
(`sinks`), its bad records are written under its number. So an interrupted batch is taken again from the start, with the
same result.

A separate thread takes the batches, so that an interrupt from the keyboard waits for the end of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, cast

from tidelog.database.program.program import Program
from tidelog.database.transactions.transaction import CommitOptions, Transaction
from tidelog.diagnostics.wording import counted
from tidelog.engine.interface import ChangeRows, EpochReport
from tidelog.io.values import quoted
from tidelog.pipeline.apply import apply
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Batch, Records, SourceRange, Stop
from tidelog.pipeline.operations import FeedOperation, OperationReader
from tidelog.pipeline.resolve_conflicts import Resolved, primary_key, resolve_conflicts
from tidelog.pipeline.row_feed import FOLDER, RowFeed
from tidelog.pipeline.settings import Settings
from tidelog.pipeline.site import Site
from tidelog.pipeline.sources.formats import is_positioned
from tidelog.pipeline.unsent import with_unsent_values

START = "start"
_BATCH, _OUTPUTS = "pipeline batch", "pipeline outputs"


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one batch. `batch` is its number, or `start` for the starting tables; `read` counts its records. A
    batch without effect has no report. `changes` has the numbers of rows inserted into and deleted from each changed
    output. `seconds` are those of reading, of the epoch, and of writing.
    """

    batch: str
    read: int
    bad: int
    conflicts: int
    report: EpochReport | None
    changes: Mapping[str, tuple[int, int]]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks for the progress of a run."""

    begun: Callable[[str, str], object] = lambda phase, what: None
    done: Callable[[Step], object] = lambda step: None
    warn: Callable[[str], object] = lambda text: None


@dataclass(slots=True)
class _Progress:
    """Counts and times of a batch while it is taken; a phase may be entered again."""

    batch: str
    bad: BadRecords
    read: int = 0
    conflicts: int = 0
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "epoch": 0.0, "write": 0.0})
    phase: str = "read"
    since: float = field(default_factory=perf_counter)

    def enter(self, phase: str) -> None:
        now = perf_counter()
        self.seconds[self.phase] += now - self.since
        self.phase, self.since = phase, now

    def step(self, report: EpochReport | None) -> Step:
        return Step(self.batch, self.read, self.bad.count, self.conflicts, report, self.changes, self.seconds)


def run_pipeline(
    settings: Settings,
    program: Program,
    *,
    watch: bool = False,
    interval: float = 1.0,
    skip_bad: bool | None = None,
    opening: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
    stop: Stop | None = None,
    spark: Any = None,
) -> None:
    """Takes all available batches; with `watch` also later ones, until `stop` is set or a signal arrives.

    `skip_bad` leaves bad records out; by default it is set if there is a quarantine. Raises the errors of opening the
    database, and DataError for a batch that cannot be taken, which is rolled back.
    """
    listener = listener or Listener()
    stop = stop or Stop()
    listener.begun("open", settings.engine)
    site = _site(settings, program, opening or {}, listener, spark)
    try:
        skip = settings.quarantine is not None if skip_bad is None else skip_bad
        run = _Run(settings, program, site, skip, listener)
        with stop.on_signals():
            _in_background(lambda: run.all(watch, interval, stop), site)
    finally:
        site.close()


def _site(settings: Settings, program: Program, opening: Mapping[str, Any], listener: Listener, spark: Any) -> Site:
    if settings.engine == "local":
        from tidelog.pipeline.local.site import LocalSite

        return LocalSite(settings, program, opening, listener.warn)
    from tidelog.pipeline.spark.site import SparkSite

    return SparkSite(settings, program, opening, listener.warn, spark)


def _in_background(work: Callable[[], None], site: Site) -> None:
    """Runs the work in another thread, and raises its error. A KeyboardInterrupt cancels the current epoch."""
    with ThreadPoolExecutor(1, thread_name_prefix="tidelog pipeline") as threads:
        running = threads.submit(work)
        try:
            while not wait([running], 0.2).done:
                pass  # an interrupt is seen at the next turn
        except KeyboardInterrupt:
            site.interrupt()
            raise  # when the work has ended
    running.result()


class _Run:
    """One run over an open database."""

    def __init__(self, settings: Settings, program: Program, site: Site, skip: bool, listener: Listener) -> None:
        rules = program.stages.rules
        self._settings = settings
        self._site = site
        self._skip = skip
        self._listener = listener
        self._relations = rules.relations
        self._feeds = {feed.relation: feed for feed in settings.feeds}
        self._readers = {
            feed.relation: OperationReader(feed, rules.relations[feed.relation], rules.functions.definitions)
            for feed in settings.feeds
        }
        self._primary_keys = {
            feed.relation: primary_key(rules.relations[feed.relation], rules) for feed in settings.feeds
        }
        self._definitions = rules.functions.definitions
        self._row_feeds: dict[str, RowFeed] = {}
        self._last: int | None = None

    def all(self, watch: bool, interval: float, stop: Stop) -> None:
        """Recovers, loads the starting tables if they are not loaded, and takes the batches of the feeds."""
        known = self._site.database._locked.marks()
        self._last = known.get(_BATCH)
        self._site.feeds.check(self._last)
        self._site.sinks.recover(self._site.database.report.epoch, known.get(_OUTPUTS, ()))
        if self._last is None:
            self._load()
        if not stop.is_set():
            self._site.feeds.run(self._take, self._last, watch=watch, interval=interval, stop=stop)

    def _load(self) -> None:
        """Loads the starting tables, as one epoch."""
        progress = self._begin(START)
        unknown = []
        begun = self._site.feeds.start()
        with self._site.database.transaction() as tx:
            for table in self._settings.tables:
                if table.relation in begun:
                    continue  # the feed has these rows
                self._listener.begun("read", table.place.name)
                count = self._site.load(tx, table, progress.bad)
                progress.read += count or 0
                if count is None:
                    unknown.append(table.relation)
            for name, rows in begun.items():
                self._listener.begun("read", self._feeds[name].place.name)
                count = self._site.load_rows(tx, self._row_feed(name), rows, progress.bad)
                progress.read += count or 0
                if count is None:
                    unknown.append(name)
            self._before_commit(tx, -1, progress)
        if tx.report is not None and unknown:
            progress.read += sum(tx.report.rows[name] for name in unknown) + progress.bad.count
        self._finish(tx, -1, progress)

    def _take(self, batch: Batch) -> None:
        """Takes one batch of the feeds, as one epoch; skips it if it was committed before."""
        if self._last is not None and batch.number <= self._last:
            return
        progress = self._begin(str(batch.number))
        self._listener.begun("read", f"batch {batch.number}")
        with self._site.database.transaction() as tx:
            for name, records in batch.records.items():
                resolved = self._resolve(name, records, progress)
                apply(tx, resolved, self._feeds[name], self._relations[name], self._site.old_rows)
            for name, changes in batch.ranges.items():
                self._take_range(tx, name, changes, progress)
            self._before_commit(tx, batch.number, progress)
        self._finish(tx, batch.number, progress)

    def _take_range(self, tx: Transaction, name: str, changes: SourceRange, progress: _Progress) -> None:
        """Takes the changes between two positions of one feed."""
        if changes.source.gives_records:
            records = cast("Records", iter(changes.source.read(changes.begin, changes.end)))
            apply(
                tx,
                self._resolve(name, records, progress),
                self._feeds[name],
                self._relations[name],
                self._site.old_rows,
            )
            return
        count, net = self._site.take_rows(tx, self._row_feed(name), changes, progress.bad)
        progress.read += count
        progress.conflicts += net.unknown
        if net.unknown:
            deletes = counted(net.unknown, "delete")
            self._listener.warn(
                f"batch {progress.batch}: {deletes} of rows that `{name}` does not have; the first: {quoted(net.first)}"
            )

    def _row_feed(self, name: str) -> RowFeed:
        if name not in self._row_feeds:
            folder = self._site.feeds_folder / FOLDER
            self._row_feeds[name] = RowFeed(self._relations[name], self._definitions, folder, self._last)
        return self._row_feeds[name]

    def _begin(self, batch: str) -> _Progress:
        return _Progress(batch, BadRecords(skip=self._skip, keep=self._site.quarantine is not None))

    def _resolve(self, name: str, records: Records, progress: _Progress) -> Resolved:
        reader, on_bad = self._readers[name], partial(progress.bad.add, name)
        operations: Iterable[FeedOperation] = reader.read_all(records, on_bad)
        if self._feeds[name].key and is_positioned(self._feeds[name].place):
            committed = partial(self._site.old_rows, name, self._feeds[name].key)
            operations = with_unsent_values(operations, committed, on_bad)
        resolved = resolve_conflicts(operations, self._relations[name], on_bad, self._primary_keys[name])
        progress.read += reader.count
        progress.conflicts += resolved.conflicts
        if resolved.conflicts:
            conflicts = counted(resolved.conflicts, "conflict")
            self._listener.warn(f"batch {progress.batch}: {conflicts}; the first: {resolved.conflict}")
        return resolved

    def _before_commit(self, tx: Transaction, number: int, progress: _Progress) -> None:
        """Writes bad records to the quarantine; lets the commit prepare the outputs and store the batch number."""
        bad = progress.bad
        if bad.first is not None:
            self._listener.warn(
                f"batch {progress.batch}: left out {counted(bad.count, 'bad record')}; the first: {bad.first.message}"
                f"{f' ({bad.first.help})' if bad.first.help else ''}"
            )
        if self._site.quarantine is not None:
            self._site.quarantine.put(progress.batch, bad.kept)

        for row_feed in self._row_feeds.values():
            row_feed.copies.write(number)

        def prepare(epoch: int, changes: Mapping[str, ChangeRows]) -> None:
            progress.enter("write")
            progress.changes = {name: (each.inserted_count(), each.deleted_count()) for name, each in changes.items()}
            self._site.sinks.prepare(epoch, changes)
            progress.enter("epoch")

        marks = {_BATCH: number, _OUTPUTS: [output.relation for output in self._settings.outputs]}
        tx._commit_with(CommitOptions(marks, prepare))
        self._listener.begun("evaluate", f"batch {progress.batch}")
        progress.enter("epoch")

    def _finish(self, tx: Transaction, number: int, progress: _Progress) -> None:
        """Makes the outputs of the committed batch visible."""
        progress.enter("write")
        self._site.committed()
        self._last = number
        for row_feed in self._row_feeds.values():
            row_feed.copies.committed(number)
        report = tx.report
        if report is not None:
            self._site.sinks.publish(report.epoch)
        progress.enter("read")
        self._listener.done(progress.step(report))
