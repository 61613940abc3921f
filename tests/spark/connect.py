"""The engine on Spark Connect: a server in a process of its own, and a client in another, which has no Java.

python -m tests.spark.connect sc://127.0.0.1:15002 DIR       the client: epochs on a server that runs already
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

import tidelog
from tests.spark.parity import Step, parity
from tests.spark.programs import LINEAR
from tidelog.engine.spark import rounds, segments

ROOT = Path(__file__).parent.parent.parent
GRAPH: list[Step] = [
    ({"Edge": [(1, 2), (2, 3), (3, 1), (3, 4), (7, 8)]}, {}),
    ({"Edge": [(4, 5)]}, {"Edge": [(2, 3), (9, 9)]}),
    ({"Edge": [(2, 4), (5, 1)]}, {"Edge": [(3, 1), (7, 8)]}),
]


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
    with patch.object(rounds, "MANY_SHARE", 9), patch.object(segments, "FAN", 2):
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
