"""An output relation → a table of a lake: one version for each epoch that changes the relation, exactly once.

| mode | table |
| --- | --- |
| `snapshot` (the default) | the rows of the relation; those of a multiset have their `_weight` |
| `changes` | a row for each inserted or deleted row, with the change columns; rows are only appended |

The changes of an epoch are staged before its commit and applied after it (`staged`). The commit of a version also
stores the id of this output and the number of the epoch in the table. So a version that was written before a crash is
not written again.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.database.database import Database
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.engine.interface import ChangeRows
from tidelog.io.replace_file import writing
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.lake_types import lake_schema
from tidelog.pipeline.lake.staged import DELETED, INSERTED, WEIGHTS, Staged
from tidelog.pipeline.settings import Output
from tidelog.pipeline.sources.formats import require
from tidelog.rules.ir import Kind, Relation
from tidelog.values import Definitions


class LakeSink(ABC):
    """Implements `Sink`. `outbox` is the folder for staged changes; with `in_tasks`, the tasks of Spark write them."""

    def __init__(
        self,
        output: Output,
        relation: Relation,
        definitions: Definitions,
        database: Database,
        outbox: Path,
        *,
        in_tasks: bool = False,
    ) -> None:
        """Raises DataError for a type that the format does not have."""
        require(output.place.format)
        self.relation = relation.name
        self._place = output.place
        self._relation = relation
        self._definitions = definitions
        self._is_maintained = output.is_snapshot
        self._style = output.change_columns
        self._database = database
        self._in_tasks = in_tasks
        schema = lake_schema(relation, definitions, output.place.format)
        self._staged = Staged(outbox / relation.name, relation, definitions, schema)

    @abstractmethod
    def _table(self) -> Any | None:
        """Returns the table as it is now; None if it does not exist."""

    @abstractmethod
    def _create(self) -> Any:
        """Makes the table, without rows."""

    @abstractmethod
    def _check_columns(self, table: Any) -> None:
        """Raises DataError if the table has other columns than `_columns`."""

    @abstractmethod
    def _is_empty(self, table: Any) -> bool:
        """True if the table has no rows."""

    @abstractmethod
    def _is_own(self, table: Any) -> bool:
        """True if a pipeline has made the table for this relation, so that its rows may be replaced."""

    @abstractmethod
    def _applied(self, table: Any) -> int:
        """Returns the last epoch of this output in the table, or 0."""

    @abstractmethod
    def _apply(self, table: Any, epoch: int) -> None:
        """Writes the version of an epoch."""

    @abstractmethod
    def _replace(self, table: Any, epoch: int) -> None:
        """Writes a version that has the staged rows and no others."""

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        self._staged.write(epoch, rows, in_tasks=self._in_tasks)

    def publish(self, epoch: int) -> None:
        if self._staged.exists(epoch):
            table = self._table()
            if table is None:
                raise DataError(
                    f"{self._place.name}: the table of `{self.relation}` no longer exists",
                    code=Code.OTHER_SOURCE,
                    help="run the pipeline again: it makes the table anew, with all rows",
                )
            if self._applied(table) < epoch:
                self._apply(table, epoch)
        self._staged.forget()

    def begin(self, epoch: int) -> None:
        table = self._table()
        if table is None:
            table = self._create()
        self._check_columns(table)
        if self._applied(table) == epoch > 0:
            self._staged.forget()
            return
        is_empty = self._is_empty(table)
        if not is_empty and not self._is_own(table):
            raise DataError(
                f"{self._place.name}: the table has rows that are not those of `{self.relation}`",
                code=Code.OTHER_SOURCE,
                help="give the output a path of its own, or an empty table",
            )
        view = self._database.relation(self.relation)
        if not len(view) and is_empty:
            return
        self._staged.forget()
        self._staged.write_all(epoch, view, in_tasks=self._in_tasks)
        self._replace(table, epoch)
        self._staged.forget()

    def recover(self, epoch: int) -> None:
        self._staged.forget(but=epoch)
        table = self._table()
        if table is None:
            self.begin(epoch)
            return
        self._check_columns(table)
        if self._applied(table) > epoch:
            raise DataError(
                f"{self._place.name}: the table has epoch {self._applied(table)} of `{self.relation}`, and the state"
                f" has epoch {epoch}",
                code=Code.OTHER_SOURCE,
                help="the state is an older copy: give the pipeline a new `state`, and the output a new path",
            )
        self.publish(epoch)

    # Rows of versions

    def _description(self) -> str:
        """Returns the description of a table that may be replaced by a new state."""
        return f"The relation {self.relation}, kept by Tidelog."

    def _columns(self) -> pa.Schema:
        """Returns the columns of the table."""
        schema = self._staged.schema
        if not self._is_maintained:
            return pa.schema([*schema, *self._change_fields()])
        return schema if self._relation.kind is Kind.SET else schema.append(pa.field(sinks.WEIGHT, pa.int64()))

    def _change_fields(self) -> list[pa.Field]:
        return list(lake_schema(sinks.change_relation(self._relation, self._style), self._definitions, "delta"))[
            len(self._relation.columns) :
        ]

    def _begun(self, epoch: int) -> Iterator[pa.RecordBatch]:
        if not self._is_maintained:
            return self._changes(epoch)
        return self._staged.read(epoch, INSERTED if self._relation.kind is Kind.SET else WEIGHTS)

    def _changes(self, epoch: int) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a table of changes."""
        import pyarrow.compute as pc

        fields, style = self._change_fields(), sinks.CHANGE_COLUMNS[self._style]
        deleted, inserted = style.words
        last = style.values(epoch)
        schema = self._columns()
        for kind in (DELETED, INSERTED, WEIGHTS):
            for batch in self._staged.read(epoch, kind):
                columns = list(batch.columns[: len(self._staged.schema)])
                if kind == WEIGHTS:
                    weights = batch.column(batch.num_columns - 1)
                    words = pc.if_else(pc.less(weights, 0), deleted, inserted)
                    columns += [words, pc.abs(weights).cast(fields[1].type)]
                else:
                    columns.append(pa.repeat(inserted if kind == INSERTED else deleted, batch.num_rows))
                for value, field in zip(last, fields[-len(last) :], strict=True):
                    columns.append(pa.repeat(pa.scalar(value, pa.int64()), batch.num_rows).cast(field.type))
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _identity(self) -> str:
        """Returns the id of this output: one for each state."""
        path = self._staged.folder / "id"
        with writing(path):
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                new = path.with_name(".id")
                new.write_text(uuid.uuid4().hex)
                new.replace(path)
            return f"tidelog:{path.read_text()}"
