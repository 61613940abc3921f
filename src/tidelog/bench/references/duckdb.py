"""DuckDB on the facts of a benchmark: queries that store their results as tables.

Reading is the copy of Arrow tables into tables of its own.
"""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa

from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import PROGRAMS, timed
from tidelog.bench.references.checksum import Checksum, checksum
from tidelog.bench.references.peer_run import Found, PeerRun, Results


def run_duckdb(program: str, data: Dataset, wanted: Results, times: int, threads: int | None) -> PeerRun | None:
    """Returns the times and results of the program's queries; None if there are none."""
    source = PROGRAMS / "duckdb" / f"{program}.sql"
    if not source.exists():
        return None  # a recursive query has one recursive relation, and no negation or minimum of others
    queries = source.read_text(encoding="utf-8")
    duckdb: Any = importlib.import_module("duckdb")
    seconds, reading = [], []
    found: dict[str, Found] = {}
    for _ in range(times):
        connection = duckdb.connect(config={} if threads is None else {"threads": threads})
        for relation, table in data.tables.items():
            connection.register(f"given {relation}", table)
        copies = ";".join(f'CREATE TABLE "{relation}" AS FROM "given {relation}"' for relation in data.tables)
        read, _ = timed(lambda: connection.execute(copies))  # noqa: B023
        ran, _ = timed(lambda: connection.execute(queries))  # noqa: B023
        reading.append(read)
        seconds.append(read + ran)
        found = {relation: _rows(connection, relation, rows) for relation, rows in wanted.items()}
        connection.close()
    return PeerRun(tuple(seconds), tuple(reading), found)


def _rows(connection: Any, relation: str, wanted: Found) -> Found:
    if isinstance(wanted, int):
        return int(connection.execute(f'SELECT count(*) FROM "{relation}"').fetchone()[0])
    rows = pa.table(connection.sql(f'FROM "{relation}"'))
    return checksum(rows) if isinstance(wanted, Checksum) else rows
