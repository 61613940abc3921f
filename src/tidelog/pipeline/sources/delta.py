"""A Delta table as a source with positions: versions of the table (`tidelog.lake.delta_table`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tidelog.lake.delta_log import DeltaLog
from tidelog.lake.delta_table import DeltaChanges
from tidelog.lake.parquet_part import ParquetPart
from tidelog.pipeline.records import Record
from tidelog.pipeline.settings import Feed, Place
from tidelog.pipeline.sources.exact_types import refuse_rounding
from tidelog.pipeline.sources.inserted_records import inserted_records
from tidelog.pipeline.sources.source import Position, RowChanges
from tidelog.rules.ir import Relation

MOST_VERSIONS = "maxVersionsPerTrigger"


def open_source(place: Place, relation: Relation, feed: Feed | None) -> DeltaSource:
    """Returns the source of a feed or starting table."""
    assert place.path is not None
    is_records = feed is not None and bool(feed.op or feed.is_envelope)
    columns = None if is_records else [column.name for column in relation.columns]
    most = int(place.options.get(MOST_VERSIONS, 0)) or None
    return DeltaSource(relation, DeltaLog(place.path, place.name, {}), columns, most, only_appends=is_records)


class DeltaSource(DeltaChanges):
    """Implements `Source` and `PartedSource`. The other parameters are those of `DeltaChanges`."""

    def __init__(
        self, relation: Relation, log: DeltaLog, columns: Sequence[str] | None, *more: Any, **named: Any
    ) -> None:
        super().__init__(log, columns, *more, **named)
        self._relation = relation

    @property
    def gives_records(self) -> bool:
        """True if each inserted row is a record with an operation."""
        return self._only_appends

    def read(self, begin: Position | None, end: Position) -> Iterator[RowChanges] | Iterator[Record]:
        changes = (each for part in self.parts(begin, end) for each in part())
        return inserted_records(changes) if self.gives_records else changes

    def parts(self, begin: Position | None, end: Position) -> Sequence[ParquetPart]:
        found = super().parts(begin, end)
        if not self.gives_records:
            for part in found:
                refuse_rounding(self._relation, part.types, part.place)
        return found

    def acknowledge(self, position: Position) -> None:
        pass  # the table keeps its versions for as long as its own settings say

    def close(self) -> None:
        pass
