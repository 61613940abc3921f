"""What a user without Java or PySpark is told."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import pytest

from tidelog.diagnostics.errors import MissingDependencyError
from tidelog.engine.spark.session import (
    is_on_this_machine,
    parallel_tasks,
    require_java,
    require_pyspark,
    tasks_together,
)


def test_without_java_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingDependencyError, match="needs Java 17 or newer") as caught:
        require_java()
    assert "sudo apt-get install -y openjdk-17-jre-headless" in (caught.value.help or "")


def test_java_home_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    require_java()


def test_without_pyspark_the_error_has_the_command() -> None:
    without = mock.patch.dict(sys.modules, {"pyspark": None, "pyspark.sql": None})
    with without, pytest.raises(MissingDependencyError) as caught:
        require_pyspark()
    assert caught.value.help == 'run `pip install "tidelog[spark]"`'


class Session:
    """A session with some settings."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.conf = settings


class Remote(Session):
    """The client of a server on some host."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, settings: dict[str, str], host: str) -> None:
        super().__init__(settings)
        self.client = mock.Mock(host=host)


@pytest.mark.parametrize(
    ("settings", "tasks"),
    [
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[3]"}, 3),
        ({"spark.master": "local[3,2]"}, 3),
        ({"spark.master": "local[*]", "spark.default.parallelism": "6"}, 6),
        ({"spark.master": "local-cluster[2,3,1024]"}, 6),
        ({"spark.master": "spark://host:7077", "spark.executor.instances": "4", "spark.executor.cores": "2"}, 8),
        ({"spark.master": "yarn", "spark.default.parallelism": "40", "spark.executor.instances": "4"}, 40),
        ({"spark.master": "k8s://host", "spark.sql.shuffle.partitions": "12"}, 12),
    ],
)
def test_the_settings_tell_how_many_tasks_run_at_a_time(settings: dict[str, str], tasks: int) -> None:
    assert parallel_tasks(Session(settings)) == tasks


@pytest.mark.parametrize(
    ("settings", "tasks"),
    [
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[3]"}, 3),
        ({"spark.master": "local[*]", "spark.default.parallelism": "6"}, 0),
        ({"spark.master": "local[3]", "spark.task.cpus": "2"}, 0),
        ({"spark.master": "local-cluster[2,3,1024]"}, 6),
        ({"spark.master": "spark://host:7077", "spark.executor.instances": "4", "spark.executor.cores": "2"}, 8),
        (
            {
                "spark.master": "yarn",
                "spark.executor.instances": "4",
                "spark.executor.cores": "2",
                "spark.dynamicAllocation.enabled": "true",
            },
            0,
        ),
        ({"spark.master": "yarn", "spark.default.parallelism": "40"}, 0),
    ],
)
def test_tasks_run_together_only_where_the_settings_say_so(settings: dict[str, str], tasks: int) -> None:
    assert tasks_together(Session(settings)) == tasks


def test_a_server_elsewhere_shares_no_disk_with_this_process() -> None:
    local = {"spark.master": "local[2]"}
    assert is_on_this_machine(Session(local))
    assert is_on_this_machine(Remote(local, "localhost"))
    assert not is_on_this_machine(Remote(local, "spark.example.org"))
    assert not is_on_this_machine(Session({"spark.master": "yarn"}))
