"""An Iceberg table: its rows at a snapshot, and the changes of rows between two snapshots.

    {"table": "d6222fbf-70b1-44d9-97ed-d015efdd527e", "snapshot": 8819037637961317959}

The changes between two snapshots are the rows of the data files that one has and the other has not. A snapshot that
only appends gives the rows of its new files; one that deletes or overwrites rows gives those of the files that it
removed and of the files that it wrote instead. Rows that were only copied add up to nothing. So do those of a
compaction (`replace`), whose files are not read at all.

| feature | |
| --- | --- |
| position deletes, deletion vectors | read, by the scan of pyiceberg |
| equality deletes | refused (E871) |
| a new column | ignored, or read if the relation has it as an `Option` |
| a column of the relation that is dropped or replaced by one of the same name | refused (E872) |
| a table that was dropped and made again | refused (E872) |
| a snapshot that expired, a rollback behind the last read snapshot | refused (E870) |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, MissingDependencyError
from tidelog.lake.row_changes import Part, RowChanges

Position = Mapping[str, Any]

_NEW_STATE = "give the pipeline a new `state`, which starts with the present rows"
_START_AGAIN = f"{_NEW_STATE}; to keep snapshots longer, raise the table's `history.expire.max-snapshot-age-ms`"


@dataclass(frozen=True, slots=True)
class _Files:
    """Files of one snapshot, read by pyiceberg; `sign` is that of all their rows."""

    table: Any
    snapshot: int
    tasks: tuple[Any, ...]
    columns: tuple[str, ...] | None
    sign: int
    place: str

    @property
    def size(self) -> int:
        return sum(int(task.file.file_size_in_bytes) for task in self.tasks)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels without the catalog, whose connections cannot; the files are read by the metadata alone."""
        from pyiceberg.table import Table

        whole = self.table
        bare = Table(whole.name(), whole.metadata, whole.metadata_location, whole.io, catalog=None)
        return _Files, (bare, self.snapshot, self.tasks, self.columns, self.sign, self.place)

    def __call__(self) -> Iterator[RowChanges]:
        from pyiceberg.exceptions import NoSuchTableError
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        scan = self.table.scan(snapshot_id=self.snapshot)
        names = scan.projection().column_names
        wanted = names if self.columns is None else [name for name in self.columns if name in names]
        projection = scan.select(*wanted).projection() if wanted else scan.projection()
        reader = ArrowScan(self.table.metadata, self.table.io, projection, AlwaysTrue())
        try:
            for batch in reader.to_record_batches(list(self.tasks)):
                signs = None if self.sign > 0 else pa.repeat(pa.scalar(-1, pa.int8()), batch.num_rows)
                if batch.num_rows:
                    yield RowChanges(pa.Table.from_batches([batch]).select(wanted), signs, self.place)
        except (FileNotFoundError, NoSuchTableError) as error:
            raise DataError(
                f"{self.place}: a file of the snapshot no longer exists: {error}",
                code=Code.POSITION_GONE,
                help=_START_AGAIN,
            ) from error
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DataError(f"{self.place}: cannot be read: {error}", code=Code.SOURCE_FAILED) from error


class IcebergChanges:
    """The rows and changes of the table `name` of a catalog with these properties, with some columns (None: all).

    `most` limits the snapshots of a range. With `only_appends`, a snapshot that deletes or updates rows is refused.
    """

    def __init__(
        self,
        name: str,
        catalog: Mapping[str, str],
        columns: Sequence[str] | None,
        most: int | None = None,
        *,
        only_appends: bool = False,
    ) -> None:
        require_pyiceberg()
        self._name = name
        self._properties = catalog
        self._columns = None if columns is None else tuple(columns)
        self._most = most
        self._only_appends = only_appends

    def check(self, position: Position | None) -> None:
        """Raises DataError for a table that cannot be read, or not from a position on."""
        table = self._table()
        if position is not None:
            self._check_same(position, table)
            self._range(table, position["snapshot"], _current(table))

    def start(self, planned: Position | None) -> Position:
        """Returns the position of the present rows, or the planned one if it can still be read."""
        table = self._table()
        known = {snapshot.snapshot_id for snapshot in table.metadata.snapshots} | {None}
        if planned is not None and planned["table"] == _id(table) and planned["snapshot"] in known:
            return planned
        return {"table": _id(table), "snapshot": _current(table)}

    def latest(self, position: Position) -> Position | None:
        """Returns the end of the next range after a position."""
        table = self._table()
        self._check_same(position, table)
        later = self._range(table, position["snapshot"], _current(table))
        if self._most is not None:
            later = later[: self._most]
        return {**position, "snapshot": later[-1].snapshot_id} if later else None

    def parts(self, begin: Position | None, end: Position) -> Sequence[Part]:
        """Returns the changes between two positions, in parts."""
        table = self._table()
        self._check_same(end, table)
        last = end["snapshot"]
        if begin is None:
            return self._whole(table, last, +1)
        first, later = begin["snapshot"], self._range(table, begin["snapshot"], last)
        self._check_schema(table, first, last)
        if self._only_appends:
            self._check_appends(later)
        if all(each.summary is not None and each.summary.operation.value == "replace" for each in later):
            return []
        before = {} if first is None else self._tasks(table, first)
        after = self._tasks(table, last)
        removed = [task for key, task in before.items() if key not in after]
        added = [task for key, task in after.items() if key not in before]
        return [*self._files(table, first, removed, -1), *self._files(table, last, added, +1)]

    def types(self, position: Position) -> Mapping[str, pa.DataType]:
        """Returns the types of the columns at a position."""
        if position["snapshot"] is None:
            return {}
        schema = self._table().scan(snapshot_id=position["snapshot"]).projection().as_arrow()
        return {field.name: field.type for field in schema}

    # Snapshots and files

    @cached_property
    def _catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog

        properties = dict(self._properties)
        return load_catalog(properties.pop("name", None), **properties)

    def _table(self) -> Any:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalog.load_table(self._name)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            raise DataError(f"{self._name}: there is no such Iceberg table", code=Code.SOURCE_FAILED) from error
        except (OSError, ValueError, RuntimeError) as error:
            raise DataError(
                f"{self._name}: the Iceberg table cannot be read: {error}", code=Code.SOURCE_FAILED
            ) from error

    def _range(self, table: Any, first: int | None, last: int | None) -> list[Any]:
        """Returns the snapshots after `first` up to `last`, in order. Raises DataError if `first` is not before it."""
        found: list[Any] = []
        at = last
        while at != first:
            snapshot = None if at is None else table.metadata.snapshot_by_id(at)
            if snapshot is None:
                raise DataError(
                    f"{self._name}: the snapshot {first}, which was read last, is not before the snapshot {last}:"
                    " snapshots expired, or the table was rolled back",
                    code=Code.POSITION_GONE,
                    help=_START_AGAIN,
                )
            found.append(snapshot)
            at = snapshot.parent_snapshot_id
        if first is not None and table.metadata.snapshot_by_id(first) is None:
            raise DataError(f"{self._name}: the snapshot {first} expired", code=Code.POSITION_GONE, help=_START_AGAIN)
        return found[::-1]

    def _tasks(self, table: Any, snapshot: int) -> dict[Any, Any]:
        """Returns the files of a snapshot with their deletes, by what identifies their rows."""
        found = {}
        try:
            for task in table.scan(snapshot_id=snapshot).plan_files():
                deletes = frozenset(_delete_key(each) for each in task.delete_files)
                found[task.file.file_path, deletes] = task
        except (ValueError, NotImplementedError) as error:
            if "equality" not in str(error).lower():
                raise
            raise DataError(
                f"{self._name}, snapshot {snapshot}: the table has equality deletes, which are not supported",
                code=Code.UNSUPPORTED_SOURCE,
                help="rewrite its data files, for example with Spark's procedure `rewrite_data_files`",
            ) from error
        return found

    def _whole(self, table: Any, snapshot: int | None, sign: int) -> list[Part]:
        if snapshot is None:
            return []
        return self._files(table, snapshot, list(self._tasks(table, snapshot).values()), sign)

    def _files(self, table: Any, snapshot: int | None, tasks: Sequence[Any], sign: int) -> list[Part]:
        place = f"{self._name}, snapshot {snapshot}"
        return (
            [] if snapshot is None else [_Files(table, snapshot, (task,), self._columns, sign, place) for task in tasks]
        )

    # Checks

    def _check_same(self, position: Position, table: Any) -> None:
        if position["table"] != _id(table):
            raise DataError(
                f"{self._name}: the table is not the one that was read before ({position['table']}): it was dropped and"
                " made again",
                code=Code.OTHER_SOURCE,
                help=_NEW_STATE,
            )

    def _check_schema(self, table: Any, first: int | None, last: int | None) -> None:
        """Refuses a column of the relation whose identity has changed: all rows changed with it."""
        if first is None or last is None:
            return
        before, after = (table.scan(snapshot_id=each).projection() for each in (first, last))
        for name in self._columns or ():
            was = next((field.field_id for field in before.fields if field.name == name), None)
            now = next((field.field_id for field in after.fields if field.name == name), None)
            if was is not None and was != now:
                raise DataError(
                    f"{self._name}, snapshot {last}: the column `{name}` was dropped, renamed or made again, and all"
                    " rows changed with it",
                    code=Code.OTHER_SOURCE,
                    help=f"change the program if it has to follow; then {_NEW_STATE}",
                )

    def _check_appends(self, snapshots: Sequence[Any]) -> None:
        for each in snapshots:
            kind = each.summary.operation.value if each.summary is not None else "append"
            if kind not in ("append", "replace"):
                raise DataError(
                    f"{self._name}, snapshot {each.snapshot_id}: rows were updated or deleted, and the feed takes each"
                    " row of the table for an operation",
                    code=Code.UNSUPPORTED_SOURCE,
                    help="only append rows to a table of operations, or leave `op` out, to take its rows as they are",
                )


def require_pyiceberg() -> None:
    """Raises MissingDependencyError if pyiceberg is not installed."""
    try:
        import pyiceberg.catalog  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Iceberg tables need the package `pyiceberg`, which is not installed",
            code=Code.NO_SOURCE_PACKAGE,
            help='pip install "tidelog[iceberg]"',
        ) from error


def _id(table: Any) -> str:
    return str(table.metadata.table_uuid)


def _current(table: Any) -> int | None:
    found = table.metadata.current_snapshot_id
    return None if found in (None, -1) else int(found)


def _delete_key(file: Any) -> tuple[Any, ...]:
    """Returns what identifies a file of deletes: a deletion vector is a part of a file."""
    return file.file_path, getattr(file, "content_offset", None)
