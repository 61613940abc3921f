"""Kernels without machine code are compiled in other processes, and whoever waits says so."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.local.machine_code.conftest import Machine
from tests.engine.local.machine_code.test_images import SORTED, run

from tidelog.cli.main import main
from tidelog.engine.local.machine_code import image_file, processor, workers
from tidelog.engine.local.machine_code.declare import ENTRY_POINTS
from tidelog.engine.local.machine_code.sources import entry_point_modules

FIRST_COMMIT = """
import sys, tidelog
db = tidelog.compile('''input relation Edge(a: u64, b: u64)
output relation Reach(a: u64, b: u64)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).''').open()
with db.transaction() as tx:
    tx.insert("Edge", [(1, 2), (2, 3)])
assert len(db.relation("Reach")) == 3
from tidelog.engine.local.machine_code.declare import ENTRY_POINTS
print(*sorted(each.name for each in ENTRY_POINTS if each.is_loaded))
print(*sorted({"numba", "llvmlite"} & set(sys.modules)))
"""


def test_a_kernel_without_code_is_compiled_and_kept(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0.01)
    caplog.set_level(logging.INFO, "tidelog")
    assert run(machine.entry_point) == SORTED
    (path,) = machine.own.rglob("*.code")
    assert path.parent.name == processor.key(processor.levels()[0])
    out, err = capsys.readouterr()
    assert (out, err.count("compiling kernels for this machine; this happens once")) == ("", 1)
    assert err.count("\n") == 1
    assert "compiling kernels" in caplog.text


def test_a_short_wait_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    assert workers.announced(lambda: 3) == 3
    assert capsys.readouterr().err == ""


def test_numba_compiles_in_this_process_where_no_other_one_can_be_started(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    assert run(machine.entry_point) == SORTED
    assert "could not be compiled in a process of its own" in caplog.text
    assert not list(machine.own.rglob("*.code"))


def test_numba_compiles_where_machine_code_cannot_be_loaded(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "levels", lambda: ())
    assert run(machine.entry_point) == SORTED
    assert not list(machine.own.rglob("*.code"))


def test_warm_compiles_everything_and_shows_its_progress(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = "tidelog.engine.local.kernels.longest_paths"
    some = [each for each in ENTRY_POINTS if each.function.__module__ == module]
    monkeypatch.setattr(workers, "all_entry_points", lambda: some)
    assert main(["warm"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "compiling kernels: 1 of 2\ncompiling kernels: 2 of 2\n" in err
    assert "2 kernels are ready" in err
    assert all(image_file.find_image(each) is not None for each in some)
    assert main(["warm"]) == 0
    assert "compiling" not in capsys.readouterr().err


def test_every_entry_point_is_found_by_the_text_of_its_module() -> None:
    script = "import pkgutil, importlib, tidelog.engine.local as local"
    script += (
        "; [importlib.import_module(each.name) for each in pkgutil.walk_packages(local.__path__, local.__name__ + '.')]"
    )
    script += "; from tidelog.engine.local.machine_code.declare import ENTRY_POINTS"
    script += "; print(*sorted({each.function.__module__ for each in ENTRY_POINTS}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(entry_point_modules())


def test_a_first_commit_loads_the_kernels_that_are_compiled_together_and_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_COMMIT], capture_output=True, text=True, check=True)
    names, compilers = done.stdout.split("\n")[:2]
    assert names.split() == sorted(workers.FIRST_COMMIT)
    assert compilers == ""
