"""An output relation → a Delta table: one version for each epoch that changes the relation, exactly once.

| mode | table |
| --- | --- |
| `snapshot` (the default) | the rows of the relation; those of a multiset have their `_weight` |
| `changes` | a row for each inserted or deleted row, with the change columns; rows are only appended |

The changes of an epoch are staged before its commit and applied after it (`staged`). Each version carries a transaction
identifier: the id of this output, and the number of the epoch. So a version that was written before a crash is not
written again. The change data feed of the table is on: with `snapshot`, its changes are those of the relation.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tidelog.database.database import Database
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.engine.interface import ChangeRows
from tidelog.io.replace_file import writing
from tidelog.lake.delta_log import first_line
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.lake_types import lake_schema
from tidelog.pipeline.lake.staged import DELETED, INSERTED, WEIGHTS, Staged
from tidelog.pipeline.settings import Output
from tidelog.pipeline.sources.formats import require
from tidelog.rules.ir import Kind, Relation
from tidelog.values import Definitions

PARTITION = "partitionBy"
_KIND = "_kind"
_FEW = 1_000_000
"""Up to so many changed rows are in memory while they are merged, which lets files be skipped by their statistics."""

Result = TypeVar("Result")


class DeltaSink:
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
        """Raises DataError for a type that Delta does not have."""
        require("delta")
        assert output.place.path is not None
        self.relation = relation.name
        self._place = output.place
        self._address = str(output.place.folder) if "://" not in output.place.path else output.place.path
        self._relation = relation
        self._definitions = definitions
        self._is_maintained = output.is_snapshot
        self._style = output.change_columns
        self._database = database
        self._in_tasks = in_tasks
        self._staged = Staged(
            outbox / relation.name, relation, definitions, lake_schema(relation, definitions, "delta")
        )

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
        is_empty = not table.get_add_actions().num_rows
        if not is_empty and table.metadata().description != self._description():
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
        self._write(table, self._begun(epoch), "overwrite", epoch)
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

    # The table

    def _table(self) -> Any | None:
        from deltalake import DeltaTable

        def opened() -> Any | None:
            return DeltaTable(self._address) if DeltaTable.is_deltatable(self._address) else None

        return self._calling(opened)

    def _create(self) -> Any:
        from deltalake import DeltaTable, Schema

        columns = [name.strip() for name in self._place.options.get(PARTITION, "").split(",") if name.strip()]

        def create() -> Any:
            with writing(Path(self._address)):
                if "://" not in self._address:
                    Path(self._address).mkdir(parents=True, exist_ok=True)
            return DeltaTable.create(
                self._address,
                Schema.from_arrow(self._columns()),
                mode="ignore",
                partition_by=columns or None,
                description=self._description(),
                configuration={"delta.enableChangeDataFeed": "true"},
            )

        return self._calling(create)

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

    def _check_columns(self, table: Any) -> None:
        from deltalake import Schema

        def shown(schema: Any) -> dict[str, str]:
            return {field.name: str(field.type) for field in schema.fields}

        wanted, found = shown(Schema.from_arrow(self._columns())), shown(table.schema())
        if {name: _without_nulls(type_) for name, type_ in wanted.items()} != {
            name: _without_nulls(type_) for name, type_ in found.items()
        }:
            other = next(iter(set(wanted.items()) ^ set(found.items())))[0]
            raise DataError(
                f"{self._place.name}: the table has other columns than `{self.relation}`, such as `{other}`",
                code=Code.OTHER_SOURCE,
                help=f"give the output a new path; the columns of the table would be {', '.join(wanted)}",
            )

    # Versions

    def _apply(self, table: Any, epoch: int) -> None:
        staged = self._staged
        if not self._is_maintained:
            self._write(table, self._changes(epoch), "append", epoch)
        elif self._relation.kind is not Kind.SET:
            self._merge_weights(table, epoch)
        elif staged.count(epoch, DELETED):
            self._merge(table, epoch)
        else:
            self._write(table, staged.read(epoch, INSERTED), "append", epoch)

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

    def _write(self, table: Any, batches: Iterator[pa.RecordBatch], mode: Any, epoch: int) -> None:
        from deltalake import write_deltalake

        rows = pa.RecordBatchReader.from_batches(self._columns(), batches)
        self._calling(lambda: write_deltalake(table, rows, mode=mode, commit_properties=self._identified(epoch)))

    def _merge(self, table: Any, epoch: int) -> None:
        """Deletes and inserts rows in one version."""
        names = self._staged.schema.names

        def batches() -> Iterator[pa.RecordBatch]:
            for kind in (DELETED, INSERTED):
                for batch in self._staged.read(epoch, kind):
                    yield batch.append_column(_KIND, pa.repeat(kind, batch.num_rows))

        merge = self._merger(table, batches(), pa.field(_KIND, pa.string()), epoch)
        merge = merge.when_matched_delete(predicate=f"s.\"{_KIND}\" = '{DELETED}'")
        merge = merge.when_not_matched_insert(_taken(names), predicate=f"s.\"{_KIND}\" = '{INSERTED}'")
        self._calling(merge.execute)

    def _merge_weights(self, table: Any, epoch: int) -> None:
        """Adds the changes of weights in one version; rows without weight leave."""
        names = self._staged.schema.names
        batches = self._staged.read(epoch, WEIGHTS)
        weight, change = f't."{sinks.WEIGHT}"', f's."{sinks.WEIGHT}"'
        merge = self._merger(table, batches, pa.field(sinks.WEIGHT, pa.int64()), epoch)
        merge = merge.when_matched_delete(predicate=f"{weight} + {change} = 0")
        merge = merge.when_matched_update({f'"{sinks.WEIGHT}"': f"{weight} + {change}"})
        merge = merge.when_not_matched_insert(_taken([*names, sinks.WEIGHT]))
        self._calling(merge.execute)

    def _merger(self, table: Any, batches: Iterator[pa.RecordBatch], last: pa.Field, epoch: int) -> Any:
        rows = pa.RecordBatchReader.from_batches(self._staged.schema.append(last), batches)
        count = sum(self._staged.count(epoch, kind) for kind in (INSERTED, DELETED, WEIGHTS))
        is_same = (f"(t.{_quoted(name)} IS NOT DISTINCT FROM s.{_quoted(name)})" for name in self._staged.schema.names)
        return self._calling(
            lambda: table.merge(
                rows,
                " AND ".join(is_same),
                source_alias="s",
                target_alias="t",
                streamed_exec=count > _FEW,
                commit_properties=self._identified(epoch),
            )
        )

    # Exactly once

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

    def _applied(self, table: Any) -> int:
        """Returns the last epoch of this output in the table, or 0."""
        found = self._calling(lambda: table.transaction_version(self._identity()))
        return 0 if found is None else int(found)

    def _identified(self, epoch: int) -> Any:
        from deltalake import CommitProperties, Transaction

        metadata: Mapping[str, Any] = {"tidelog.relation": self.relation, "tidelog.epoch": str(epoch)}
        return CommitProperties(custom_metadata=dict(metadata), app_transactions=[Transaction(self._identity(), epoch)])

    def _calling(self, call: Callable[[], Result]) -> Result:
        from deltalake.exceptions import DeltaError

        try:
            return call()
        except (DeltaError, OSError, ValueError) as error:
            raise DataError(
                f"`[outputs.{self.relation}]`: deltalake says: {first_line(error)}", code=Code.SOURCE_FAILED
            ) from error


def _taken(names: list[str]) -> dict[str, str]:
    return {_quoted(name): f"s.{_quoted(name)}" for name in names}


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _without_nulls(type_: str) -> str:
    return type_.replace("nullable=False", "nullable=True").replace("=False", "=True")
