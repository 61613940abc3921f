"""Soufflé on the facts of a benchmark: programs compiled to C++, timed as processes that read files of facts.

A second program with the same declarations and no rules reads the same files, so that the time of the evaluation is a
difference. Contents are compared by a third, untimed run that writes its results.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import PROGRAMS, timed
from tidelog.bench.references.peer_run import PeerRun, Results

# The peak of a process counts what its parent had when it started it: a small parent starts it, and measures.
_STARTER = """\
import os, sys, time
started = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print(time.perf_counter() - started, usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""
_INPUT = re.compile(r"^\.input (.+)$", re.MULTILINE)
_DECLARATION = re.compile(r"^\.(?:decl|input|type) .*$", re.MULTILINE)


def run_souffle(program: str, data: Dataset, wanted: Results, times: int, threads: int) -> PeerRun | None:
    """Returns the times and results of the program's version for Soufflé; None if there is none."""
    source = PROGRAMS / "souffle" / f"{program}.dl"
    if not source.exists():
        return None
    text = source.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
        for relation, table in data.tables.items():
            pyarrow.csv.write_csv(table, folder / f"{relation}.facts", options)
        _compile(folder, "reading", _without_rules(text), threads)
        compiling = _compile(folder, "program", text, threads)
        reading = tuple(_run(folder, "reading", threads)[0] for _ in range(times))
        runs = [_run(folder, "program", threads) for _ in range(times)]
        found: dict[str, int | pa.Table] = dict(_sizes(runs[-1][2]))
        tables = {relation: rows for relation, rows in wanted.items() if isinstance(rows, pa.Table)}
        if tables:
            found |= _contents(folder, text, tables)
    seconds = tuple(each[0] for each in runs)
    return PeerRun(seconds, reading, found, compiling, max(each[1] for each in runs))


def _without_rules(text: str) -> str:
    """Returns a program that reads the same facts, and counts them so that they are not optimized away."""
    counted = [f".printsize {relations}" for relations in _INPUT.findall(text)]
    return "\n".join([*_DECLARATION.findall(text), *counted, ""])


def _compile(folder: Path, name: str, text: str, threads: int) -> float:
    """Returns the seconds of compiling a program, which is then a file of that name."""
    (folder / f"{name}.dl").write_text(text, encoding="utf-8")
    command = ["souffle", "-o", name, f"{name}.dl", "-j", str(threads)]
    return timed(lambda: subprocess.run(command, cwd=folder, check=True, capture_output=True))[0]


def _run(folder: Path, name: str, threads: int) -> tuple[float, float, str]:
    """Returns the seconds of a run, its peak memory in MB, and what it printed."""
    command = [sys.executable, "-I", "-S", "-c", _STARTER, f"./{name}", "-F", ".", "-j", str(threads)]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stderr.split()[-2:]
    return float(seconds), float(kilobytes) / 1024, done.stdout


def _sizes(told: str) -> dict[str, int]:
    lines = (line.split() for line in told.splitlines() if line.strip())
    return {relation: int(rows) for relation, rows in lines}


def _contents(folder: Path, text: str, wanted: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Returns the rows of these relations, which the interpreter writes."""
    for relation in wanted:
        text = text.replace(f".printsize {relation}\n", f".output {relation}\n")
    (folder / "contents.dl").write_text(text, encoding="utf-8")
    command = ["souffle", "-F", ".", "-D", ".", "contents.dl"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return {relation: _read(folder / f"{relation}.csv") for relation in wanted}


def _read(path: Path) -> pa.Table:
    return pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False),
    )
