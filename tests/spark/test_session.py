"""What a user without Java or PySpark is told."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import pytest

from tidelog.diagnostics.errors import MissingDependencyError
from tidelog.engine.spark.session import require_java, require_pyspark


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
