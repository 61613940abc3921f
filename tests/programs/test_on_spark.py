"""Every folder on the Spark engine: the same changes, the same text.

All of them go through the engine's tasks in this process, with plans that change from job to job. Some go through a
real session, others every day (`tests.sample`); `make soak` runs all of them there.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.engine.spark.in_process import ALWAYS, NEVER, NoSpark, tasks_here
from tests.programs.folder import Folder
from tests.programs.run_script import FOLDERS as SCRIPTS
from tests.programs.run_script import expected, run_script
from tests.programs.test_programs import FOLDERS, makes_expected_changes
from tests.sample import day, todays

pytest.importorskip("pyspark")

SCRIPTS_A_DAY, FOLDERS_A_DAY = 3, 2


def name(folder: Folder | Path) -> str:
    return f"{folder.name}, day {day()}"


@pytest.mark.parametrize("folder", SCRIPTS, ids=lambda folder: folder.name)
def test_a_script_prints_the_same_through_tasks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    coin = random.Random(folder.name)
    with tasks_here(lambda: coin.choice((ALWAYS, NEVER)), seed=len(folder.name)):
        code = run_script(folder, monkeypatch, {"engine": "spark", "spark": NoSpark()})
    out, err = capsys.readouterr()
    assert out == expected(folder), err
    assert code == 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_program_makes_the_expected_changes_through_tasks(folder: Folder) -> None:
    coin = random.Random(folder.name)
    with tasks_here(lambda: coin.choice((ALWAYS, NEVER)), seed=len(folder.name)):
        makes_expected_changes(folder, "spark", spark=NoSpark())


@pytest.mark.spark
@pytest.mark.parametrize("folder", todays(SCRIPTS, SCRIPTS_A_DAY), ids=name)
def test_a_script_prints_the_same_on_spark(
    folder: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code = run_script(folder, monkeypatch, {"engine": "spark", "spark": spark})
    out, err = capfd.readouterr()
    assert out == expected(folder), err
    assert code == 0


@pytest.mark.spark
@pytest.mark.parametrize("folder", todays(FOLDERS, FOLDERS_A_DAY), ids=name)
def test_a_program_makes_the_expected_changes_on_spark(folder: Folder, spark: Any) -> None:
    makes_expected_changes(folder, "spark", spark=spark)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_program_makes_the_expected_changes_with_rules_as_rows_on_spark(folder: Folder, spark: Any) -> None:
    makes_expected_changes(folder, "spark", spark=spark, strategy="circuit")
