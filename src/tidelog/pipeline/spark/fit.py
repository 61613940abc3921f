"""Records of a starting table → rows that fit the relation, in the tasks that read them; the driver gets only bad ones.

Columns that Spark reads with types of their own are fitted as whole Arrow columns. Cells and JSON are fitted one by
one, by the reader of feeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.errors import DataError
from tidelog.engine.spark.encoding.columns import shown_type, stored_type
from tidelog.engine.spark.task_errors import CarriedError
from tidelog.io.bad_rows import BadRecord
from tidelog.io.rows import to_table
from tidelog.io.tables import fit_parts
from tidelog.pipeline.addresses import shown_place
from tidelog.pipeline.operations import OperationReader
from tidelog.pipeline.settings import Feed
from tidelog.pipeline.spark.feeds import records_of
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import arrow_schema, arrow_type, plain_type, with_plain_columns
from tidelog.types import BitType, ScaledType, SignedType, Type
from tidelog.values import Definitions

_ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "decimal(20,0)": pa.decimal128(20, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}


def _arrow(type_: Type) -> pa.DataType:
    """Returns the Arrow type that Spark takes for a column of DataFrames."""
    return arrow_type(type_) if isinstance(plain_type(type_), ScaledType) else _ARROW[stored_type(type_)]


def bad_column(relation: Relation) -> str:
    """Returns the name of the column that describes a bad row; no column of the relation has it."""
    name, taken = "_bad", {column.name for column in relation.columns}
    while name in taken:
        name += "_"
    return name


def fit_frame(frame: Any, feed: Feed, relation: Relation, definitions: Definitions, *, skip: bool) -> Any:
    """Returns the rows of a plain relation, with its columns and `bad_column`, which describes a row that does not fit
    and is null for the others. Without `skip` the first bad row fails the job that reads the frame.
    """
    relation = with_plain_columns(relation)
    columns = ", ".join(f"`{column.name}` {shown_type(column.type)}" for column in relation.columns)
    schema = f"{columns}{', ' if columns else ''}{bad_column(relation)} string"
    return frame.mapInArrow(fitting(feed, relation, definitions, skip=skip), schema)


def fitting(
    feed: Feed, relation: Relation, definitions: Definitions, *, skip: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function that fits the batches of records of a task."""

    def fit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fitter = _Fitter(feed, relation, definitions, skip)
        for batch in batches:
            yield from fitter.fit(batch.column(0)).to_batches()

    return fit


def bad_record(description: str) -> BadRecord:
    """Returns the bad record that a task has described."""
    found = json.loads(description)
    return BadRecord(found["place"], found["text"], DataError(found["message"], code=found["code"], help=found["help"]))


@dataclass(slots=True)
class _Fitter:
    feed: Feed
    relation: Relation
    definitions: Definitions
    skip: bool

    def fit(self, records: pa.StructArray) -> pa.Table:
        bad: list[str] = []
        has_columns = any(field.name == "row" for field in records.type)
        good = self._fit_columns(records, bad) if has_columns else self._fit_records(records, bad)
        return pa.concat_tables([self._shown(good, [None] * good.num_rows), self._of_bad(bad)])

    def _fit_columns(self, records: pa.StructArray, bad: list[str]) -> pa.Table:
        table = pa.Table.from_struct_array(records.field("row"))
        missing = [column.name for column in self.relation.columns if column.name not in table.column_names]
        if not missing:
            table = table.select([column.name for column in self.relation.columns])
            table = without_decimals(table, self.relation)
        places = [shown_place(each) for each in records.field("place").to_pylist()]
        try:
            on_bad = partial(self._note, bad)
            parts = list(fit_parts(table, self.relation, self.definitions, places.__getitem__, on_bad))
        except DataError as error:
            raise CarriedError(error) from None
        return pa.concat_tables([arrow_schema(self.relation).empty_table(), *parts])

    def _fit_records(self, records: pa.StructArray, bad: list[str]) -> pa.Table:
        reader = OperationReader(self.feed, self.relation, self.definitions)
        found = records_of(records.to_pylist(), self.feed, self.relation)
        operations = reader.read_all(found, partial(self._note, bad))
        return to_table([operation.row for operation in operations], self.relation)

    def _note(self, bad: list[str], record: BadRecord) -> None:
        error = record.error
        if not self.skip:
            raise CarriedError(error)
        described = {
            "place": record.place,
            "text": record.text,
            "message": error.message,
            "code": error.code,
            "help": error.help,
        }
        bad.append(json.dumps(described))

    def _shown(self, table: pa.Table, bad: list[str | None]) -> pa.Table:
        names = [column.name for column in self.relation.columns]
        arrays = [table.column(place).cast(_arrow(column.type)) for place, column in enumerate(self.relation.columns)]
        return pa.table([*arrays, pa.array(bad, pa.string())], names=[*names, bad_column(self.relation)])

    def _of_bad(self, bad: list[str]) -> pa.Table:
        arrays = [pa.nulls(len(bad), _arrow(column.type)) for column in self.relation.columns]
        names = [column.name for column in self.relation.columns]
        return pa.table([*arrays, pa.array(bad, pa.string())], names=[*names, bad_column(self.relation)])


def without_decimals(table: pa.Table, relation: Relation) -> pa.Table:
    """Returns the table with integers instead of the decimals that Spark needs for `u64`.

    A column with a number that is too large stays as it is, for `fit_table` to report.
    """
    for place, column in enumerate(relation.columns):
        found, type_ = table.column(place), column.type
        is_word = isinstance(type_, BitType | SignedType) and type_.width <= 64
        if is_word and pa.types.is_decimal(found.type) and found.type.scale == 0:
            with suppress(pa.ArrowInvalid):
                integers = found.cast(pa.uint64() if isinstance(type_, BitType) else pa.int64())
                table = table.set_column(place, column.name, integers)
    return table
