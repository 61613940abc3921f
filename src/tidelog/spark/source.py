"""The format `tidelog`: options → a schema, a reader or a writer.

Spark plans in a Python process of its own, which makes the source and its reader, and sends the reader to its tasks.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceStreamWriter
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.spark.change_reader import ChangeReader, ChangeStreamReader, StoredChanges
from tidelog.spark.options import ReadOptions, WriteOptions
from tidelog.spark.relation_reader import RelationReader
from tidelog.spark.staging_writer import StagingWriter
from tidelog.spark.stored_relation import StoredRelation


class TidelogSource(DataSource):
    """A relation of a database in a directory, or its changes; `spark/options.py` has the options."""

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        options = self._read_options()
        relation = StoredRelation.find(options.target)
        found = relation if options.changes is None else StoredChanges(relation, options)
        schema: StructType = from_arrow_schema(found.arrow_schema)
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        options = self._read_options()
        relation = StoredRelation.find(options.target)
        if options.changes is None:
            return RelationReader(relation, options.epoch)
        return ChangeReader(StoredChanges(relation, options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (PySpark's name)
        options = self._read_options()
        if options.changes is None:
            raise UsageError(
                "a stream of the format `tidelog` has the changes of a relation, with change columns",
                code=Code.BAD_SOURCE_OPTION,
                help='add `.option("changes", "true")`, or `"delta"` for the column names of Delta',
            )
        return ChangeStreamReader(StoredChanges(StoredRelation.find(options.target), options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        given: Any = self.options
        options = WriteOptions.of(given)
        return StagingWriter(StoredRelation.find(options.target), options, schema)

    def _read_options(self) -> ReadOptions:
        given: Any = self.options
        return ReadOptions.of(given)
