"""A Delta table: its rows at a version, and the changes of rows between two versions.

    {"table": "f5b54d8e-71b9-4ebb-af7c-d37504fccae9", "version": 12}

The changes of a version are in its change files (the change data feed), if it has any; else they are the rows of the
files that it added and removed. So the feed need not be switched on, but without it an update of one row reads the
files around it. A version that only moves rows, such as a compaction, adds and removes files without a change of data.

| feature | |
| --- | --- |
| deletion vectors | read |
| column mapping | read, except columns with nested fields |
| a new column | ignored, or read if the relation has it as an `Option` |
| a column of the relation that is dropped or renamed | refused (E872) |
| a table that was dropped and made again | refused (E872) |
| a version whose log or files were deleted | refused (E870) |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.lake.delta_log import (
    START_AGAIN,
    DataFile,
    DeltaLog,
    TableSchema,
    Version,
    schema_at,
    schema_of,
    unknown_feature,
    unsupported,
)
from tidelog.lake.parquet_part import ParquetPart

Position = Mapping[str, Any]

_NEW_STATE = "give the pipeline a new `state`, which starts with the present rows"


class DeltaChanges:
    """The rows and changes of a table, with some columns (None: all). `most` limits the versions of a range. With
    `only_appends`, a version that updates rows is refused.
    """

    def __init__(
        self, log: DeltaLog, columns: Sequence[str] | None, most: int | None = None, *, only_appends: bool = False
    ) -> None:
        self._log = log
        self._columns = columns
        self._most = most
        self._only_appends = only_appends

    def check(self, position: Position | None) -> None:
        table = self._log.at()
        self._check_readable(table.protocol(), schema_at(table))
        if position is None:
            return
        self._check_same(position, str(table.metadata().id))
        if table.version() < position["version"]:
            raise DataError(
                f"{self._log.shown}: the table has {table.version() + 1} versions, and version {position['version']}"
                " was read before",
                code=Code.OTHER_SOURCE,
                help=_NEW_STATE,
            )
        if table.version() > position["version"]:
            self._log.version(position["version"] + 1)

    def start(self, planned: Position | None) -> Position:
        table = self._log.at()
        now = {"table": str(table.metadata().id), "version": table.version()}
        if planned is not None and planned["table"] == now["table"] and planned["version"] <= now["version"]:
            return planned
        return now

    def latest(self, position: Position) -> Position | None:
        table = self._log.at()
        self._check_same(position, str(table.metadata().id))
        last = int(table.version())
        if self._most is not None:
            last = min(last, position["version"] + self._most)
        return {**position, "version": last} if last > position["version"] else None

    def parts(self, begin: Position | None, end: Position) -> Sequence[ParquetPart]:
        if begin is None:
            return self._all_rows(end)
        return list(self._changed(begin["version"], end))

    # Parts

    def _all_rows(self, at: Position) -> list[ParquetPart]:
        table = self._log.at(at["version"])
        self._check_same(at, str(table.metadata().id))
        schema = schema_at(table)
        self._check_readable(table.protocol(), schema)
        masks = self._log.masks(table)
        place = f"{self._log.shown}, version {at['version']}"
        return [self._part(file, schema, +1, place, masks) for file in self._log.files_at(table, schema)]

    def _changed(self, begin: int, end: Position) -> Iterator[ParquetPart]:
        """Yields the parts of the versions after `begin`. A file that one of them adds and another removes is left out,
        if both count its rows."""
        schema = self._schema_before(begin, end)
        versions: list[tuple[Version, TableSchema]] = []
        for number in range(begin + 1, end["version"] + 1):
            version = self._log.version(number)
            if version.protocol is not None:
                self._check_features(version.protocol)
            if version.metadata is not None:
                schema = self._changed_schema(number, schema, schema_of(version.metadata))
            versions.append((version, schema))
        added = {(f.path, f.vector) for v, _ in versions if not v.changes for f in v.added}
        removed = {(f.path, f.vector) for v, _ in versions if not v.changes for f in v.removed}
        passing = added & removed
        for version, known in versions:
            yield from self._version_parts(version, known, passing)

    def _version_parts(
        self, version: Version, schema: TableSchema, passing: set[tuple[str, str | None]]
    ) -> Iterator[ParquetPart]:
        place = f"{self._log.shown}, version {version.number}"
        if version.changes:
            for file in version.changes:
                yield self._part(file, schema, None, place, {})
            return
        if self._only_appends and version.added and version.removed:
            raise DataError(
                f"{place}: rows were updated, and the feed takes each row of the table for an operation",
                code=Code.UNSUPPORTED_SOURCE,
                help="only append rows to a table of operations, or leave `op` out, to take its rows as they are",
            )
        for files, sign, number in ((version.removed, -1, version.number - 1), (version.added, +1, version.number)):
            counted = [file for file in files if (file.path, file.vector) not in passing]
            masks = {}
            if any(file.vector for file in counted):
                masks = self._log.masks(self._log.at(number))
            for file in counted:
                yield self._part(file, schema, sign, place, masks)

    def _part(
        self, file: DataFile, schema: TableSchema, sign: int | None, place: str, masks: Mapping[str, pa.BooleanArray]
    ) -> ParquetPart:
        path = self._log.path_of(file)
        kept = next((mask for name, mask in masks.items() if name.endswith(file.path)), None)
        names = list(schema.physical) if self._columns is None else self._columns
        columns = schema.columns(names, file.partition)
        return ParquetPart(path, columns, sign, place, kept, START_AGAIN, dict(schema.types), file.size)

    # Checks

    def _schema_before(self, begin: int, end: Position) -> TableSchema:
        """Returns the columns after the version `begin`, or the oldest that can still be known."""
        newest = schema_at(self._log.at())
        for number in range(begin + 1, end["version"] + 1):
            if self._log.version(number).metadata is not None:
                return schema_at(self._log.at(begin))
        if newest.table != end["table"]:
            raise self._other(end["table"])
        later = self._log.at()
        if later.version() == end["version"]:
            return newest
        return schema_at(self._log.at(end["version"]))

    def _changed_schema(self, number: int, old: TableSchema, new: TableSchema) -> TableSchema:
        """Returns the new columns, if the rows that were read before are still those of the table."""
        if new.table != old.table:
            raise self._other(old.table)
        for name in self._columns or ():
            if name in old.physical and new.physical.get(name) != old.physical[name]:
                raise DataError(
                    f"{self._log.shown}, version {number}: the column `{name}` was dropped, renamed or made again, and"
                    " all rows changed with it",
                    code=Code.OTHER_SOURCE,
                    help=f"change the program if it has to follow; then {_NEW_STATE}",
                )
        self._check_mapping(new)
        return new

    def _check_same(self, position: Position, table: str) -> None:
        if position["table"] != table:
            raise self._other(position["table"])

    def _other(self, table: str) -> DataError:
        return DataError(
            f"{self._log.shown}: the table is not the one that was read before ({table}): it was dropped and made"
            " again",
            code=Code.OTHER_SOURCE,
            help=_NEW_STATE,
        )

    def _check_readable(self, protocol: Any, schema: TableSchema) -> None:
        self._check_features(protocol)
        self._check_mapping(schema)
        missing = [name for name in self._columns or () if name not in schema.physical]
        if missing and not set(self._columns or ()) & set(schema.physical):
            raise DataError(
                f"{self._log.shown}: the table has no column `{missing[0]}`",
                code=Code.WRONG_COLUMNS,
                help=f"its columns are {', '.join(schema.physical)}",
            )

    def _check_features(self, protocol: Any) -> None:
        unknown = unknown_feature(protocol)
        if unknown is not None:
            raise unsupported(self._log.shown, unknown)

    def _check_mapping(self, schema: TableSchema) -> None:
        for name in self._columns or ():
            if name in schema.nested_mapping:
                raise DataError(
                    f"{self._log.shown}: the column `{name}` has fields whose names in files are mapped, which is not"
                    " supported",
                    code=Code.UNSUPPORTED_SOURCE,
                    help="write a copy of the table without column mapping",
                )
