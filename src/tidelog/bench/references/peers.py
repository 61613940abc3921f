"""Other systems on the same facts: Soufflé, compiled, on one thread, and DuckDB's recursive query.

A peer is requested by name. One that is not installed, or cannot express a program, is listed as missing. Its time is
that of the whole run without compiling: for Soufflé with reading the facts, for DuckDB without.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.csv

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import PROGRAMS, Case, Outcome, timed

PEERS = ("souffle", "duckdb")

_DUCKDB_CLOSURE = """
WITH RECURSIVE reach(src, dst) AS (
    SELECT src, dst FROM edge
    UNION
    SELECT reach.src, edge.dst FROM reach JOIN edge ON reach.dst = edge.src
)
SELECT count(*) FROM reach
"""

# Its rows are kept, as ours are; to count them afterwards is not timed.
_DUCKDB_TRIANGLES = """
CREATE OR REPLACE TABLE triangle AS
SELECT a.src AS x, a.dst AS y, b.dst AS z
FROM edge AS a JOIN edge AS b ON a.dst = b.src JOIN edge AS c ON a.src = c.src AND b.dst = c.dst
"""
# By program: the relation that is counted, the query that is timed, and the one that counts what it made, if any.
_DUCKDB = {
    "closure": ("Reach", _DUCKDB_CLOSURE, None),
    "triangles": ("T", _DUCKDB_TRIANGLES, "SELECT count(*) FROM triangle"),
}


@dataclass(frozen=True, slots=True)
class PeerRun:
    """The seconds of each run, and the number of rows of every result."""

    seconds: tuple[float, ...]
    rows: dict[str, int]


def is_installed(name: str) -> bool:
    if name == "souffle":
        return shutil.which("souffle") is not None
    return importlib.util.find_spec(name) is not None


def version_of(name: str) -> str | None:
    """Returns the version of an installed peer, or None."""
    if not is_installed(name):
        return None
    if name == "souffle":
        told = subprocess.run(["souffle", "--version"], capture_output=True, text=True, check=False).stdout
        lines = [line for line in told.splitlines() if "ersion" in line]
        return lines[0].strip() if lines else "unknown"
    return str(importlib.import_module(name).__version__)


def beside(settings: Settings, program: str, data: Dataset, ours: Case, counts: dict[str, int], out: Outcome) -> None:
    """Runs the installed peers on the same facts, requires the same counts, and adds their cases and ratios."""
    for name in settings.peers:
        if not is_installed(name):
            continue
        settings.say(f"{data.name}: {name}")
        run = _souffle(program, data, settings.repeat) if name == "souffle" else _duckdb(program, data, settings.repeat)
        if run is None:
            continue
        for relation, rows in run.rows.items():
            out.check(f"{data.name}: {relation}, as {name} has it", counts[relation], rows)
        case = out.case(data.name, ours.name, run.seconds, name, ours.rows)
        out.ratio(data.name, f"{name} / {ours.name}", case, ours)


def _souffle(program: str, data: Dataset, times: int) -> PeerRun | None:
    source = PROGRAMS / "souffle" / f"{program}.dl"
    if not source.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
        for name, table in data.tables.items():
            pyarrow.csv.write_csv(table, Path(folder, f"{name}.facts"), options)
        subprocess.run(["souffle", "-o", "program", source], cwd=folder, check=True, capture_output=True)
        run = partial(subprocess.run, ["./program", "-F", "."], cwd=folder, check=True, capture_output=True, text=True)
        runs = [timed(run) for _ in range(times)]
    lines = runs[-1][1].stdout.splitlines()
    rows = {name: int(count) for name, count in (line.split() for line in lines if line.strip())}
    return PeerRun(tuple(seconds for seconds, _ in runs), rows)


def _duckdb(program: str, data: Dataset, times: int) -> PeerRun | None:
    if program not in _DUCKDB:
        return None  # its recursive query has one recursive relation and no negation of others
    relation, query, counting = _DUCKDB[program]
    duckdb: Any = importlib.import_module("duckdb")
    connection = duckdb.connect()
    connection.register("given", data.tables["Edge"])
    connection.execute("CREATE TABLE edge AS SELECT * FROM given")
    seconds, rows = [], 0
    for _ in range(times):
        taken, found = timed(lambda: connection.execute(query).fetchone())
        seconds.append(taken)
        rows = found[0]
        if counting is not None:
            rows = connection.execute(counting).fetchone()[0]
    connection.close()
    return PeerRun(tuple(seconds), {relation: int(rows)})
