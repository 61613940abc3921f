"""Soufflé on the facts of a benchmark: programs compiled to C++, timed as processes that read files of facts.

A second program with the same declarations and no rules reads the same files, so that the time of the evaluation is a
difference. Contents are compared by a third, untimed run that writes its results. Checksums are computed by rules that
wait for a fact: the timed runs do not give it, a last one does.

If the environment variable TIDELOG_BENCH_CACHE names a folder, compiled programs are kept there for later runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import PROGRAMS, timed
from tidelog.bench.references.checksum import Checksum, checksum, souffle_expression
from tidelog.bench.references.peer_run import Found, PeerRun, Results
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import InternalError

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
    checked = {relation: each for relation, each in wanted.items() if isinstance(each, Checksum)}
    text = source.read_text(encoding="utf-8") + _checking(source.read_text(encoding="utf-8"), checked)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
        for relation, table in data.tables.items():
            pyarrow.csv.write_csv(table, folder / f"{relation}.facts", options)
        (folder / "Wanted.facts").write_text("")
        _compile(folder, "reading", _without_rules(text), 1)
        compiling = _compile(folder, "program", text, threads)
        reading = tuple(_run(folder, "reading", threads)[0] for _ in range(times))
        runs = [_run(folder, "program", threads) for _ in range(times)]
        found: dict[str, Found] = dict(_sizes(runs[-1][2]))
        tables = {relation: rows for relation, rows in wanted.items() if isinstance(rows, pa.Table)}
        if tables:
            found |= _contents(folder, text, tables)
        if checked:
            found |= _checksums(folder, checked, threads)
    seconds = tuple(each[0] for each in runs)
    return PeerRun(seconds, reading, found, compiling, max(each[1] for each in runs))


def _without_rules(text: str) -> str:
    """Returns a program that reads the same facts, and counts them so that they are not optimized away."""
    counted = [f".printsize {relations}" for relations in _INPUT.findall(text)]
    return "\n".join([*_DECLARATION.findall(text), *counted, ""])


def _checking(text: str, wanted: dict[str, Checksum]) -> str:
    """Returns rules for checksums of numbers, and for rows of text, that derive nothing without a fact of `Wanted`."""
    if not wanted:
        return ""
    lines = [".decl Wanted(least: unsigned)", ".input Wanted"]
    for relation, each in wanted.items():
        terms = ", ".join(f"x{i}" for i in range(each.columns))
        if each.has_text:
            (declared,) = re.findall(rf"^\.decl {relation}(\(.*\))", text, re.MULTILINE)
            lines += [f".decl Rows_{relation}{declared}", f".output Rows_{relation}"]
            lines.append(f"Rows_{relation}({terms}) :- Wanted(_), {relation}({terms}).")
        else:
            # No column is below 0. Without a variable of its rule, the aggregate would be computed in any case.
            rows = f"{relation}({terms}), as(x0, unsigned) >= least"
            lines += [f".decl Sum_{relation}(total: unsigned)", f".output Sum_{relation}"]
            lines.append(
                f"Sum_{relation}(s) :- Wanted(least), s = sum {souffle_expression(each.columns)} : {{ {rows} }}."
            )
    return "\n".join([*lines, ""])


def _checksums(folder: Path, wanted: dict[str, Checksum], threads: int) -> dict[str, Checksum]:
    """Returns the checksums of these relations, from a run that is given a fact of `Wanted`."""
    (folder / "Wanted.facts").write_text("0\n")
    sizes = _sizes(_run(folder, "program", threads)[2])
    found = {}
    for relation, each in wanted.items():
        if each.has_text:
            found[relation] = checksum(_read(folder / f"Rows_{relation}.csv")) if sizes[relation] else each
        else:
            total = int((folder / f"Sum_{relation}.csv").read_text() or 0)
            found[relation] = Checksum(sizes[relation], total & 0xFFFFFFFF, each.columns)
    return found


def _compile(folder: Path, name: str, text: str, threads: int) -> float:
    """Returns the seconds of compiling a program, which is then a file of that name."""
    (folder / f"{name}.dl").write_text(text, encoding="utf-8")
    kept = _kept(f"{threads}\n{text}")
    if kept is not None and kept.exists():
        shutil.copy(kept, folder / name)
        return float(kept.with_suffix(".seconds").read_text())
    command = ["souffle", "-o", name, f"{name}.dl", "-j", str(threads)]
    seconds, done = timed(lambda: subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True))
    if done.returncode:
        raise InternalError(f"Soufflé cannot compile {name}: {done.stderr}", code=Code.WRONG_BENCHMARK_RESULT)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.with_suffix(".seconds").write_text(str(seconds))
        shutil.copy(folder / name, kept)
    return seconds


def _kept(what: str) -> Path | None:
    """Returns the place of a compiled program in the folder that keeps them; None if none does."""
    folder = os.environ.get("TIDELOG_BENCH_CACHE")
    compiler = shutil.which("souffle")
    if not folder or compiler is None:
        return None
    version = f"{compiler} {Path(compiler).stat().st_mtime_ns}"
    return Path(folder, hashlib.sha256(f"{version}\n{what}".encode()).hexdigest()[:32])


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
