"""Spark sessions: makes one that suits Tidelog (local, small, quiet), and tells what a given one can do.

The settings follow from one measurement: a Spark job costs 0.1 to 0.7 s however little it does. So partitions are as
many as cores (not 200), adaptive execution is off (it runs each shuffle as a job of its own), and everything that
serves people who watch clusters (the web page, the progress bar, warnings) is off. Tidelog works with any session,
classic or Connect; it makes this one only when it is given none.

Nothing here imports pyspark before a session is requested, so the package works without Java.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import RLock
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import MissingDependencyError, UsageError

_INSTALL_PYSPARK = 'pip install "tidelog[spark]"'
_INSTALL_JAVA = "sudo apt-get install -y openjdk-17-jre-headless"

_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def require_pyspark() -> None:
    """Raises MissingDependencyError, with the command to run, when PySpark cannot be imported."""
    try:
        import pyspark.sql  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"the Spark engine needs PySpark: {error}", code=Code.NO_PYSPARK, help=f"run `{_INSTALL_PYSPARK}`"
        ) from error


def require_java() -> None:
    """Raises MissingDependencyError, with the command to run, when there is no Java to start Spark with."""
    if _find_java() is None:
        raise MissingDependencyError(
            "the Spark engine needs Java 17 or newer, and no `java` was found on the PATH or under JAVA_HOME",
            code=Code.NO_JAVA,
            help=f"on Debian or Ubuntu run `{_INSTALL_JAVA}`; elsewhere install a JDK 17 and set JAVA_HOME",
        )


def local_session(*, cores: int | None = None, memory: str = "4g") -> Any:
    """Returns the session of this process, or a new local one with `cores` tasks at a time (all cores when None).

    Raises MissingDependencyError when PySpark or Java is missing or does not start.
    """
    require_pyspark()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    tasks = cores or os.cpu_count() or 1
    # Workers must run the Python that has Tidelog, whatever `python3` is on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{tasks}]").appName("tidelog")
    builder = builder.config("spark.driver.memory", memory).config("spark.sql.shuffle.partitions", str(tasks))
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    try:
        with _java_talks_to_a_file() as log:
            return builder.getOrCreate()
    except PySparkRuntimeError as error:
        said = log.read_text(errors="replace").strip()[-2000:]
        raise MissingDependencyError(
            f"Spark does not start with the Java at {_find_java()}: {error}\n{said}",
            code=Code.NO_JAVA,
            help=f"Spark needs Java 17 or newer; on Debian or Ubuntu run `{_INSTALL_JAVA}`",
        ) from error


def active_session() -> Any:
    """Returns the session of this process; None if there is none, or PySpark is not imported yet."""
    loaded = sys.modules.get("pyspark.sql")
    return None if loaded is None else loaded.SparkSession.getActiveSession()


class LazySession:
    """A local session that is made at its first use; `made` is the session, None before. `when_made` is called then."""

    def __init__(self) -> None:
        self.made: Any = None
        self.when_made: Callable[[], object] = lambda: None
        self._lock = RLock()  # a reader may need the session while an epoch does

    def __getattr__(self, name: str) -> Any:
        if self.made is None:
            with self._lock:
                if self.made is None:
                    self.made = local_session()
                    self.when_made()
        return getattr(self.made, name)


def is_started(spark: Any) -> bool:
    """True if a session is there already."""
    return not isinstance(spark, LazySession) or spark.made is not None


def require_running(spark: Any) -> None:
    """Raises UsageError for a session that was stopped."""
    if isinstance(spark, LazySession):
        spark = spark.made
    is_stopped = spark.is_stopped if is_connect(spark) else getattr(spark.sparkContext, "_jsc", True) is None
    if is_stopped:
        raise UsageError(
            "the Spark session was stopped",
            code=Code.UNKNOWN_ENGINE,
            help="close the database, and open it with another: `spark=SparkSession.builder.getOrCreate()`",
        )


def parallel_tasks(spark: Any) -> int:
    """Returns how many tasks a session runs at once, as far as its settings tell."""
    if isinstance(spark, LazySession):
        return os.cpu_count() or 1
    here = re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", _master(spark))
    if here is not None and here[1] != "*":
        return int(here[1] or 1)
    cluster = re.fullmatch(r"local-cluster\[(\d+),(\d+),\d+\]", _master(spark))
    if cluster is not None:
        return int(cluster[1]) * int(cluster[2])
    parallelism = spark.conf.get("spark.default.parallelism", None)
    executors, cores = (spark.conf.get(f"spark.executor.{name}", None) for name in ("instances", "cores"))
    if parallelism is None and executors is not None and cores is not None:
        return int(executors) * int(cores)
    return int(parallelism or spark.conf.get("spark.sql.shuffle.partitions", "2"))


def tasks_together(spark: Any) -> int:
    """Returns how many tasks of one job are certain to run at the same time; 0 if its settings do not tell."""
    if isinstance(spark, LazySession):
        return 0
    get = spark.conf.get
    if get("spark.dynamicAllocation.enabled", "false").lower() == "true" or get("spark.task.cpus", "1") != "1":
        return 0
    executors, cores = (get(f"spark.executor.{name}", None) for name in ("instances", "cores"))
    if re.fullmatch(r"local(\[\d+(,.*)?\])?|local-cluster\[.*\]", _master(spark)):
        return parallel_tasks(spark)
    is_local = _master(spark).startswith("local")
    return 0 if executors is None or cores is None or is_local else int(executors) * int(cores)


def is_on_one_machine(spark: Any) -> bool:
    """True if all tasks run on one machine, so that they share its disk."""
    return isinstance(spark, LazySession) or _master(spark).startswith("local")


def is_on_this_machine(spark: Any) -> bool:
    """True if all tasks run on the machine of this process; a server of Spark Connect may be elsewhere."""
    if isinstance(spark, LazySession):
        return True
    is_here = not is_connect(spark) or spark.client.host in ("localhost", "127.0.0.1", "::1")
    return is_on_one_machine(spark) and is_here


def is_connect(spark: Any) -> bool:
    """True if a session is one of Spark Connect, which has neither Java nor a context."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _master(spark: Any) -> str:
    return str(spark.conf.get("spark.master", ""))


def _find_java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


@contextlib.contextmanager
def _java_talks_to_a_file() -> Iterator[Path]:
    """Yields a file for the standard error of a process that is started inside the block.

    Java greets with warnings that no context silences, and the JVM keeps for life the standard error it starts with.
    Errors that matter (a failed job) become Python exceptions.
    """
    handle, name = tempfile.mkstemp(prefix="tidelog-spark-", suffix=".log")
    atexit.register(Path(name).unlink, missing_ok=True)
    kept = os.dup(2)
    try:
        os.dup2(handle, 2)
        yield Path(name)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(handle)
