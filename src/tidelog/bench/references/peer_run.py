"""A run of another system: its seconds with and without reading, its results, and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from tidelog.bench.references.checksum import Checksum

Found: TypeAlias = "int | Checksum | pa.Table"
Results = Mapping[str, Found]
"""By relation: its rows as a table, their checksum, or only their number."""


@dataclass(frozen=True, slots=True)
class PeerRun:
    """`seconds` of each whole run; `reading`: those of a run that only reads the facts, or of that part of each run.

    `found` has what was wanted of each relation: a table, in any order of rows, a checksum or a number.
    """

    seconds: tuple[float, ...]
    reading: tuple[float, ...]
    found: Results
    compiling: float | None = None
    peak_mb: float | None = None


def ordered(table: pa.Table, like: pa.Table) -> pa.Table:
    """Returns the rows in order, with the types and names of the columns of another table, structs taken apart."""
    flat = _flat(like)
    renamed = _flat(table).rename_columns(flat.column_names).cast(flat.schema)
    return renamed.sort_by([(name, "ascending") for name in flat.column_names]).combine_chunks()


def _flat(table: pa.Table) -> pa.Table:
    while any(pa.types.is_struct(column.type) for column in table.columns):
        table = table.flatten()
    return table
