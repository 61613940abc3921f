"""Shared steps of GALEN, CRDT and points-to: load the facts, change some of them and undo it, check, time.

The counts after loading are known, or computed by the benchmark's own oracle, or by peers. After the changes are undone
the counts must be the same, and while a set of facts is deleted they are those of a database that never had them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.machine import peak_memory
from tidelog.bench.measure import (
    Outcome,
    Ratio,
    Subject,
    Tables,
    counts_of,
    one_by_one,
    take,
    warm,
)
from tidelog.bench.references.peers import beside

# Checking an update by a recompute costs a Bootstrap; above this many seconds only the undo is checked.
_RECHECK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Work:
    """One program on one dataset. `expected`: the counts that the facts must give, if they are known."""

    program: str
    data: Dataset
    results: Sequence[str]
    expected: Callable[[Dataset], Mapping[str, int]]


class Maintained:
    """A loaded subject whose changes are timed and checked."""

    def __init__(self, settings: Settings, out: Outcome, work: Work) -> None:
        self._settings, self._out, self._work = settings, out, work
        self._name = work.data.name
        out.inputs.append(work.data.describe())
        warm(work.program, work.data.tables)
        seconds = []
        with peak_memory(out.memory_mb, self._name):
            for turn in range(settings.repeat):
                settings.say(f"{self._name}: Bootstrap{f' {turn + 1}' if turn else ''}")
                self._subject = Subject(work.program, threads=settings.threads)
                seconds.append(self._subject.change(inserts=work.data.tables))
                if turn + 1 < settings.repeat:
                    self._subject.close()
        self._counts, self._bytes = self._now(), self._subject.bytes
        for relation, rows in {**work.expected(work.data), **work.data.known}.items():
            out.check(f"{self._name}: rows of {relation}", self._counts[relation], rows)
        self._bootstrap = out.case(self._name, "Bootstrap", seconds, rows=sum(self._counts.values()))
        beside(settings, work.program, work.data, self._bootstrap, self._counts, out)

    def single(self, relation: str, times: int) -> None:
        """Times deleting and inserting again single rows of a relation."""
        self._settings.say(f"{self._name}: single rows of {relation}")
        table = self._work.data.tables[relation]
        picks = np.random.default_rng(SEED + 1).permutation(table.num_rows)[:times]
        deletes, inserts = one_by_one(self._subject, relation, take(table, picks))
        self._note(f"one row of {relation}", deletes, inserts)

    def sets(self, what: str, parts: Sequence[Tables]) -> None:
        """Times deleting and inserting again sets of facts."""
        self._settings.say(f"{self._name}: {what}")
        deletes, inserts = [], []
        for number, part in enumerate(parts):
            deletes.append(self._subject.change(deletes=part))
            if number == 0 and self._bootstrap.median < _RECHECK_SECONDS:
                self._recheck(what, part)
            inserts.append(self._subject.change(inserts=part))
        self._note(what, deletes, inserts)

    def memory_beside(self, strategy: str) -> None:
        """Adds the ratio of the state's memory after Bootstrap and that of another strategy."""
        self._settings.say(f"{self._name}: Bootstrap, {strategy}")
        with peak_memory(self._out.memory_mb, f"{self._name}, {strategy}"):
            other = Subject(self._work.program, strategy)
            seconds = other.change(inserts=self._work.data.tables)
        self._out.check(f"{self._name}: rows, {strategy}", other.counts(self._work.results), self._counts)
        self._out.case(self._name, "Bootstrap", (seconds,), strategy, self._bootstrap.rows)
        self._out.ratios.append(
            Ratio(self._name, f"memory of the state, elastic / {strategy}", self._bytes / other.bytes)
        )
        other.close()

    def close(self) -> None:
        self._subject.close()

    def _note(self, what: str, deletes: list[float], inserts: list[float]) -> None:
        self._out.check(f"{self._name}: rows after inserting {what} again", self._now(), self._counts)
        self._out.case(self._name, f"delete {what}", deletes)
        self._out.case(self._name, f"insert {what}", inserts)

    def _recheck(self, what: str, part: Tables) -> None:
        expected = counts_of(self._work.program, without(self._work.data.tables, part), self._work.results)
        self._out.check(f"{self._name}: rows without {what}", self._now(), expected)

    def _now(self) -> dict[str, int]:
        return self._subject.counts(self._work.results)


def without(tables: Tables, part: Tables) -> dict[str, pa.Table]:
    """Returns the tables without the rows of the part."""
    rest = dict(tables)
    for name, rows in part.items():
        rest[name] = tables[name].join(rows, keys=tables[name].column_names, join_type="left anti")
    return rest


def share_of(table: pa.Table, share: float, seed: int) -> pa.Table:
    """Returns a random part of the rows, at least one."""
    count = max(1, int(share * table.num_rows))
    return take(table, np.random.default_rng(seed).permutation(table.num_rows)[:count])


def facts_of(tables: Tables, count: int, seed: int) -> dict[str, pa.Table]:
    """Returns so many random facts of all relations together, by relation."""
    names = list(tables)
    sizes = [tables[name].num_rows for name in names]
    starts = np.cumsum([0, *sizes])
    picks = np.sort(np.random.default_rng(seed).permutation(int(starts[-1]))[:count])
    found = {}
    for at, name in enumerate(names):
        own = picks[(picks >= starts[at]) & (picks < starts[at + 1])] - starts[at]
        if len(own):
            found[name] = take(tables[name], own)
    return found
