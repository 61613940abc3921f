"""Pathway, which is differential dataflow, on the changes of the suite: rows deleted and inserted, results awaited.

Pathway may need other versions of libraries than Tidelog: the environment variable TIDELOG_BENCH_PATHWAY names the
Python of an environment that has it. Rows are fed one by one by Python, which takes long for large inputs: it is not
run at full scale.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from tidelog.bench.measure import PROGRAMS, Tables

_FEED = Path(__file__).with_name("pathway_feed.py")
_TIMEOUT = 600


@dataclass(frozen=True, slots=True)
class PathwayRun:
    """The seconds of the load and of each change and its inverse; rows after the load, the first deletion, and all."""

    load: float
    deletes: tuple[float, ...]
    inserts: tuple[float, ...]
    rows: tuple[dict[str, int], ...]


def pathway_python() -> str | None:
    """Returns the Python that has Pathway; None if there is none."""
    named = os.environ.get("TIDELOG_BENCH_PATHWAY")
    if named:
        return named if Path(named).exists() else None
    return sys.executable if importlib.util.find_spec("pathway") is not None else None


def pathway_version() -> str:
    command = [pathway_python() or "", "-c", "import pathway; print(pathway.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run_pathway(program: str, tables: Tables, changed: str, parts: Sequence[pa.Table]) -> PathwayRun | None:
    """Returns the times of deleting and inserting parts of a relation; None if the program has no version for it."""
    source, python = PROGRAMS / "pathway" / f"{program}.py", pathway_python()
    if python is None or not source.exists():
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "changed").write_text(changed)
        for kind in ("facts", "changes"):
            (folder / kind).mkdir()
        for relation, table in tables.items():
            _write(table, folder / "facts" / f"{relation}.arrow")
        for number, part in enumerate(parts):
            _write(part, folder / "changes" / f"{number:06}.arrow")
        command = [python, "-P", str(_FEED), str(source), name]  # not this module in the place of the library
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT)
    told = json.loads(done.stdout.splitlines()[-1])
    return PathwayRun(told["load"], tuple(told["deletes"]), tuple(told["inserts"]), tuple(told["rows"]))


def _write(table: pa.Table, path: Path) -> None:
    pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
