"""Changes of rows that tasks have staged → the operations of a transaction, without the rows in the driver.

The same arithmetic as in `net_changes`, as DataFrames: signs add up by row; a row of the relation counts as its copies
(one, and those beyond the first); its number after the batch says whether it is inserted, deleted or left. The driver
reads only the numbers of copies that change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tidelog.database.transactions.transaction import Transaction
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.scaled import from_files
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.scan import named, scan_files, scan_rows
from tidelog.engine.spark.storage.state_files import TOTAL, Stored, positional, value_names
from tidelog.engine.spark.task_errors import spark_errors
from tidelog.io.values import Row
from tidelog.pipeline.net_changes import NetChanges
from tidelog.pipeline.spark.stage_parts import StagedRows
from tidelog.rules.ir import Relation
from tidelog.rules.schema.stored import stored_rows, stored_schema, stored_table
from tidelog.values import Definitions

_THERE, _BEYOND, _BEFORE, _AFTER = "_there", "_beyond", "_before", "_after"


@dataclass(slots=True)
class StagedChanges:
    """Staged rows of a relation in an open database; `stored` are its committed facts.

    `kept` are frames that Spark keeps until `release`.
    """

    spark: Any
    directory: StateDirectory
    epoch: int
    relation: Relation
    definitions: Definitions
    stored: Stored | None
    kept: list[Any] = field(default_factory=list)

    def net(self, staged: StagedRows) -> Any:
        """Returns the rows whose number changes, with the change as `_total`."""
        rows = scan_files(self.spark, self.directory, self.relation, staged.files)
        by_row = rows.groupBy(*value_names(self.relation)).agg(f.sum(TOTAL).cast("long").alias(TOTAL))
        net = by_row.filter(f.col(TOTAL) != 0).persist()
        self.kept.append(net)
        return net

    def count(self, frame: Any) -> int:
        """Returns the number of rows of a frame."""
        with spark_errors():
            return int(frame.count())

    def weights(self, net: Any) -> dict[Row, int]:
        """Reads rows with their changes."""
        return self._numbers(net, TOTAL)

    def load(self, tx: Transaction, net: Any) -> dict[Row, int]:
        """Inserts the rows; returns those with copies beyond the first."""
        tx.insert(self.relation.name, self._shown(net.filter(f.col(TOTAL) > 0)))
        beyond = net.filter(f.col(TOTAL) > 1).withColumn(_BEYOND, f.col(TOTAL) - 1)
        return self._numbers(beyond, _BEYOND)

    def take(self, tx: Transaction, net: Any, copies: Mapping[Row, int]) -> NetChanges:
        """Writes the changes; returns the numbers of copies that change, and the deletes of unknown rows."""
        values = value_names(self.relation)
        present = scan_rows(self.spark, self.directory, self.relation, self.stored).withColumn(_THERE, f.lit(1))
        beyond = f.coalesce(f.col(_BEYOND), f.lit(0))
        known = net.join(present, values, "left").join(self._copies(copies), values, "left")
        before = f.when(f.col(_THERE).isNotNull(), beyond + 1).otherwise(0).cast("long")
        counted = known.withColumn(_BEYOND, beyond).withColumn(_BEFORE, before)
        counted = counted.withColumn(_AFTER, f.col(_BEFORE) + f.col(TOTAL)).persist()
        self.kept.append(counted)
        was, now = f.col(_BEFORE), f.col(_AFTER)
        found = NetChanges()
        left = f.greatest(now - 1, f.lit(0))
        found.copies = self._numbers(counted.filter(left != f.col(_BEYOND)).withColumn(_BEYOND, left), _BEYOND)
        unknown = counted.filter(now < 0)
        found.unknown = self.count(unknown)
        if found.unknown:
            found.first = next(iter(self._numbers(unknown.orderBy(*values).limit(1), TOTAL)))
        tx.delete(self.relation.name, self._shown(counted.filter((was > 0) & (now <= 0))))
        tx.insert(self.relation.name, self._shown(counted.filter((was == 0) & (now > 0))))
        return found

    def release(self) -> None:
        """Frees the frames, after the epoch."""
        for frame in self.kept:
            frame.unpersist()
        self.kept = []

    def _shown(self, frame: Any) -> Any:
        """Returns rows as users write them."""
        return named(frame.select(*value_names(self.relation)), self.relation, self.definitions)

    def _numbers(self, frame: Any, column: str) -> dict[Row, int]:
        """Reads the rows of a frame, few, each with its number in a column."""
        names = value_names(self.relation)
        with spark_errors():
            found = frame.select(*names, column).toArrow()
        schema = pa.schema([each.with_nullable(True) for each in stored_schema(positional(self.relation))])
        rows = stored_rows(from_files(found.select(names), schema), self.relation, self.definitions)
        return dict(zip(rows, found.column(column).to_pylist(), strict=True))

    def _copies(self, copies: Mapping[Row, int]) -> Any:
        """Returns the rows with copies beyond the first, as a frame over a staged file."""
        files = []
        if copies:
            table = stored_table(list(copies), self.relation, self.definitions)
            numbers = pa.array(list(copies.values()), pa.int64())
            columns = pa.Table.from_arrays([*table.columns, numbers], names=[*value_names(self.relation), TOTAL])
            files.append(self.directory.new_name(self.epoch, self.relation.name, "staged"))
            self.directory.write(files[0], columns)
        frame = scan_files(self.spark, self.directory, self.relation, files)
        return frame.select(*value_names(self.relation), f.col(TOTAL).alias(_BEYOND))
