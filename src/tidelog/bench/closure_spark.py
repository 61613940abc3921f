"""Transitive closure of a random graph on Spark: `python -m tidelog.bench.closure_spark`.

Prints, from one run in one session: the usual hand-written DataFrame loop (join, distinct, anti-join and checkpoint in
each round), Tidelog's first epoch on the Spark engine, and epochs that delete and insert one edge. Spark and both ways
are warmed on a small graph first.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from tidelog.bench.inputs.dataset import Numbers, number_table
from tidelog.bench.inputs.graphs import random_graph
from tidelog.bench.measure import PROGRAMS
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.session import local_session
from tidelog.rules.compile_rules import compile_rules


def dataframe_loop(spark: Any, edges: Any) -> int:
    """The closure as one would write it by hand: semi-naive, each round cut from its history; returns the rows."""
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


def first_epoch(spark: Any, edges: Numbers) -> tuple[SparkEngine, float]:
    """An engine with the closure of the edges, and the seconds that the first epoch took."""
    engine = SparkEngine(compile_rules(Source("closure.dl", (PROGRAMS / "closure.dl").read_text())).rules, spark=spark)
    engine.open()
    table = number_table(edges, "src", "dst")
    started = perf_counter()
    engine.commit([Operation("Edge", 1, table)])
    return engine, perf_counter() - started


def single_changes(engine: SparkEngine, edges: Numbers, times: int) -> list[float]:
    """Seconds of epochs that delete one edge, or insert it again."""
    seconds = []
    for pick in np.random.default_rng(2).integers(0, len(edges), times):
        for sign in (-1, 1):
            started = perf_counter()
            engine.commit([Operation("Edge", sign, number_table(edges[pick : pick + 1], "src", "dst"))])
            seconds.append(perf_counter() - started)
    return seconds


def read_edges(spark: Any, edges: Numbers, folder: str) -> Any:
    """The edges as a DataFrame over a Parquet file, which is what the loop would start from."""
    import pyarrow.parquet as pq

    path = Path(folder, f"{len(edges)}.parquet")
    pq.write_table(number_table(edges, "src", "dst"), path)
    return spark.read.parquet(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--edges", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="runs of either way; medians are printed")
    parser.add_argument("--changes", type=int, default=5, help="edges deleted and inserted one by one")
    options = parser.parse_args()
    edges, small = random_graph(options.nodes, options.edges), random_graph(50, 200)
    spark = local_session()
    with TemporaryDirectory() as folder:
        dataframe_loop(spark, read_edges(spark, small, folder))
        first_epoch(spark, small)[0].close()
        loops, epochs, changes = [], [], list[float]()
        rows = 0
        for run in range(options.runs):
            started = perf_counter()
            rows = dataframe_loop(spark, read_edges(spark, edges, folder))
            loops.append(perf_counter() - started)
            engine, seconds = first_epoch(spark, edges)
            epochs.append(seconds)
            assert engine.count("Reach") == rows, "the loop and the engine disagree"
            if run == options.runs - 1:
                changes = single_changes(engine, edges, options.changes)
            engine.close()
    loop, epoch = statistics.median(loops), statistics.median(epochs)
    print(f"closure of {options.nodes} nodes, {len(edges)} edges on Spark: {rows} rows")
    print(f"  DataFrame loop       {loop:8.2f} s")
    print(f"  Tidelog, first epoch {epoch:8.2f} s   {loop / epoch:.1f} x as fast as the loop")
    print(f"  Tidelog, one edge    {statistics.median(changes):8.2f} s   median of {len(changes)} epochs")
    spark.stop()


if __name__ == "__main__":
    main()
