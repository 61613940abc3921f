"""What becomes of the rows that a pipeline makes: change tables, snapshots, and the quarantine, on either engine.

A change table of files is exactly once. Its rows of epoch N are written to `_pending-N`, a name that readers leave
alone, before the commit, and renamed to `epoch=N` after it:

    prepare    the rows of epoch N, before the commit
    publish    they are visible; the commit is done
    recover    at opening: what the commit of epoch N should have published is published, the rest is forgotten

So whether an epoch's rows are visible follows from whether it is committed, and the sum of all `epoch=N` is the
relation. A snapshot is written after the commit, and again at opening if it is of another epoch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tidelog.diagnostics.spans import Source, Span
from tidelog.engine.interface import ChangeRows
from tidelog.pipeline.records import BadRecord
from tidelog.rules.ir import Column, Kind, Relation, Role
from tidelog.types import STRING, BitType

OP, WEIGHT, EPOCH = "_op", "_weight", "_epoch"
INSERTED, DELETED = "+", "-"

QUARANTINE = Relation(
    "quarantine",
    tuple(Column(name, STRING) for name in ("relation", "place", "code", "reason", "record")),
    Role.OUTPUT,
    Span(Source("<quarantine>", ""), 0, 0),
)
"""The columns of the quarantine table, as a relation."""

_PENDING = re.compile(r"_pending-(\d+)")


class Sink(Protocol):
    """Where one output relation goes."""

    relation: str

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        """Writes what an epoch changed where nobody sees it yet; what was there of an earlier attempt is gone."""

    def publish(self, epoch: int) -> None:
        """The epoch is committed: what it changed is to be seen, or the relation as it is now."""

    def begin(self, epoch: int) -> None:
        """The output is new, or the database is: it begins with all rows that there are."""

    def recover(self, epoch: int) -> None:
        """The database was opened at an epoch."""


class Quarantine(Protocol):
    """Where bad records go."""

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
        """`known` are the relations whose sinks have had the changes of earlier epochs."""
        for name, sink in self.sinks.items():
            if name in known:
                sink.recover(epoch)
            else:
                sink.begin(epoch)


def pending(epoch: int) -> str:
    """The name of the folder with an epoch's changes before its commit; no reader of Hadoop's kind looks into it."""
    return f"_pending-{epoch}"


def published(epoch: int) -> str:
    """The name of the folder with an epoch's changes after its commit."""
    return f"epoch={epoch}"


def pending_epoch(name: str) -> int | None:
    """The epoch of a folder that `pending` named."""
    found = _PENDING.fullmatch(name)
    return int(found[1]) if found else None


def change_relation(relation: Relation) -> Relation:
    """The columns of a change table: those of the relation, the operation, the epoch; the weight, where it may not be
    one."""
    weight = () if relation.kind is Kind.SET else (Column(WEIGHT, BitType(64)),)
    columns = (*relation.columns, Column(OP, STRING), *weight, Column(EPOCH, BitType(64)))
    return replace(relation, columns=columns, key=None, key_type=None)


def quarantined(bad: Sequence[tuple[str, BadRecord]]) -> list[tuple[Any, ...]]:
    """The rows of the quarantine table."""
    return [(relation, each.place, each.error.code, each.error.message, each.text) for relation, each in bad]
