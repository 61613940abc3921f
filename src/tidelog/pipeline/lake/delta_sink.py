"""An output relation → a Delta table (`lake_sink`). Versions carry the transaction identifiers of the format.

An epoch that only inserts rows appends files. Another one is a merge: deltalake reads the files that may have the
deleted rows, writes those that remain, and the changes for the change data feed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.replace_file import writing
from tidelog.lake.delta_log import first_line
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.lake_sink import LakeSink
from tidelog.pipeline.lake.staged import DELETED, INSERTED, WEIGHTS
from tidelog.rules.ir import Kind

PARTITION = "partitionBy"
_KIND = "_kind"
_FEW = 1_000_000
"""Up to so many changed rows are in memory while they are merged, which lets files be skipped by their statistics."""

Result = TypeVar("Result")


class DeltaSink(LakeSink):
    """Implements `Sink`. The change data feed of the table is on: in a snapshot, it has the changes of the relation."""

    def _address(self) -> str:
        assert self._place.path is not None
        return self._place.path if "://" in self._place.path else str(self._place.folder)

    def _table(self) -> Any | None:
        from deltalake import DeltaTable

        def opened() -> Any | None:
            return DeltaTable(self._address()) if DeltaTable.is_deltatable(self._address()) else None

        return self._calling(opened)

    def _create(self) -> Any:
        from deltalake import DeltaTable, Schema

        columns = [name.strip() for name in self._place.options.get(PARTITION, "").split(",") if name.strip()]

        def create() -> Any:
            with writing(Path(self._address())):
                if "://" not in self._address():
                    Path(self._address()).mkdir(parents=True, exist_ok=True)
            return DeltaTable.create(
                self._address(),
                Schema.from_arrow(self._columns()),
                mode="ignore",
                partition_by=columns or None,
                description=self._description(),
                configuration={"delta.enableChangeDataFeed": "true"},
            )

        return self._calling(create)

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

    def _is_empty(self, table: Any) -> bool:
        return not table.get_add_actions().num_rows

    def _is_own(self, table: Any) -> bool:
        return bool(table.metadata().description == self._description())

    # Versions

    def _replace(self, table: Any, epoch: int) -> None:
        self._write(table, self._begun(epoch), "overwrite", epoch)

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

    def _applied(self, table: Any) -> int:
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
