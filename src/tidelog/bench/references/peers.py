"""Other systems on the same facts: Soufflé, compiled, and DuckDB; Pathway for the updates of the suite alone.

A peer is requested by name. One that is not installed is listed as missing; one that cannot express a program is left
out. Its results are compared before its times are shown. Compiling is shown, and part of no other time.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import subprocess

import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import Case, Outcome, Ratio, require_equal
from tidelog.bench.references.duckdb import run_duckdb
from tidelog.bench.references.pathway import pathway_python, pathway_version
from tidelog.bench.references.peer_run import PeerRun, Results, ordered
from tidelog.bench.references.souffle import run_souffle

PEERS = ("souffle", "duckdb", "pathway")


def is_installed(name: str) -> bool:
    if name == "souffle":
        return shutil.which("souffle") is not None
    if name == "pathway":
        return pathway_python() is not None
    return importlib.util.find_spec(name) is not None


def version_of(name: str) -> str | None:
    """Returns the version of an installed peer, of Soufflé with its size of words, or None."""
    if not is_installed(name):
        return None
    if name == "souffle":
        told = subprocess.run(["souffle", "--version"], capture_output=True, text=True, check=False).stdout
        lines = [line.strip() for line in told.splitlines() if "ersion" in line or "Word size" in line]
        return ", ".join(lines) or "unknown"
    if name == "pathway":
        return pathway_version()
    return str(importlib.import_module(name).__version__)


def beside(
    settings: Settings,
    program: str,
    data: Dataset,
    ours: Case,
    results: Results,
    out: Outcome,
    peak_mb: float | None = None,
) -> None:
    """Runs the installed peers on the same facts, requires the same results, and adds their cases and ratios.

    `results`: tables or numbers of rows. `peak_mb`: the memory that Tidelog's load took, to be compared.
    """
    for name in settings.peers:
        if name == "pathway" or not is_installed(name):
            continue
        settings.say(f"{data.name}: {name}")
        if name == "souffle":
            run = run_souffle(program, data, results, settings.repeat, settings.threads or 1)
        else:
            run = run_duckdb(program, data, results, settings.repeat, settings.threads)
        if run is not None:
            _check(out, data.name, name, results, run.found)
            _note(out, data.name, name, ours, run, peak_mb)


def _check(out: Outcome, group: str, name: str, results: Results, found: Results) -> None:
    for relation, rows in results.items():
        what, theirs = f"{group}: {relation}, as {name} has it", found[relation]
        if isinstance(rows, pa.Table) and isinstance(theirs, pa.Table):
            out.check(what, theirs.num_rows, rows.num_rows)
            out.check(f"{what}, row by row", ordered(theirs, rows).equals(ordered(rows, rows)), True)
        else:
            out.checks.append(require_equal(what, theirs, rows))


def _note(out: Outcome, group: str, name: str, ours: Case, run: PeerRun, peak_mb: float | None) -> None:
    whole = out.case(group, ours.name, run.seconds, name, ours.rows)
    out.ratio(group, f"{ours.name}: tidelog / {name}", ours, whole)
    reading = statistics.median(run.reading)
    evaluation = [each - reading for each in run.seconds]
    if min(evaluation) > 0:  # not so where both take a few milliseconds
        rest = out.case(group, f"{ours.name}, without reading", evaluation, name, ours.rows)
        out.ratio(group, f"{ours.name}: tidelog / {name} without reading", ours, rest)
    if run.compiling is not None:
        out.case(group, f"{ours.name}: compiling, in no other time", (run.compiling,), name)
    if run.peak_mb is not None and peak_mb is not None:
        out.memory_mb[f"{group}: {ours.name}, {name}"] = {"peak": round(run.peak_mb, 1)}
        out.ratios.append(Ratio(group, f"{ours.name}: peak memory, tidelog / {name}", peak_mb / run.peak_mb))
