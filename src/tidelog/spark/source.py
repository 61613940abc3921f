"""The format `tidelog`: options → a schema and a reader.

Spark plans in a Python process of its own, which makes the source and its reader, and sends the reader to its tasks.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamWriter
from pyspark.sql.types import StructType

from tidelog.spark.options import ReadOptions, WriteOptions
from tidelog.spark.relation_reader import RelationReader
from tidelog.spark.staging_writer import StagingWriter
from tidelog.spark.stored_relation import StoredRelation


class TidelogSource(DataSource):
    """A relation of a database in a directory; `spark/options.py` has the options."""

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        return self._relation().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return RelationReader(self._relation())

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        options = WriteOptions.of(self._given)
        return StagingWriter(StoredRelation.find(options.target), options, schema)

    def _relation(self) -> StoredRelation:
        return StoredRelation.find(ReadOptions.of(self._given))

    @property
    def _given(self) -> Any:
        return self.options
