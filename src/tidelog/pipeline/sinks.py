"""Outputs of a pipeline: change tables, snapshots, and the quarantine, on either engine.

A change table of files is exactly once. Its rows of epoch N are written to `_pending-N`, a name that readers ignore,
before the commit, and renamed to `epoch=N` after it:

    prepare    before the commit: writes the rows of epoch N
    publish    after the commit: makes them visible
    recover    at opening: publishes the rows of a committed epoch N, deletes those of others

So the rows of an epoch are visible if and only if it is committed, and the sum of all `epoch=N` is the relation. A
snapshot is written after the commit, and again at opening if it is of another epoch.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tidelog.diagnostics.spans import Source, Span
from tidelog.engine.interface import ChangeRows, Row
from tidelog.io.bad_rows import BadRecord
from tidelog.io.values import Value
from tidelog.rules.ir import Column, Kind, Relation, Role
from tidelog.types import STRING, BitType, SignedType, TimestampType

OP, WEIGHT, EPOCH = "_op", "_weight", "_epoch"
INSERTED, DELETED = "+", "-"

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"

QUARANTINE = Relation(
    "quarantine",
    tuple(Column(name, STRING) for name in ("relation", "place", "code", "reason", "record")),
    Role.OUTPUT,
    Span(Source("<quarantine>", ""), 0, 0),
)
"""The columns of the quarantine table, as a relation."""

_PENDING = re.compile(r"_pending-(\d+)")


class Sink(Protocol):
    """The target of one output relation."""

    relation: str

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        """Writes the changes of an epoch, invisible to readers, over those of an earlier attempt."""

    def publish(self, epoch: int) -> None:
        """Makes the changes of the committed epoch, or the relation as it is now, visible."""

    def begin(self, epoch: int) -> None:
        """Writes all present rows, for a new output or a new database."""

    def recover(self, epoch: int) -> None:
        """Completes the output of the epoch at which the database was opened."""


class Quarantine(Protocol):
    """The target of bad records."""

    def put(self, batch: str, bad: Sequence[tuple[str, BadRecord]]) -> None:
        """Writes the bad records of a batch, each with its relation, over those of an earlier attempt."""


@dataclass(frozen=True, slots=True)
class Sinks:
    """All outputs of a pipeline."""

    sinks: Mapping[str, Sink]

    def prepare(self, epoch: int, changes: Mapping[str, ChangeRows]) -> None:
        for name, rows in changes.items():
            if name in self.sinks:
                self.sinks[name].prepare(epoch, rows)

    def publish(self, epoch: int) -> None:
        for sink in self.sinks.values():
            sink.publish(epoch)

    def recover(self, epoch: int, known: Sequence[str]) -> None:
        """Recovers the sinks of `known` relations, which have the changes of earlier epochs, and begins the others."""
        for name, sink in self.sinks.items():
            if name in known:
                sink.recover(epoch)
            else:
                sink.begin(epoch)


def pending(epoch: int) -> str:
    """Returns the name of the folder of an epoch's changes before its commit; Hadoop's readers ignore it."""
    return f"_pending-{epoch}"


def published(epoch: int) -> str:
    """Returns the name of the folder of an epoch's changes after its commit."""
    return f"epoch={epoch}"


def pending_epoch(name: str) -> int | None:
    """Returns the epoch of a folder that `pending` named."""
    found = _PENDING.fullmatch(name)
    return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """The columns of a change table behind those of the relation: the operation, the weight (unless it is always one),
    the epoch, and in Delta's style the time."""

    is_delta: bool
    words: tuple[str, str]
    """For a deleted and an inserted row."""

    def of(self, relation: Relation) -> tuple[Column, ...]:
        """Returns the columns for a relation."""
        weight = () if relation.kind is Kind.SET else (Column(WEIGHT, BitType(64)),)
        if not self.is_delta:
            return (Column(OP, STRING), *weight, Column(EPOCH, BitType(64)))
        more = (Column(COMMIT_VERSION, SignedType(64)), Column(COMMIT_TIMESTAMP, TimestampType()))
        return (Column(CHANGE_TYPE, STRING), *weight, *more)

    def values(self, epoch: int) -> tuple[Value, ...]:
        """Returns the values of the columns behind the operation and the weight, for changes of now."""
        return (epoch, value_of_now()) if self.is_delta else (epoch,)


CHANGE_COLUMNS = {
    "tidelog": ChangeColumns(is_delta=False, words=(DELETED, INSERTED)),
    "delta": ChangeColumns(is_delta=True, words=("delete", "insert")),
}
"""The styles of change columns, by the setting `change_columns`."""


def change_relation(relation: Relation, style: str = "tidelog") -> Relation:
    """Returns the relation plus the columns of a change table."""
    return replace(relation, columns=(*relation.columns, *CHANGE_COLUMNS[style].of(relation)), key=None, key_type=None)


def change_rows(relation: Relation, epoch: int, rows: Iterable[tuple[Row, int]], style: str = "tidelog") -> list[Row]:
    """Returns the rows of `change_relation` for rows and the changes of their weights."""
    is_set, columns = relation.kind is Kind.SET, CHANGE_COLUMNS[style]
    last = columns.values(epoch)
    return [(*row, columns.words[weight > 0], *(() if is_set else (abs(weight),)), *last) for row, weight in rows]


def value_of_now() -> Value:
    """Returns the present moment as a value of `timestamp`."""
    return time.time_ns() // 1000


def quarantined(bad: Sequence[tuple[str, BadRecord]]) -> list[Row]:
    """Returns the rows of the quarantine table."""
    return [(relation, each.place, each.error.code, each.error.message, each.text) for relation, each in bad]
