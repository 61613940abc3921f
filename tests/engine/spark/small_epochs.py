"""Many small epochs on Spark: what an epoch costs at the end, beside the fiftieth.

    python -m tests.engine.spark.small_epochs --epochs 1000 --seed 1

Each epoch inserts and deletes a few edges of random trees, whose closure is decomposed. Every fifty epochs a line says
how many files and bytes the state has, how many bytes the last fifty epochs wrote, and their seconds; at the end the
closure is compared with a recomputation, and the state is opened again. With `--without-jobs` the tasks run in this
process, without Spark: the same files, in a tenth of the time.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import tidelog
from tidelog.bench.inputs.graphs import random_trees
from tidelog.bench.measure import PROGRAMS
from tidelog.engine.spark.plans.tasks.task import Job, TaskOutcome, run_bucket
from tidelog.engine.spark.session import LazySession, local_session

_AT_ONCE = 50


def run(epochs: int, edges: int, changed: int, seed: int, *, without_jobs: bool = False) -> list[dict[str, float]]:
    """Returns what each fifty epochs cost. Raises AssertionError if the result is not a recomputation."""
    rng, spark = random.Random(seed), LazySession() if without_jobs else local_session()
    if without_jobs:
        patch("tidelog.engine.spark.epoch.run_epoch.run_tasks", _run_here).start()
    rows = [(int(src), int(dst)) for src, dst in random_trees(edges, 80, seed)]
    there, away = set(rows), list[tuple[int, int]]()
    program, found = tidelog.compile(PROGRAMS / "closure.dl"), list[dict[str, float]]()
    with tempfile.TemporaryDirectory(prefix="tidelog-") as folder:
        state = Path(folder, "state")
        options: dict[str, Any] = {"plans": {"Reach": "decomposed"}, "spark": spark, "path": str(state)}
        with program.open("spark", **options) as db:
            with db.transaction() as tx:
                tx.insert("Edge", rows)
            times, written, seen = list[float](), 0, _files(state)
            for epoch in range(1, epochs + 1):
                deleted = rng.sample(sorted(there), changed) if epoch % 3 == 0 else rng.sample(rows, changed)
                deleted = [row for row in deleted if row in there]
                inserted, away = away[:changed], away[changed:] + deleted
                started = perf_counter()
                with db.transaction() as tx:
                    tx.delete("Edge", deleted)
                    tx.insert("Edge", inserted)
                times.append(perf_counter() - started)
                there = there - set(deleted) | set(inserted)
                now = _files(state)
                written += sum(size for name, size in now.items() if name not in seen)
                seen = now
                if epoch % _AT_ONCE == 0:
                    line = {"epoch": epoch, "files": len(now), "bytes": sum(now.values())}
                    found.append({**line, "written": written / _AT_ONCE, "seconds": median(times)})
                    print({name: round(value, 3) for name, value in found[-1].items()}, flush=True)
                    times, written = [], 0
            reached = set(db.relation("Reach").rows())
        with program.open() as local:
            with local.transaction() as tx:
                tx.insert("Edge", sorted(there))
            assert reached == set(local.relation("Reach").rows())
        with program.open("spark", **options) as db:
            assert set(db.relation("Edge").rows()) == there
            assert len(db.relation("Reach")) == len(reached)
    return found


def _run_here(spark: object, job: Job, workers: object) -> list[TaskOutcome]:
    return [run_bucket(job, bucket) for bucket in job.bucket_numbers]


def _files(state: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in state.rglob("*") if path.is_file()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("epochs", 1000), ("edges", 20_000), ("changed", 5), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--without-jobs", action="store_true")
    found = run(**vars(parser.parse_args()))
    for name in ("files", "bytes", "written", "seconds"):
        print(f"{name}: {found[-1][name] / found[0][name]:.2f} times those at epoch {_AT_ONCE}")


if __name__ == "__main__":
    main()
