"""The engine on a cluster of several processes on this machine, one of which is killed in the middle of an epoch:

    python -m tests.engine.spark.cluster DIR

Two executors, each a process with its own Python processes. When the first task of an epoch has begun, one executor is
killed. Spark runs its tasks again elsewhere; the epoch comes to its end, or fails and leaves the last commit. Either
way the next epochs are exact.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.engine.spark.parity import Step, open_on_spark, write
from tests.engine.spark.programs import LINEAR

import tidelog

STEPS: list[Step] = [
    ({"Edge": [(i, i + 1) for i in range(120)]}, {}),
    ({"Edge": [(120, 121), (50, 200), (200, 201)]}, {"Edge": [(60, 61)]}),
    ({"Edge": [(60, 61)]}, {"Edge": [(3, 4), (50, 200)]}),
    ({"Edge": [(3, 4)]}, {"Edge": [(100, 101)]}),
]
KILLED_IN = 1


def cluster_session() -> Any:
    """A session on two executors with a core each."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tidelog")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def executors(spark: Any) -> list[int]:
    """The processes of the session's executors, by the address of the driver that they were started for."""
    port = spark.conf.get("spark.driver.port")
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            url = f"spark://CoarseGrainedScheduler@127.0.0.1:{port}".encode()
            if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command and url in command:
                found.append(int(entry.name))
    return sorted(found)


def kill_one_when_a_task_begins(spark: Any, epoch: Path, killed: list[int]) -> None:
    """Waits for the first claim of a bucket, and kills an executor."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if any(epoch.glob("claim.*")):
            killed.append(executors(spark)[0])
            os.kill(killed[0], signal.SIGKILL)
            return
        time.sleep(0.002)


def run(spark: Any, directory: Path) -> None:
    options = {"path": str(directory), "plans": {"Reach": "decomposed"}}
    killed: list[int] = []
    outcome = "finished"
    with tidelog.compile(LINEAR).open() as local, open_on_spark(LINEAR, spark, **options) as remote:
        for number, step in enumerate(STEPS):
            if number == KILLED_IN:
                assert len(executors(spark)) == 2
                epoch = directory / f"epoch-{remote.report.epoch + 1}"
                killer = threading.Thread(target=kill_one_when_a_task_begins, args=(spark, epoch, killed))
                killer.start()
                try:
                    write(remote, step)
                except tidelog.EvaluationError as error:
                    if error.code != "E704":
                        raise
                    outcome = "failed cleanly"
                    write(remote, step)
                killer.join()
                assert killed, "no executor was killed"
            else:
                write(remote, step)
            write(local, step)
            assert remote.relation("Reach").rows() == local.relation("Reach").rows(), f"after step {number}"
        assert remote.report.epoch == local.report.epoch == len(STEPS)
        assert remote.report.strata[0].reason.endswith("of 2 buckets")
    print(f"one of two executors was killed, and the epoch {outcome}")


def main() -> int:
    spark = cluster_session()
    work = Path(os.environ.get("SPARK_HOME") or _home()) / "work" / spark.sparkContext.applicationId
    try:
        run(spark, Path(sys.argv[1]))
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    return 0


def _home() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent)


if __name__ == "__main__":
    sys.exit(main())
