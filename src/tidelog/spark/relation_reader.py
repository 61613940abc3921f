"""A batch read of the format `tidelog`: filters → look-ups, parts → Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, EqualNullSafe, EqualTo, Filter, InputPartition

from tidelog.spark.stored_relation import Part, StoredRelation

_ROWS_AT_ONCE = 65_536


class RelationReader(DataSourceReader):
    """Reads one relation. Filters that compare a column with one value become a look-up; Spark applies the others."""

    def __init__(self, relation: StoredRelation, epoch: int | None = None) -> None:
        self._relation = relation
        self._epoch = epoch
        self._key: dict[str, Any] = {}

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (PySpark's name)
        for each in filters:
            if not self._takes(each):
                yield each

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in self._relation.parts(self._epoch)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = partition.value
        assert isinstance(part, Part)
        yield from self._relation.read(part, self._key).to_batches(max_chunksize=_ROWS_AT_ONCE)

    def _takes(self, each: Filter) -> bool:
        """Adds a filter to the key, if it says that a column has one value; another value of it is left to Spark."""
        if not isinstance(each, EqualTo | EqualNullSafe) or len(each.attribute) != 1:
            return False
        (name,) = each.attribute
        if name in self._key or not self._relation.can_look_up(name, each.value):
            return False
        self._key[name] = each.value
        return True
