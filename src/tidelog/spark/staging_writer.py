"""A streaming write of the format `tidelog`: micro-batches → staged batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, TransactionError, UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.io.rows import to_batch
from tidelog.rules.ir import Role
from tidelog.rules.schema.arrow import is_option
from tidelog.spark.options import WriteOptions
from tidelog.spark.staging import StagedBatch, StagedFeed
from tidelog.spark.stored_relation import StoredRelation

OPERATION_COLUMNS = ("_change_type", "_op")


@dataclass(frozen=True, slots=True)
class WrittenPart(WriterCommitMessage):
    """The file that one task wrote; None without rows."""

    name: str | None


class StagingWriter(DataSourceStreamArrowWriter):
    """Stages the batches of one query. Each task checks that its rows fit the relation before it writes them."""

    def __init__(self, relation: StoredRelation, options: WriteOptions, schema: StructType) -> None:
        """Raises UsageError for a relation that takes no writes, DataError for columns that do not fit it."""
        self._relation = relation
        self._options = options
        self._schema = schema
        self._op = _operation_column(relation, options, schema.names)
        self._feed_name = _feed_name(options)
        _check(relation, self._op, schema.names)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        return WrittenPart(self._feed().write_part(map(self._checked, iterator), to_arrow_schema(self._schema)))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        files = tuple(each.name for each in messages if isinstance(each, WrittenPart) and each.name is not None)
        self._feed().publish(batchId, StagedBatch(self._relation.relation.name, self._op, files))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._feed().remove_parts(
            each.name for each in messages if isinstance(each, WrittenPart) and each.name is not None
        )

    def _feed(self) -> StagedFeed:
        return StagedFeed(StateDirectory(self._relation.target.path), self._feed_name)

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the batch. Raises DataError for a row that does not fit the relation."""
        table = pa.Table.from_batches([batch])
        rows = table if self._op is None else table.drop_columns(self._op)
        to_batch(rows, self._relation.relation, self._relation.definitions)
        return batch


def _check(relation: StoredRelation, op: str | None, given: Sequence[str]) -> None:
    declared = relation.relation
    if declared.role is not Role.INPUT:
        raise TransactionError(
            f"cannot write to `{declared.name}`: it is an {declared.role.value} relation, and its rows are derived",
            code=Code.WRITE_TO_DERIVED_RELATION,
            help="write to an input relation",
        )
    names = {column.name for column in declared.columns}
    needed = {column.name for column in declared.columns if not is_option(column.type)}
    unknown = [name for name in given if name not in names and name != op]
    missing = sorted(needed - set(given))
    if unknown or missing:
        what = f"has no column `{unknown[0]}`" if unknown else f"needs the column `{missing[0]}`"
        columns = [column.name for column in declared.columns]
        raise DataError(
            f"`{declared.name}` {what}",
            code=Code.WRONG_COLUMNS,
            help=did_you_mean(unknown[0], columns, f"the columns are {listed(columns)}")
            if unknown
            else f"the columns are {listed(columns)}",
        )


def _operation_column(relation: StoredRelation, options: WriteOptions, given: Sequence[str]) -> str | None:
    """Returns the column with the operation: the one that the option names, or one of the usual names."""
    if options.op is not None:
        if options.op not in given:
            raise UsageError(
                f"the DataFrame has no column `{options.op}`, which the option `op` names",
                code=Code.BAD_SOURCE_OPTION,
                help=did_you_mean(options.op, given, f"its columns are {listed(given)}"),
            )
        return options.op
    names = {column.name for column in relation.relation.columns}
    return next((name for name in OPERATION_COLUMNS if name in given and name not in names), None)


def _feed_name(options: WriteOptions) -> str:
    """Returns the name of the query in its checkpoint: the same whenever it goes on from there."""
    place = options.checkpoint
    if place is not None:
        try:
            filesystem, path = StateDirectory(place).opened
            with filesystem.open_input_stream(f"{path.rstrip('/')}/metadata") as stream:
                return str(json.loads(stream.read())["id"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
    raise UsageError(
        "the checkpoint of the streaming query cannot be read, and it has the name of the query",
        code=Code.BAD_SOURCE_OPTION,
        help='add `.option("checkpointLocation", "…")`, a folder that the driver can read',
    )
