"""Loading: rows of a CSV file with two columns of text into an input relation, beside pyarrow's own CSV reader.

The reader alone makes Arrow columns; loading also interns every text, finds duplicate rows, and commits. Both are timed
from the file to the end, on a file that the system has in memory.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.measure import Outcome, Ratio, require_equal, timed
from tidelog.io.read import read_batches

_PROGRAM = "input relation Edge(src: string, dst: string)\n"


def load(settings: Settings) -> Outcome:
    out = Outcome()
    rows = settings.pick(2_000, 100_000, 1_000_000)
    repeat = max(settings.repeat, settings.pick(1, 3, 5))
    with tempfile.TemporaryDirectory() as folder:
        for group, names in ((f"{rows:,} rows, few names", rows // 5), (f"{rows:,} rows, many names", 10 * rows)):
            path = Path(folder) / "Edge.csv"
            distinct = _write(path, rows, names)
            out.inputs.append({"name": group, "source": "generated", "rows": rows, "tables": {"Edge": rows}})
            settings.say(f"{group}: reading")
            read = [_read(path, rows) for _ in range(1 + repeat)][1:]
            settings.say(f"{group}: loading")
            loaded = [_load(out, group, path, distinct) for _ in range(1 + repeat)][1:]
            out.case(group, "read", read, "pyarrow", rows)
            out.case(group, "load", loaded, rows=distinct)
            reader, ours = out.cases[-2:]
            out.ratio(group, "load / pyarrow's reader", ours, reader)
            out.ratios.append(Ratio(group, "million rows a second", rows / ours.median / 1e6))
    return out


def _write(path: Path, rows: int, names: int) -> int:
    """Writes random edges between so many hosts; returns the number of distinct ones."""
    ends = np.random.default_rng(1).integers(0, names, (rows, 2))
    columns = {name: pa.array([f"host-{end}" for end in ends[:, i].tolist()]) for i, name in enumerate(("src", "dst"))}
    pyarrow.csv.write_csv(pa.table(columns), path)
    return len(np.unique(ends[:, 0] * names + ends[:, 1]))


def _read(path: Path, rows: int) -> float:
    taken, table = timed(lambda: pyarrow.csv.read_csv(path))
    require_equal("rows read", table.num_rows, rows)
    return taken


def _load(out: Outcome, group: str, path: Path, distinct: int) -> float:
    program = tidelog.compile(_PROGRAM)
    rules = program.stages.rules
    with program.open() as db:
        started = perf_counter()
        with db.transaction() as tx:
            for batch in read_batches(path, rules.relations["Edge"], rules.functions.definitions):
                tx.insert("Edge", batch)
        taken = perf_counter() - started
        check = require_equal(f"{group}: rows", len(db.relation("Edge")), distinct)
    if check not in out.checks:
        out.checks.append(check)
    return taken
