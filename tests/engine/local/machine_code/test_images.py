"""Machine code is loaded only if it fits this machine and these sources, and if nobody else can have written it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.local.machine_code.conftest import LEVELS, Machine

from tidelog.engine.local.machine_code import image_file, processor, workers
from tidelog.engine.local.machine_code.declare import EntryPoint
from tidelog.engine.local.machine_code.load import make_function


def run(function: Any) -> list[int]:
    """Sorts the edges 2 → 5, 0 → 6, 2 → 7, 1 → 8 by their sources."""
    starts, found = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int32)
    sources, targets = np.array([2, 0, 2, 1], dtype=np.int32), np.array([5, 6, 7, 8], dtype=np.int32)
    function(sources, targets, starts, found)
    return [*found.tolist(), *starts.tolist()]


SORTED = [6, 8, 5, 7, 0, 1, 2, 4]


@pytest.fixture
def installed(machine: Machine, compiled: Path) -> Machine:
    shutil.copytree(compiled, machine.own, dirs_exist_ok=True)
    return machine


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.code"))


def test_code_of_the_best_level_is_loaded_and_computes(installed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "compile_now", lambda entry_point: pytest.fail("it is there already"))
    assert run(installed.entry_point) == SORTED
    assert installed.entry_point.is_loaded
    assert [path.parent.name.endswith(LEVELS) for path in files(installed.own)] == [True, True]


def test_code_is_loaded_from_a_chosen_folder_and_from_the_users(
    machine: Machine, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert image_file.find_image(machine.entry_point) is None
    shutil.copytree(compiled, machine.user)
    assert image_file.find_image(machine.entry_point) is not None
    shutil.rmtree(machine.user)
    monkeypatch.setenv("TIDELOG_KERNEL_CACHE", str(compiled))
    assert image_file.find_image(machine.entry_point) is not None


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
@pytest.mark.parametrize("place", ["file", "folder", "folder above"])
def test_code_that_others_can_write_is_refused(
    installed: Machine, caplog: pytest.LogCaptureFixture, mode: int, place: str
) -> None:
    image_file._refuse.cache_clear()
    for path in files(installed.own):
        {"file": path, "folder": path.parent, "folder above": installed.own}[place].chmod(mode)
    assert image_file.find_image(installed.entry_point) is None
    assert "written to by others" in caplog.text


def test_a_sticky_folder_above_is_no_danger(installed: Machine) -> None:
    installed.own.chmod(0o1777)
    assert image_file.find_image(installed.entry_point) is not None


def test_code_of_another_user_is_refused(installed: Machine, caplog: pytest.LogCaptureFixture) -> None:
    image_file._refuse.cache_clear()
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in files(installed.own):
        os.chown(path, 12345, 12345)
    assert image_file.find_image(installed.entry_point) is None
    assert "belongs to another user" in caplog.text


def test_a_link_to_code_is_refused(installed: Machine, tmp_path: Path) -> None:
    for number, path in enumerate(files(installed.own)):
        path.symlink_to(path.rename(tmp_path / str(number)))
    assert image_file.find_image(installed.entry_point) is None


def test_code_of_other_versions_is_refused(installed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = processor.versions()
    monkeypatch.setattr(processor, "versions", lambda: before.replace("numba-", "numba-9."))
    assert image_file.find_image(installed.entry_point) is None
    for level in LEVELS:  # nor if somebody renames the folder
        found = installed.own / f"{before}-{sys.platform}-{level}"
        found.rename(installed.own / processor.key(level))
    assert image_file.find_image(installed.entry_point) is None


def test_the_key_has_the_versions_of_python_numba_and_llvmlite() -> None:
    import llvmlite
    import numba

    key = processor.key("x86-64-v3")
    assert key.startswith(sys.implementation.cache_tag or "-")
    assert f"-numba-{numba.__version__}-llvmlite-{llvmlite.__version__}-" in key
    assert key.endswith("x86-64-v3")


def test_code_for_a_newer_processor_is_refused(installed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    newer, older = (installed.own / processor.key(level) for level in LEVELS)
    monkeypatch.setattr(processor, "levels", lambda: LEVELS[1:])
    assert image_file.find_image(installed.entry_point) is not None
    shutil.rmtree(older)
    assert image_file.find_image(installed.entry_point) is None
    newer.rename(older)  # the file says what it was made for, wherever it lies
    assert image_file.find_image(installed.entry_point) is None


def test_code_of_changed_sources_is_refused(installed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert image_file.find_image(installed.entry_point) is not None
    monkeypatch.setattr(image_file, "sources_digest", lambda module: "other sources")
    assert image_file.find_image(installed.entry_point) is None


def test_code_of_another_signature_is_refused(installed: Machine) -> None:
    other = EntryPoint(installed.entry_point.function, "int64(int64[::1], int32[::1], int64[::1], int32[::1])")
    assert image_file.find_image(other) is None


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[:-5] + b"\x90" * 5, len])
def test_damaged_code_is_refused(installed: Machine, damage: Any) -> None:
    for path in files(installed.own):
        damaged = damage(path.read_bytes())
        path.write_bytes(damaged if isinstance(damaged, bytes) else b"")
    assert image_file.find_image(installed.entry_point) is None


def test_code_of_older_sources_is_removed_at_last(installed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    image = image_file.find_image(installed.entry_point)
    assert image is not None
    for number in range(5):
        monkeypatch.setattr(image_file, "sources_digest", lambda module, number=number: f"sources {number}")
        last = image_file.write_image(installed.own, installed.entry_point, LEVELS[0], image)
    left = files(last.parent)
    assert len(left) == 3
    assert last in left


WRONG = {
    "another type": (1, np.zeros(4, dtype=np.int64)),
    "an unsigned type": (1, np.zeros(4, dtype=np.uint32)),
    "the other byte order": (1, np.zeros(4, dtype=">i4")),
    "two dimensions": (1, np.zeros((2, 2), dtype=np.int32)),
    "gaps": (1, np.zeros(8, dtype=np.int32)[::2]),
    "no array": (2, [0, 0, 0, 0]),
    "nothing": (0, None),
    "bytes": (3, b"0123"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_argument_of_another_kind_is_refused_by_its_number(compiled: Path, machine: Machine, case: str) -> None:
    image = image_file.read_image(machine.entry_point, LEVELS[0], compiled)
    assert image is not None
    function = make_function(image, "sort_edges")
    good = np.zeros(4, dtype=np.int32)
    arguments: list[Any] = [good, good, np.zeros(5, dtype=np.int64), good]
    position, wrong = WRONG[case]
    arguments[position] = wrong
    with pytest.raises(TypeError, match=rf"sort_edges\(\): argument {position + 1} is no writable array"):
        function(*arguments)
    with pytest.raises(TypeError, match=r"sort_edges\(\): takes 4 arguments"):
        function(good)


def test_an_array_that_must_not_change_is_refused(compiled: Path, machine: Machine) -> None:
    image = image_file.read_image(machine.entry_point, LEVELS[0], compiled)
    assert image is not None
    good = np.zeros(4, dtype=np.int32)
    fixed = good.copy()
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match="argument 4"):
        make_function(image, "sort_edges")(good, good, np.zeros(5, dtype=np.int64), fixed)
