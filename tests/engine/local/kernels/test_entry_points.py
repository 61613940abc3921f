"""Kernels are compiled once, which is said on a terminal, and read from the disk after that."""

from __future__ import annotations

import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from tidelog.engine.local.kernels import memory
from tidelog.engine.local.kernels.memory import EntryPoint

SIGNATURE = "int64(int64[:,::1], int64)"


def total(rows: object, factor: int) -> int:
    return rows.sum() * factor  # type: ignore[attr-defined, no-any-return]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    memory._announce_compilation.cache_clear()


def run(entry_point: EntryPoint) -> int:
    found: int = entry_point(np.array([[1, 2], [3, 4]]), 10)
    return found


def test_a_kernel_is_compiled_once_and_then_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(EntryPoint(total, SIGNATURE)) == 100
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert written
    monkeypatch.setattr(memory, "_announce_compilation", lambda: pytest.fail("it is there already"))
    assert run(EntryPoint(total, SIGNATURE)) == 100
    monkeypatch.setattr(memory, "_NUMBA_THAT_LOADS_ALONE", ("another version",))
    assert run(EntryPoint(total, SIGNATURE)) == 100
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == written


def test_a_kernel_is_compiled_again_when_any_source_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    run(EntryPoint(total, SIGNATURE))
    announced: list[bool] = []
    monkeypatch.setattr(memory, "_announce_compilation", lambda: announced.append(True))
    monkeypatch.setattr(memory, "sources_digest", lambda module: "other sources")
    assert run(EntryPoint(total, SIGNATURE)) == 100
    assert announced == [True]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_first_compilation_is_announced_once_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    run(EntryPoint(total, SIGNATURE))
    run(EntryPoint(total, "int64(int64[:,::1], int32)"))
    out, err = capsys.readouterr()
    assert (out, err.count("compiling")) == ("", 1 if is_terminal else 0)


def test_a_kernel_takes_only_what_its_signature_says() -> None:
    entry_point = EntryPoint(total, SIGNATURE)
    run(entry_point)
    with pytest.raises(TypeError):
        entry_point(np.array([[1.5]]), 1)
