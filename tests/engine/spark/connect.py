"""The engine on Spark Connect: a server in a process of its own, and a client in another, which has no Java.

python -m tests.engine.spark.connect sc://127.0.0.1:15002 DIR       the client: epochs on a server that runs already
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.engine.spark.epoch.test_limits import opened, when_it_runs
from tests.engine.spark.epoch.test_stopped import ENDLESS
from tests.engine.spark.parity import Step, parity, write
from tests.engine.spark.programs import LINEAR
from tests.pipeline.folder import REACH_FILE, Pipe

import tidelog
from tidelog.engine.spark.plans.frames import bootstrap, segments

ROOT = Path(__file__).parents[3]
GRAPH: list[Step] = [
    ({"Edge": [(1, 2), (2, 3), (3, 1), (3, 4), (7, 8)]}, {}),
    ({"Edge": [(4, 5)]}, {"Edge": [(2, 3), (9, 9)]}),
    ({"Edge": [(2, 4), (5, 1)]}, {"Edge": [(3, 1), (7, 8)]}),
]
NESTED = """
typedef Item = Item{name: string, sizes: Vec<u16>}
input relation In(item: Item, tags: Map<string, u8>)
output relation Out(item: Item, first: Option<u16>)
Out(i, i.sizes.nth(0)) :- In(i, _).
"""
NESTED_FRAME = "item struct<name: string, sizes: array<int>>, tags map<string, int>"
FEED = """[changes.Edge]
format = "json"
path   = "feed"
op     = "op"
"""


@contextmanager
def connect_server(log: Path) -> Iterator[str]:
    """A server with two cores on a free port of this machine; its address."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=environment)
    try:
        _wait_for(port, server, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the server has ended:\n{log.read_text()[-2000:]}"
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("the server does not answer")


def run_client(spark: Any, directory: str) -> None:
    """Several epochs by each plan agree with the local engine; DataFrames go in and come out; a state is reopened."""
    for plan in ("decomposed", "single task", "frames"):
        reports = parity(LINEAR, GRAPH, spark, plans={"Reach": plan})
        assert reports[-1].strata[0].place == plan
    with patch.object(bootstrap, "MANY_SHARE", 9), patch.object(segments, "FAN", 2):
        parity(LINEAR, [({"Edge": [(i, i + 1) for i in range(8)]}, {})], spark, plans={"Reach": "frames"})
    program = tidelog.compile(LINEAR)
    with program.open("spark", spark=spark, path=directory) as database:
        with database.transaction() as tx:
            tx.insert("Edge", spark.createDataFrame([(1, 2), (2, 3), (3, 4)], "x int, y int"))
        assert {tuple(row) for row in tx.changes["Reach"].to_spark().collect()} >= {(1, 4, 1), (2, 4, 1)}
        assert database.relation("Reach").to_spark().where("x = 1").count() == 3
    with tidelog.open(directory, spark=spark) as database:
        with database.transaction() as tx:
            tx.delete("Edge", spark.createDataFrame([(2, 3)], "x long, y long"))
        assert sorted(database.relation("Reach")) == [(1, 2), (3, 4)]
        assert len(database.explain("Reach", (1, 2))) == 2
    _end_epochs(spark, Path(directory).with_name("ended"))
    _move_nested_values(spark)
    _run_a_pipeline(spark, Path(directory).with_name("pipe"))


def _end_epochs(spark: Any, directory: Path) -> None:
    """An epoch is cancelled in a task and between rounds, and each limit ends one; the last commit stays."""
    for plan in ("single task", "frames"):
        with opened(ENDLESS, spark, directory / plan, plan, deadline=600) as database:
            when_it_runs(database, plan, directory / plan, database.cancel)
            assert _code_of(database) == "E608", plan
            database._locked.on_progress(None)
            write(database, ({"Other": [1]}, {}))
            assert (database.report.epoch, database.relation("Seen").rows()) == (1, [(1,)])
    limits: list[tuple[str, dict[str, Any], str]] = [
        ("single task", {"max_rounds": 2}, "E605"),
        ("frames", {"max_rounds": 2}, "E605"),
        ("single task", {"max_rows": 2}, "E606"),
        ("single task", {"deadline": 3.0}, "E607"),
        ("frames", {"deadline": 3.0}, "E607"),
    ]
    for number, (plan, limit, code) in enumerate(limits):
        with opened(ENDLESS, spark, directory / str(number), plan, **limit) as database:
            assert _code_of(database) == code, (plan, limit)
            assert (database.report.epoch, database.relation("Start").rows()) == (0, [])


def _code_of(database: tidelog.Database) -> str | None:
    """The code of the error with which an epoch that would run for hours ends."""
    with pytest.raises(tidelog.EvaluationError) as caught:
        write(database, ({"Start": [0]}, {}))
    return caught.value.code


def _move_nested_values(spark: Any) -> None:
    """Structs, vectors, maps and options go in as rows and as a DataFrame, and come out as both."""
    program = tidelog.compile(NESTED)
    frame = spark.createDataFrame([(("a", [1, 2]), {"x": 1}), (("b", []), {})], NESTED_FRAME)
    with program.open() as local, program.open("spark", spark=spark) as remote:
        with remote.transaction() as tx:
            tx.insert("In", frame)
        found = remote.relation("Out").rows()
        with local.transaction() as tx:
            tx.insert("In", remote.relation("In").rows())
        assert len(found) == 2
        assert local.relation("Out").rows() == found
        again = remote.relation("In").to_spark()
        with remote.transaction() as tx:
            tx.delete("In", again.where("item.name = 'a'"))
        assert tx.changes["Out"].to_spark().select("item.name", "_weight").collect() == [("a", -1)]


def _run_a_pipeline(spark: Any, folder: Path) -> None:
    """Inputs and outputs need no streaming query, which Connect would run on its server; feeds are refused."""
    folder.mkdir()
    pipe = Pipe(folder, file=REACH_FILE.replace(FEED, ""), engine="spark")
    pipe.table("src,dst\na,b\nb,c\n")
    pipe.run(spark=spark)
    assert pipe.summed("reach") == {("a", "b"), ("a", "c"), ("b", "c")}
    pipe.write_file(REACH_FILE)
    with pytest.raises(tidelog.UsageError, match="Spark Connect"):
        pipe.run(spark=spark)


def main() -> int:
    address, directory = sys.argv[1:]
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(address).getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    run_client(spark, directory)
    spark.stop()
    print("all is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
