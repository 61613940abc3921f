"""Every program folder on every engine that it names, and its expected files against the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.oracle.history import apply
from tests.oracle.types import Relations, Row
from tests.programs.folder import Folder, load
from tests.properties.check import assert_same, difference_of_outputs, oracle
from tests.properties.replay import Replay

FOLDERS = [load(path.parent) for path in sorted(Path(__file__).parent.glob("*/epoch-0"))]


def runs_on(engine: str) -> pytest.MarkDecorator:
    folders = [folder for folder in FOLDERS if engine in folder.engines]
    return pytest.mark.parametrize("folder", folders, ids=lambda folder: folder.name)


@runs_on("local")
def test_program_on_the_local_engine_makes_the_expected_changes(folder: Folder) -> None:
    makes_expected_changes(folder, "local")


@pytest.mark.spark
@runs_on("spark")
def test_program_on_spark_makes_the_expected_changes(folder: Folder, spark: Any) -> None:
    makes_expected_changes(folder, "spark", spark=spark)


def makes_expected_changes(folder: Folder, engine: str, **options: Any) -> None:
    """Asserts each epoch's changes, and that in the end the changes add up to the relations."""
    with Replay(folder.program, engine, folder.text, **options) as replay:
        rows: dict[str, frozenset[Row]] = {relation.name: frozenset() for relation in folder.program.named("output")}
        found = replay.initial()
        for number, expected in enumerate(folder.expected):
            if number > 0:
                found = replay.run(folder.transactions[number - 1])
            assert_same(expected, found, f"changes of {_epoch(number)}")
            for name, (inserted, deleted) in found.items():
                rows[name] = (rows[name] | inserted) - deleted
        relations = replay.relations()
        assert_same(rows, {name: relations[name] for name in rows}, "relations at the end")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_expected_files_are_what_the_oracle_says(folder: Folder) -> None:
    facts: Relations = {}
    before: Relations = {relation.name: frozenset() for relation in folder.program.relations}
    for number, expected in enumerate(folder.expected):
        if number > 0:
            facts = apply(facts, folder.transactions[number - 1])
        after = oracle(folder.program, facts)
        assert_same(difference_of_outputs(folder.program, before, after), expected, f"files of {_epoch(number)}")
        before = after


def test_folders_cover_both_engines_and_every_epoch_changes_something() -> None:
    assert len(FOLDERS) >= 15
    assert sum("spark" in folder.engines for folder in FOLDERS) >= 4
    for folder in FOLDERS:
        assert any(deleted for changes in folder.expected for _, deleted in changes.values()), folder.name


def _epoch(number: int) -> str:
    return "opening" if number == 0 else f"epoch-{number - 1}"
