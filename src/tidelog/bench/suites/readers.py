"""Readers beside a writer: the latency of reads while epochs are committed, and what the readers cost the commits.

Eight readers read 50 times a second each: `len`, look-ups, small queries, explanations. One more thread scans. The
writer commits single edges, and once a graph whose closure takes seconds. The same commits then run beside threads that
use as much processor time in plain Python, which is what any eight busy threads cost. Every read is compared with the
recorded states: it must be of a committed epoch that is not older than the last one acknowledged before it, and a
snapshot must stay as it was.

What is recorded is kept as numbers: sets of rows as the bits of an integer. Objects of their own would be searched by
Python's garbage collector, in the middle of a read. What is there before is frozen, as `docs/reference/concurrency.md`
says.

A read also waits for a processor, and on a machine with other work for longer than for anything else. On Linux the
slowest reads are therefore shown twice: as they were, and without the time that their own thread was ready to run and
did not.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter, sleep, thread_time
from typing import Any

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.measure import PROGRAMS, Outcome
from tidelog.database.database import Database
from tidelog.diagnostics.errors import UsageError

READERS, READS_A_SECOND = 8, 50
_NODES, _PROBES = 120, 12
_PAUSE = 0.01
_SCAN_EVERY = 0.5
_GROUP = "readers beside commits"
_own = threading.local()
Row = tuple[int, int]


@dataclass(slots=True)
class _State:
    """What reads of one epoch see: the number of rows, and those of each probe as `_bits`."""

    count: int
    rows: tuple[int, ...]


@dataclass
class _Recorder:
    """The states after each commit, and the reads, each with the number of the first state that it may be of."""

    states: list[_State] = field(default_factory=list)
    acknowledged: int = 0
    reads: list[tuple[int, str, int, int]] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    without_waiting: dict[str, list[float]] = field(default_factory=dict)
    cpu: float = 0.0
    scans: int = 0
    scan_cpu: float = 0.0
    errors: list[BaseException] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)


class _Writer:
    """Commits random edges of a small graph, and once those of a large one."""

    def __init__(self, db: Database, recorder: _Recorder, commits: int, large: int) -> None:
        self._db, self._recorder, self._commits, self._large = db, recorder, commits, large
        self._rng = random.Random(1)
        self._edges: set[Row] = set()
        self._reach = [0] * _PROBES
        self._count = 0
        self.seconds: list[float] = []
        self.long_seconds = 0.0
        self._commit([self._edge() for _ in range(_NODES)], [])

    def run(self) -> None:
        for number in range(self._commits):
            if number == self._commits // 2:
                first = 1 << 20
                rng = random.Random(2)
                nodes = [(rng.randrange(self._large), rng.randrange(self._large)) for _ in range(2 * self._large)]
                edges = {(first + src, first + dst) for src, dst in nodes}
                self.long_seconds = self._commit(sorted(edges), [], is_large=True)
            edge = self._edge()
            is_there = edge in self._edges
            self.seconds.append(self._commit([] if is_there else [edge], [edge] if is_there else []))
            sleep(_PAUSE)

    def _edge(self) -> Row:
        return self._rng.randrange(_NODES), self._rng.randrange(_NODES)

    def _commit(self, inserted: list[Row], deleted: list[Row], *, is_large: bool = False) -> float:
        states = self._recorder.states

        def record(delta: Any) -> None:
            """Notes the state that the epoch makes; called before the commit is acknowledged."""
            self._count += len(delta.inserted) - len(delta.deleted) if not is_large else len(delta)
            if not is_large:
                for src, dst in (*delta.inserted, *delta.deleted):
                    if src < _PROBES:
                        self._reach[src] ^= 1 << dst

        stop = self._db.on_change("Reach", record)
        started = perf_counter()
        with self._db.transaction() as tx:
            tx.insert("Edge", inserted)
            tx.delete("Edge", deleted)
        taken = perf_counter() - started
        stop()
        self._edges = (self._edges | (set() if is_large else set(inserted))) - set(deleted)
        states.append(_State(self._count, tuple(self._reach)))
        self._recorder.acknowledged = len(states) - 1
        return taken


def _read(db: Database, recorder: _Recorder, rng: random.Random) -> None:
    """Does one read, and notes its latency and what it saw."""
    probe, kind = rng.randrange(_PROBES), rng.choice(["len", "lookup", "query", "explain"])
    first, other = recorder.acknowledged, rng.randrange(_NODES)
    rows: Iterable[Row] = ()
    waited = _waited_for_a_processor()
    started, used = perf_counter(), thread_time()
    if kind == "len":
        seen = len(db.relation("Reach"))
    elif kind == "lookup":
        rows = db.relation("Reach").lookup(src=probe)
    elif kind == "query":
        rows = db.query("Reach($x, y)", params={"x": probe}).rows
    else:
        try:
            seen = int(len(db.explain("Reach", (probe, other))) > 0)
        except UsageError:
            seen = 0
    taken = perf_counter() - started
    recorder.cpu += thread_time() - used
    recorder.seconds.setdefault(kind, []).append(taken)
    if waited is not None:
        waited = (_waited_for_a_processor() or 0) - waited
        recorder.without_waiting.setdefault(kind, []).append(max(taken - waited, 0.0))
    if kind in ("lookup", "query"):
        seen = _bits(row[-1] for row in rows)
    recorder.reads.append((first, kind, probe if kind != "explain" else probe * _NODES + other, seen))


def _waited_for_a_processor() -> float | None:
    """Returns the seconds for which this thread has been ready to run and did not; None where nobody knows."""
    file = getattr(_own, "file", None)
    if file is None:
        try:
            file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        _own.file = file
        weakref.finalize(threading.current_thread(), os.close, file)
    return int(os.pread(file, 100, 0).split()[1]) / 1e9


def _bits(nodes: Iterable[int]) -> int:
    """Returns the number whose bits are these nodes."""
    found = 0
    for node in nodes:
        found |= 1 << node
    return found


def _is_of(state: _State, kind: str, where: int, seen: int) -> bool:
    """True if a read could have seen this in the state."""
    if kind == "len":
        return state.count == seen
    if kind == "explain":
        probe, other = divmod(where, _NODES)
        return state.rows[probe] >> other & 1 == seen
    return state.rows[where] == seen


def _every(recorder: _Recorder, seconds: float, work: Callable[[], None]) -> None:
    """Runs the work at a steady pace until the writer is done."""
    due = perf_counter()
    try:
        while not recorder.is_over.is_set():
            work()
            due = max(due + seconds, perf_counter() - seconds)
            sleep(max(0.0, due - perf_counter()))
    except BaseException as error:
        recorder.errors.append(error)


def _beside(recorder: _Recorder, writer: _Writer, works: list[tuple[float, Callable[[], None]]]) -> None:
    threads = [threading.Thread(target=_every, args=(recorder, *work)) for work in works]
    for thread in threads:
        thread.start()
    try:
        writer.run()
    finally:
        recorder.is_over.set()
        for thread in threads:
            thread.join()
    if recorder.errors:
        raise recorder.errors[0]


def _busy(seconds: float) -> None:
    """Uses so many seconds of the processor, in plain Python."""
    end, count = thread_time() + seconds, 0
    while thread_time() < end:
        for _ in range(20):
            count += 1


def _read_once(db: Database) -> None:
    """Reads in every way once, so that all modules are there."""
    relation = db.relation("Reach")
    relation.lookup(src=0)
    relation.to_arrow()
    for src, dst in db.query("Reach(x, y)", limit=1).rows:
        db.explain("Reach", (src, dst))


@contextmanager
def _frozen() -> Iterator[None]:
    """Keeps Python's garbage collector from searching what is there at the beginning of the block."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def readers(settings: Settings) -> Outcome:
    out = Outcome()
    program = tidelog.compile((PROGRAMS / "closure.dl").read_text())
    commits, large = settings.pick(20, 300, 1000), settings.pick(60, 1500, 6500)
    settings.say(f"{_GROUP}: {commits} commits, one of them large")
    db, recorder = program.open(threads=settings.threads), _Recorder()
    writer = _Writer(db, recorder, commits, large)
    _read_once(db)
    with _frozen(), db.snapshot() as pinned:
        before = pinned.relation("Reach").rows()
        rngs = [random.Random(seed) for seed in range(READERS)]
        works: list[tuple[float, Callable[[], None]]] = [
            (1 / READS_A_SECOND, partial(_read, db, recorder, rng)) for rng in rngs
        ]
        works.append((_SCAN_EVERY, partial(_scan, db, recorder)))
        _beside(recorder, writer, works)
        out.check(f"{_GROUP}: the snapshot", pinned.relation("Reach").rows() == before, True)
    wrong = sum(not any(_is_of(state, *read[1:]) for state in recorder.states[read[0] :]) for read in recorder.reads)
    out.check(f"{_GROUP}: reads that are of no committed epoch", wrong, 0)
    for kind, seconds in sorted(recorder.seconds.items()):
        out.case(_GROUP, f"{kind}, all reads", seconds)
        out.case(_GROUP, f"{kind}, the slowest", [max(seconds)])
        if kind in recorder.without_waiting:
            slowest = max(recorder.without_waiting[kind])
            out.case(_GROUP, f"{kind}, the slowest without waiting for a processor", [slowest])
    out.case(_GROUP, "the long commit", [writer.long_seconds])
    out.case(_GROUP, "a small commit", writer.seconds)
    beside = out.cases[-1]
    db.close()
    settings.say(f"{_GROUP}: the same beside plain Python")
    db, load = program.open(threads=settings.threads), _Recorder()
    writer = _Writer(db, load, commits, large)
    share, scan = recorder.cpu / max(len(recorder.reads), 1), recorder.scan_cpu / max(recorder.scans, 1)
    works = [(1 / READS_A_SECOND, partial(_busy, share))] * READERS
    _beside(load, writer, [*works, (_SCAN_EVERY, partial(_busy, scan))])
    out.case(_GROUP, "a small commit beside plain Python of equal processor time", writer.seconds, "Python")
    out.ratio(_GROUP, "commits beside readers / beside plain Python", beside, out.cases[-1])
    db.close()
    latencies = [each for seconds in recorder.seconds.values() for each in seconds]
    settings.say(f"median {1e3 * median(latencies):.2f} ms of {len(latencies)} reads")
    return out


def _scan(db: Database, recorder: _Recorder) -> None:
    used = thread_time()
    db.relation("Reach").to_arrow()
    recorder.scan_cpu += thread_time() - used
    recorder.scans += 1
