"""An Iceberg table as a source with positions: snapshots of the table (`tidelog.lake.iceberg_table`).

Options that begin with `catalog.` are the properties of pyiceberg's catalog: `catalog.type`, `catalog.uri` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidelog.lake.iceberg_table import IcebergChanges
from tidelog.pipeline.records import Record
from tidelog.pipeline.settings import Feed, Place
from tidelog.pipeline.sources.exact_types import refuse_rounding
from tidelog.pipeline.sources.inserted_records import inserted_records
from tidelog.pipeline.sources.source import Part, Position, RowChanges
from tidelog.rules.ir import Relation

MOST_SNAPSHOTS = "maxSnapshotsPerTrigger"
TABLE, CATALOG = "table", "catalog."


def open_source(place: Place, relation: Relation, feed: Feed | None) -> IcebergSource:
    """Returns the source of a feed or starting table."""
    is_records = feed is not None and bool(feed.op or feed.is_envelope)
    columns = None if is_records else [column.name for column in relation.columns]
    most = int(place.options.get(MOST_SNAPSHOTS, 0)) or None
    table, catalog = place.options[TABLE], catalog_properties(place)
    return IcebergSource(relation, table, catalog, columns, most, only_appends=is_records)


def catalog_properties(place: Place) -> Mapping[str, str]:
    """Returns the properties of the catalog in the options of a place."""
    return {name[len(CATALOG) :]: value for name, value in place.options.items() if name.startswith(CATALOG)}


class IcebergSource(IcebergChanges):
    """Implements `Source` and `PartedSource`. The other parameters are those of `IcebergChanges`."""

    def __init__(self, relation: Relation, table: str, *more: Any, **named: Any) -> None:
        super().__init__(table, *more, **named)
        self._relation = relation

    @property
    def gives_records(self) -> bool:
        """True if each inserted row is a record with an operation."""
        return self._only_appends

    def read(self, begin: Position | None, end: Position) -> Iterator[RowChanges] | Iterator[Record]:
        changes = (each for part in self.parts(begin, end) for each in part())
        return inserted_records(changes) if self.gives_records else changes

    def parts(self, begin: Position | None, end: Position) -> Sequence[Part]:
        found = super().parts(begin, end)
        if found and not self.gives_records:
            refuse_rounding(self._relation, self.types(end), self._name)
        return found

    def acknowledge(self, position: Position) -> None:
        pass  # the table keeps its snapshots until somebody expires them

    def close(self) -> None:
        pass
