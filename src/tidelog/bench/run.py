"""Benchmarks and settings → one record: the machine, the versions, and the results of each benchmark."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidelog.bench.benchmark import Benchmark, Scale, Settings, known_names
from tidelog.bench.machine import describe_machine, describe_versions
from tidelog.bench.measure import Case, Outcome
from tidelog.bench.references.peers import PEERS, is_installed, version_of
from tidelog.bench.registry import find
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError

DATA_FILES = ("galen.zip", "crdt.zip", "doop", "graphs", "lubm")


def run_benchmarks(
    names: Sequence[str],
    *,
    data: Path | None = None,
    peers: Sequence[str] = (),
    repeat: int = 3,
    scale: Scale = Scale.SMALL,
    threads: int | None = None,
    programs: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Runs the benchmarks in order; returns a record that can be written as JSON.

    Raises UsageError for unknown names and missing data, InternalError for a wrong result.
    """
    chosen = find(names)
    _check_data(data)
    requested = known_names(peers, PEERS, "peer", Code.UNKNOWN_PEER)
    settings = Settings(scale, data, requested, max(1, repeat), say, threads, tuple(programs))
    found = [_run(benchmark, settings) for benchmark in chosen]
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": describe_versions(),
        "peers": {name: version_of(name) for name in requested},
        "missing": [name for name in requested if not is_installed(name)],
        "scale": str(scale),
        "repeat": settings.repeat,
        "threads": threads,
        "benchmarks": found,
    }


def _run(benchmark: Benchmark, settings: Settings) -> dict[str, Any]:
    settings.say(f"{benchmark.name}: {benchmark.shows}")
    load = describe_machine()["load"]
    outcome = benchmark.run(settings)
    return {"name": benchmark.name, "shows": benchmark.shows, "load_before": load, **_record(outcome)}


def _record(outcome: Outcome) -> dict[str, Any]:
    return {
        "inputs": outcome.inputs,
        "cases": [_case(case) for case in outcome.cases],
        "ratios": [asdict(ratio) | {"spread": ratio.spread and list(ratio.spread)} for ratio in outcome.ratios],
        "epochs": outcome.epochs,
        "rounds": outcome.rounds,
        "updates": outcome.updates,
        "checks": list(dict.fromkeys(outcome.checks)),
        "memory_mb": outcome.memory_mb,
    }


def _case(case: Case) -> dict[str, Any]:
    return {
        "group": case.group,
        "name": case.name,
        "who": case.who,
        "rows": case.rows,
        "repetitions": len(case.seconds),
        "median": statistics.median(case.seconds),
        "min": min(case.seconds),
        "max": max(case.seconds),
        "seconds": list(case.seconds),
    }


def _check_data(data: Path | None) -> None:
    if data is None:
        return
    if not data.is_dir():
        raise UsageError(f"the data folder {data} does not exist", code=Code.NO_BENCHMARK_DATA)
    if not any((data / name).exists() for name in DATA_FILES):
        raise UsageError(
            f"the data folder {data} has none of {', '.join(DATA_FILES)}",
            code=Code.NO_BENCHMARK_DATA,
            help="leave `--data` out to run on generated data",
        )
