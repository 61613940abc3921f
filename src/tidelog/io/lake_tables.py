"""Tables of a lake → their rows in Arrow: objects of deltalake and pyiceberg, and folders with a Delta log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.lake.delta_log import DeltaLog
from tidelog.lake.delta_table import DeltaChanges
from tidelog.rules.ir import Relation

DELTA = "delta"


def is_delta_table(path: Path) -> bool:
    """True for a folder that has the log of a Delta table."""
    return (path / "_delta_log").is_dir()


def lake_parts(table: Any, relation: Relation) -> Iterator[pa.Table]:
    """Yields the rows of a table of deltalake or pyiceberg. Columns that the relation does not have are ignored."""
    if hasattr(table, "table_uri"):
        uri = str(table.table_uri)
        yield from delta_parts(uri.removeprefix("file://"), relation, int(table.version()))
        return
    scan = table.scan() if hasattr(table, "scan") else table
    names = [column.name for column in relation.columns if column.name in scan.projection().column_names]
    for batch in scan.select(*names).to_arrow_batch_reader() if names else ():
        yield pa.Table.from_batches([batch])


def delta_parts(address: str, relation: Relation, version: int | None = None) -> Iterator[pa.Table]:
    """Yields the rows of a Delta table, at its last version if none is given.

    Raises MissingDependencyError without deltalake, DataError for a table that cannot be read.
    """
    source = DeltaChanges(DeltaLog(address, address, {}), [column.name for column in relation.columns])
    source.check(None)
    at = source.start(None)
    if version is not None:
        at = {**at, "version": version}
    for part in source.parts(None, at):
        for changes in part():
            yield changes.rows
