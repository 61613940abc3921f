"""The Spark engine: a closure beside the usual DataFrame loop, a large load beside plain Spark, small epochs, rounds of
frames, and a large table.

All but the last run in one local session. The large table has a session of its own in another process, whose Java
memory is limited and whose Python memory is measured: nothing of the table may pass through it.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import Numbers, distinct, number_table
from tidelog.bench.inputs.graphs import closure_size, random_graph, random_trees
from tidelog.bench.measure import PROGRAMS, Outcome, spark_session, timed
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import InternalError

if TYPE_CHECKING:
    from tidelog.database.database import Database

CHANGED_ROWS = 100
GRAPH = "graphs/soc-Epinions1.txt.gz"


def spark(settings: Settings) -> Outcome:
    from tidelog.engine.spark.session import require_pyspark

    require_pyspark()
    out = Outcome()
    _large_table(settings, out)
    with spark_session() as session:
        with TemporaryDirectory(prefix="tidelog-") as folder:
            _closure(settings, out, session, folder)
        with TemporaryDirectory(prefix="tidelog-") as folder:
            _trees(settings, out, session, folder)
        _from_one(settings, out, session)
        _same_generation(settings, out, session)
        _rings(settings, out, session)
    return out


def dataframe_loop(edges: Any) -> int:
    """Computes the closure as a handwritten semi-naive loop that cuts the lineage of each round; returns the rows."""
    from pyspark.sql import functions as f

    edges = edges.cache()
    reached = edges.select(f.col("src").alias("x"), f.col("dst").alias("y")).distinct().localCheckpoint()
    delta = reached
    while not delta.isEmpty():
        found = delta.join(edges, delta.y == edges.src).select("x", f.col("dst").alias("y")).distinct()
        delta = found.join(reached, ["x", "y"], "left_anti").localCheckpoint()
        reached = reached.union(delta).localCheckpoint()
    rows = int(reached.count())
    edges.unpersist()
    return rows


def _closure(settings: Settings, out: Outcome, session: Any, folder: str) -> None:
    edges = random_graph(settings.pick(60, 1000, 1000), settings.pick(300, 10_000, 10_000))
    group, rows = f"closure of {len(edges):,} edges", closure_size(edges)
    table = number_table(edges, "src", "dst")
    frame = _parquet(session, table, folder)
    dataframe_loop(_parquet(session, table.slice(0, 50), folder))
    _first_epoch(session, table.slice(0, 50))[0].close()
    loops, epochs, small, jobs = [], [], list[float](), list[int]()
    for _ in range(settings.repeat):
        settings.say(f"{group}: the loop, and Tidelog")
        seconds, found = timed(partial(dataframe_loop, frame))
        loops.append(seconds)
        out.check(f"{group}: rows of the loop", found, rows)
        database, seconds = _first_epoch(session, table)
        epochs.append(seconds)
        out.check(f"{group}: rows", len(database.relation("Reach")), rows)
        changed = table.take(np.random.default_rng(2).choice(len(table), min(CHANGED_ROWS, len(table)), replace=False))
        for sign in (-1, +1):
            before = _jobs(session)
            small.append(timed(partial(_change, database, {"Edge": changed}, sign))[0])
            jobs.append(_jobs(session) - before)
        out.check(f"{group}: rows afterwards", len(database.relation("Reach")), rows)
        database.close()
    loop = out.case(group, "the usual DataFrame loop", loops, "spark", rows)
    first = out.case(group, "first epoch", epochs, rows=rows)
    out.case(group, f"an epoch of {changed.num_rows} rows, at most {max(jobs)} Spark jobs", small)
    out.ratio(group, "the loop / first epoch", loop, first)


def _trees(settings: Settings, out: Outcome, session: Any, folder: str) -> None:
    """Times the closure of trees: a first load and a batch of deletes from Parquet files, beside the local engine, and
    beside plain Spark that reads, divides by the pivot and writes the same rows."""
    edges = random_trees(settings.pick(2_000, 300_000, 1_770_000), 80)
    table = number_table(edges, "src", "dst")
    deleted = table.take(np.random.default_rng(2).choice(len(table), len(table) * 20 // 177, replace=False))
    frames = [_parquet(session, each, folder) for each in (table, deleted)]
    compiled = tidelog.compile(PROGRAMS / "closure.dl")
    group, times = f"trees of {len(edges):,} edges", list[tuple[float, ...]]()
    reached = f"{folder}/reached"
    settings.say(f"{group}: the local engine, Tidelog on Spark, and plain Spark")
    for _ in range(settings.repeat):
        with (
            compiled.open(threads=settings.threads) as local,
            compiled.open(engine="spark", spark=session) as remote,
        ):
            seconds = [
                timed(partial(_change, database, {"Edge": rows}, sign))[0]
                for rows, frame, sign in zip((table, deleted), frames, (1, -1))
                for database, rows in ((local, rows), (remote, frame))
            ]
            out.check(f"{group}: rows", len(remote.relation("Reach")), len(local.relation("Reach")))
            with remote.transaction() as transaction:
                transaction.insert("Edge", frames[1])
            rows = len(remote.relation("Reach"))
            remote.relation("Reach").to_spark().write.mode("overwrite").parquet(reached)
        floor = _shuffled(session, frames[0], folder) + _shuffled(session, session.read.parquet(reached), folder)
        times.append((*seconds, floor))
    local_load, load, local_batch, batch, floors = (tuple(each) for each in zip(*times))
    plain = out.case(group, "plain Spark reads, shuffles and writes its rows", floors, "spark", rows)
    out.case(group, "first load on the local engine", local_load, rows=rows)
    out.ratio(group, "first load / plain Spark", out.case(group, "first load", load, rows=rows), plain)
    name = f"{len(deleted):,} deletes"
    beside = out.case(group, f"{name} on the local engine", local_batch)
    out.ratio(group, f"{name} / the local engine", out.case(group, name, batch), beside)


def _shuffled(session: Any, frame: Any, folder: str) -> float:
    """Returns the seconds in which plain Spark reads rows, divides them by their first column and writes them."""
    tasks = session.sparkContext.defaultParallelism
    divided = frame.repartition(tasks, frame.columns[0])
    return timed(partial(divided.write.mode("overwrite").parquet, f"{folder}/shuffled"))[0]


def _from_one(settings: Settings, out: Outcome, session: Any) -> None:
    """Times the nodes that are reachable from the first one, on frames."""
    edges = _social_graph(settings)
    tables = {"Edge": number_table(edges, "src", "dst"), "Start": number_table(edges[:1, :1], "node")}
    _through_frames(settings, out, session, "from-one", "Found", tables, f"reachability over {len(edges):,} edges")


def _same_generation(settings: Settings, out: Outcome, session: Any) -> None:
    size = settings.pick(40, 1_500, 3_000)
    children = np.arange(1, size)
    up = distinct(np.stack([children, (children - 1) // 3], axis=1))
    tables = {"Up": number_table(up, "child", "parent")}
    _through_frames(settings, out, session, "same-generation", "Same", tables, f"same generation of {size:,}")


def _rings(settings: Settings, out: Outcome, session: Any) -> None:
    """Times a Bootstrap of many equal rounds, and epochs of few rows, which should take at most a fifth of it."""
    rings, length = settings.pick(6, 100, 1_000), settings.pick(5, 20, 40)
    first_nodes = np.arange(rings)[:, None] * (length + 1)
    around = np.arange(length)[None, :]
    nodes, following = first_nodes + around, first_nodes + (around + 1) % length
    tails = np.stack([first_nodes[:, 0], first_nodes[:, 0] + length], axis=1)
    edges = np.concatenate([np.stack([nodes.ravel(), following.ravel()], axis=1), tails])
    few_tails = tails[: min(CHANGED_ROWS, rings // 2)]
    group, rows = f"{rings:,} rings of {length}", rings * length * (length + 1)
    settings.say(f"{group}: frames")
    first, small = list[float](), list[float]()
    for _ in range(settings.repeat):
        compiled = tidelog.compile(PROGRAMS / "closure.dl")
        with compiled.open(engine="spark", spark=session, plans={"Reach": "frames"}) as database:
            first.append(_timed(database, {"Edge": number_table(edges, "src", "dst")}, 1, session, out, group))
            out.check(f"{group}: rows", len(database.relation("Reach")), rows)
            few = {"Edge": number_table(few_tails, "src", "dst")}
            small.append(_timed(database, few, -1, session, out, group))
            left = rows - len(few_tails) * length
            out.check(f"{group}: rows without tails", len(database.relation("Reach")), left)
            small.append(_timed(database, few, 1, session, out, group))
            out.check(f"{group}: rows afterwards", len(database.relation("Reach")), rows)
    whole = out.case(group, f"first epoch: {_spread(out)}", first, rows=rows)
    part = out.case(group, f"an epoch of {len(few_tails)} rows", small)
    name = f"first epoch / epoch of {len(few_tails)} rows (where the first takes 20 s, 5 at least)"
    out.ratio(group, name, whole, part)


def _timed(database: Database, tables: dict[str, pa.Table], sign: int, session: Any, out: Outcome, group: str) -> float:
    """Returns the seconds of one epoch on frames; adds its rounds and its Spark jobs to the outcome."""
    before = _jobs(session)
    seconds, _ = timed(partial(_change, database, tables, sign))
    for stratum in database.report.strata:
        rounds = [{"rows": rows, "seconds": round(each, 3)} for rows, each in stratum.by_round]
        out.rounds.append(
            {
                "group": group,
                "epoch": database.report.epoch,
                "strategy": stratum.strategy,
                "jobs": _jobs(session) - before,
                "rounds": rounds,
            }
        )
    return seconds


def _spread(out: Outcome) -> str:
    """Describes the times of the early and the late rounds of the last Bootstrap on frames, and its jobs."""
    last = next(each for each in reversed(out.rounds) if each["strategy"] == "bootstrap")
    times = [each["seconds"] for each in last["rounds"][1:]] or [0.0]
    fifth = max(len(times) // 5, 1)
    early, late = median(times[:fifth]), median(times[-fifth:])
    spread = f"{min(times):.2g} to {max(times):.2g} s, the first {fifth} {early:.2g}, the last {late:.2g}"
    return f"{len(last['rounds'])} rounds of {spread}; {last['jobs']} jobs"


def _through_frames(
    settings: Settings,
    out: Outcome,
    session: Any,
    program: str,
    relation: str,
    tables: dict[str, pa.Table],
    group: str,
) -> None:
    """Times a first epoch and one of few rows on frames; checks against the local engine."""
    settings.say(f"{group}: frames, and the local engine")
    compiled = tidelog.compile(PROGRAMS / f"{program}.dl")
    name, table = next(iter(tables.items()))
    few = table.slice(1, min(CHANGED_ROWS, len(table) // 4))
    with (
        compiled.open() as local,
        compiled.open(engine="spark", spark=session, plans={relation: "frames"}) as remote,
    ):
        for title, changed, sign in (("first epoch", tables, 1), ("few rows deleted", {name: few}, -1)):
            _change(local, changed, sign)
            seconds = _timed(remote, changed, sign, session, out, group)
            expected, found = _sorted(local, relation), _sorted(remote, relation)
            out.check(f"{group}: {title}", found.equals(expected), True)
            (stratum,) = remote.report.strata
            each = stratum.seconds / max(stratum.rounds, 1)
            jobs = out.rounds[-1]["jobs"]
            note = f"{stratum.strategy}, {stratum.rounds} rounds of {each:.2g} s, {jobs} jobs"
            out.case(group, f"{title}: {note}", (seconds,), rows=expected.num_rows)


def _large_table(settings: Settings, out: Outcome) -> None:
    """Times ingesting, joining and writing a large DataFrame, in a separate process."""
    rows = settings.pick(20_000, 1_000_000, 10_000_000)
    for count in (rows // 10, rows)[settings.scale == "tiny" :]:
        settings.say(f"a table of {count:,} rows, with 1 GB for the driver")
        command = [sys.executable, "-m", "tidelog.bench.suites.spark_table", str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InternalError(f"the large table failed: {done.stderr[-2000:]}", code=Code.WRONG_BENCHMARK_RESULT)
        found = json.loads(done.stdout.splitlines()[-1])
        group = f"a table of {count:,} rows"
        out.check(f"{group}: rows written", found["rows"], count)
        for name in ("ingested and joined", "written back"):
            out.case(group, name, (found[name],), rows=count)
        out.memory_mb[group] = {"peak of the Python driver": found["peak_mb"], "before": found["before_mb"]}


def _first_epoch(session: Any, table: pa.Table) -> tuple[Database, float]:
    database = tidelog.compile(PROGRAMS / "closure.dl").open(engine="spark", spark=session)
    seconds, _ = timed(partial(_change, database, {"Edge": table}, 1))
    return database, seconds


def _change(database: Database, tables: Mapping[str, Any], sign: int) -> None:
    with database.transaction() as transaction:
        for name, rows in tables.items():
            (transaction.insert if sign > 0 else transaction.delete)(name, rows)


def _sorted(database: Database, relation: str) -> pa.Table:
    table = database.relation(relation).to_arrow()
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def _jobs(session: Any) -> int:
    """Returns the number of jobs that the session has run."""
    return int(session.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def _parquet(session: Any, table: pa.Table, folder: str) -> Any:
    """Returns the table as a DataFrame over a Parquet file, from which the loop would start."""
    path = Path(folder, f"{len(table)}.parquet")
    pq.write_table(table, path)
    return session.read.parquet(str(path))


def _social_graph(settings: Settings) -> Numbers:
    """Returns the trust relation of Epinions, or as many random edges."""
    path = settings.file(GRAPH)
    if path is None or settings.scale == "tiny":
        return random_graph(settings.pick(100, 15_000, 75_877), settings.pick(300, 80_000, 405_740))
    with gzip.open(path, "rt") as file:
        return distinct(np.loadtxt(file, dtype=np.int64, comments="#"))
