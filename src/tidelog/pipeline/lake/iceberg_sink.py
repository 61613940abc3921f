"""An output relation → an Iceberg table (`lake_sink`). The last epoch is a property of the table.

An epoch that only inserts rows appends files. Another one replaces all rows that share a value with a changed row, in
the column that tells them apart best: pyiceberg has no merge, and a filter by whole rows would be as long as the
changes. The new files and the property are one commit of the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.lake_sink import LakeSink
from tidelog.pipeline.lake.staged import DELETED, INSERTED, WEIGHTS
from tidelog.pipeline.sources.iceberg import TABLE, catalog_properties
from tidelog.rules.ir import Kind
from tidelog.rules.schema.arrow import is_plain_relation

_OWNER = "tidelog.output"
_MOST_VALUES = 10_000
"""If a column has more values among the changed rows, the whole table is replaced."""

Result = TypeVar("Result")


class IcebergSink(LakeSink):
    """Implements `Sink`."""

    _catalog: Any = None

    def _table(self) -> Any | None:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        def opened() -> Any | None:
            if self._catalog is None:
                properties = dict(catalog_properties(self._place))
                self._catalog = load_catalog(properties.pop("name", None), **properties)
            try:
                return self._catalog.load_table(self._place.options[TABLE])
            except (NoSuchTableError, NoSuchNamespaceError):
                return None

        return self._calling(opened)

    def _create(self) -> Any:
        def create() -> Any:
            name = self._place.options[TABLE]
            self._catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
            return self._catalog.create_table(name, schema=self._columns(), properties={_OWNER: self.relation})

        return self._calling(create)

    def _check_columns(self, table: Any) -> None:
        found, wanted = _plain(table.schema().as_arrow()), _plain(self._columns())
        if found != wanted:
            other = next(iter(set(found.items()) ^ set(wanted.items())))[0]
            raise DataError(
                f"{self._place.name}: the table has other columns than `{self.relation}`, such as `{other}`",
                code=Code.OTHER_SOURCE,
                help=f"give the output another table; its columns would be {', '.join(wanted)}",
            )

    def _is_empty(self, table: Any) -> bool:
        return table.current_snapshot() is None or not any(True for _ in table.scan().plan_files())

    def _is_own(self, table: Any) -> bool:
        return bool(table.properties.get(_OWNER) == self.relation)

    def _applied(self, table: Any) -> int:
        return int(table.properties.get(self._identity(), 0))

    def _replace(self, table: Any, epoch: int) -> None:
        from pyiceberg.expressions import AlwaysTrue

        self._overwrite(table, self._joined(self._begun(epoch)), AlwaysTrue(), epoch)

    def _apply(self, table: Any, epoch: int) -> None:
        staged = self._staged
        if not self._is_maintained:
            self._append(table, self._joined(self._changes(epoch)), epoch)
        elif self._relation.kind is Kind.SET and not staged.count(epoch, DELETED):
            self._append(table, self._joined(staged.read(epoch, INSERTED)), epoch)
        elif not is_plain_relation(self._relation) or not self._relation.columns:
            staged.write_all(epoch, self._database.relation(self.relation), in_tasks=self._in_tasks)
            self._replace(table, epoch)
        else:
            self._merge(table, epoch)

    def _merge(self, table: Any, epoch: int) -> None:
        """Replaces the rows around the changed ones."""
        changed = self._signed(epoch)
        where = _filter(changed, self._staged.schema)
        old = self._calling(lambda: table.scan(row_filter=where).to_arrow()).select(self._columns().names)
        if self._relation.kind is Kind.SET:
            old = old.append_column(sinks.WEIGHT, pa.repeat(pa.scalar(1, pa.int64()), old.num_rows))
        new = _added_up(pa.concat_tables([old.cast(changed.schema), changed]))
        self._overwrite(table, new.select(self._columns().names).cast(self._columns()), where, epoch)

    def _signed(self, epoch: int) -> pa.Table:
        """Returns the changed rows with the change of their weight."""
        parts = []
        schema = self._staged.schema_of(WEIGHTS)
        for kind, sign in ((DELETED, -1), (INSERTED, 1), (WEIGHTS, 0)):
            for batch in self._staged.read(epoch, kind):
                table = pa.Table.from_batches([batch])
                if sign:
                    table = table.append_column(sinks.WEIGHT, pa.repeat(pa.scalar(sign, pa.int64()), table.num_rows))
                parts.append(table.cast(schema))
        return pa.concat_tables(parts)

    def _joined(self, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches([batch.cast(self._columns()) for batch in batches], schema=self._columns())

    def _append(self, table: Any, rows: pa.Table, epoch: int) -> None:
        def append() -> None:
            with table.transaction() as change:
                change.append(rows, snapshot_properties=self._marked(epoch))
                change.set_properties({self._identity(): str(epoch)})

        self._calling(append)

    def _overwrite(self, table: Any, rows: pa.Table, where: Any, epoch: int) -> None:
        def overwrite() -> None:
            with table.transaction() as change:
                change.overwrite(rows, overwrite_filter=where, snapshot_properties=self._marked(epoch))
                change.set_properties({self._identity(): str(epoch)})

        self._calling(overwrite)

    def _marked(self, epoch: int) -> dict[str, str]:
        return {"tidelog.relation": self.relation, "tidelog.epoch": str(epoch)}

    def _calling(self, call: Callable[[], Result]) -> Result:
        from pyiceberg.exceptions import CommitFailedException, ValidationError

        try:
            return call()
        except (CommitFailedException, ValidationError, OSError, ValueError, pa.ArrowException) as error:
            raise DataError(f"`[outputs.{self.relation}]`: pyiceberg says: {error}", code=Code.SOURCE_FAILED) from error


def _filter(changed: pa.Table, schema: pa.Schema) -> Any:
    """Returns a filter that all changed rows match: the values of the column that has most of them, up to a limit."""
    from pyiceberg.expressions import AlwaysTrue, In, IsNull, Or

    best: tuple[int, Any] = (0, AlwaysTrue())
    for field in schema:
        if not (pa.types.is_integer(field.type) or pa.types.is_string(field.type) or pa.types.is_date32(field.type)):
            continue
        values = changed.column(field.name).unique()
        if best[0] < len(values) <= _MOST_VALUES:
            listed = [value for value in values.to_pylist() if value is not None]
            where: Any = In(field.name, listed) if listed else IsNull(field.name)
            best = len(values), Or(where, IsNull(field.name)) if values.null_count and listed else where
    return best[1]


def _added_up(rows: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    names = [name for name in rows.column_names if name != sinks.WEIGHT]
    added = rows.group_by(names).aggregate([(sinks.WEIGHT, "sum")])
    added = added.select([*names, f"{sinks.WEIGHT}_sum"]).rename_columns([*names, sinks.WEIGHT])
    return added.filter(pc.not_equal(added.column(sinks.WEIGHT), 0))


def _plain(schema: pa.Schema) -> dict[str, str]:
    """Returns the columns with their types, without the ids and null rules of the format."""
    return {field.name: _type(field.type) for field in schema}


def _type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<{_type(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"map<{_type(type_.key_type)}, {_type(type_.item_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{each.name}: {_type(each.type)}' for each in type_)}>"
    return "string" if pa.types.is_large_string(type_) else str(type_)
