"""A machine that has no machine code yet: all folders for it are empty ones of the test."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidelog.engine.local.kernels.longest_paths import sort_edges
from tidelog.engine.local.machine_code import places, processor, workers
from tidelog.engine.local.machine_code.declare import EntryPoint

LEVELS = ("x86-64-v2", "x86-64")


@dataclass
class Machine:
    """The folders of a machine, and an entry point that is quickly compiled."""

    own: Path
    user: Path
    temporary: Path
    entry_point: EntryPoint


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    made = Machine(
        tmp_path / "package" / "code",
        tmp_path / "user" / "tidelog" / "kernels",
        tmp_path / "temporary",
        EntryPoint(sort_edges.function, sort_edges.signature),
    )
    made.own.mkdir(parents=True)
    made.temporary.mkdir()
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(places, "OWN_FOLDER", made.own)
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    monkeypatch.setattr(workers, "_workers", None)
    monkeypatch.setattr(processor, "levels", lambda: LEVELS)
    workers._announce.cache_clear()
    places._note.cache_clear()
    return made


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the code of the entry point, for both levels."""
    folder = tmp_path_factory.mktemp("compiled")
    assert workers.Workers(LEVELS, folder, 1).ask(sort_edges.name).result() == ""
    return folder
