"""There is always a place for compiled kernels, and a note if it is not the package's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.engine.local.machine_code.conftest import Machine

from tidelog.engine.local.machine_code import image_file, places


def block(folder: Path) -> None:
    """Makes a folder that nothing can be written to, not even by root: there is a file in its way."""
    for parent in (folder, *folder.parents):
        if parent.name in ("code", "user", "temporary"):
            shutil.rmtree(parent, ignore_errors=True)
            parent.write_text("a file")


def test_a_folder_that_can_be_written_keeps_its_own_code(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert places.folder_to_write() == machine.own
    assert capsys.readouterr().err == ""


def test_a_read_only_installation_uses_the_users_cache_folder_and_says_so(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    block(machine.own)
    assert places.folder_to_write() == machine.user
    assert places.folder_to_write() == machine.user
    assert capsys.readouterr().err.count(f"they go to {machine.user}") == 1
    assert machine.user.stat().st_mode & 0o077 == 0


def test_without_a_cache_folder_a_temporary_one_is_used(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    block(machine.own)
    block(machine.user)
    found = places.folder_to_write()
    assert found.parent == machine.temporary
    assert found in places.folders()  # the next process finds it
    assert str(found) in capsys.readouterr().err


def test_a_temporary_folder_that_others_made_is_not_used(machine: Machine) -> None:
    block(machine.own)
    block(machine.user)
    first = places.folder_to_write()
    first.chmod(0o777)
    last = places.folder_to_write()
    assert last != first
    assert last.is_dir()
    assert last.stat().st_mode & 0o077 == 0


def test_a_read_only_installation_compiles_into_the_users_cache_folder(machine: Machine) -> None:
    block(machine.own)
    machine.entry_point.load()
    assert len(list(machine.user.rglob("*.code"))) == 1
    assert image_file.find_image(machine.entry_point) is not None
