"""What a record of benchmarks looks like on a terminal."""

from __future__ import annotations

import pytest

from tidelog.bench.measure import Case, Outcome
from tidelog.bench.present import print_record
from tidelog.bench.run import _record


def test_rounds_jobs_and_memory_of_either_kind_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = [{"rows": 1200, "seconds": 0.5}, {"rows": 30, "seconds": 0.25}]
    outcome = Outcome(
        cases=[Case("rings", "first epoch", (1.0,), rows=7)],
        memory_mb={"a process": {"peak": 100.0, "before": 60.0}, "a state": {"elastic": 10.0, "counting": 40.0}},
        rounds=[{"group": "rings", "epoch": 1, "strategy": "bootstrap", "jobs": 9, "rounds": rounds}],
    )
    machine = {"cores": 2, "processor": "a", "load": 0.0}
    benchmarks = [{"name": "b", **_record(outcome)}]
    peers = {"duckdb": "1.0", "souffle": None}
    print_record(
        {"benchmarks": benchmarks, "peers": peers, "missing": ["souffle"], "machine": machine, "scale": "tiny"}
    )
    told = capsys.readouterr().out
    assert "rings, epoch 1: bootstrap, 9 Spark jobs; rows by round: 1,200 in 0.50 s, 30 in 0.25 s" in told
    assert "a process: memory, peak 100 MB, before 60 MB" in told
    assert "a state: memory, elastic 10 MB, counting 40 MB" in told
    assert "peers: duckdb (1.0)\n" in told
    assert "not installed, and so not run: souffle" in told
