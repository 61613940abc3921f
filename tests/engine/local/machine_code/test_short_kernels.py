"""A short kernel keeps the interpreter while it runs; all others let other threads run Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.engine.local.machine_code.conftest import LEVELS

from tidelog.engine.local.kernels import committed_reads
from tidelog.engine.local.kernels.longest_paths import sort_edges
from tidelog.engine.local.machine_code import workers
from tidelog.engine.local.machine_code.declare import EntryPoint
from tidelog.engine.local.machine_code.image_file import read_image
from tidelog.engine.local.machine_code.load import make_function

RELEASES = {"PyEval_SaveThread", "PyEval_RestoreThread"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("short")
    for each in (committed_reads.find_line, sort_edges):
        assert workers.Workers(LEVELS, made, 1).ask(each.name).result() == ""
    return made


def externals(entry_point: EntryPoint, folder: Path) -> set[str]:
    image = read_image(entry_point, LEVELS[0], folder)
    assert image is not None
    return set(image.externals)


def test_only_short_kernels_keep_the_interpreter(folder: Path) -> None:
    assert committed_reads.find_line.is_short
    assert not externals(committed_reads.find_line, folder) & RELEASES
    assert not sort_edges.is_short
    assert externals(sort_edges, folder) >= RELEASES


def test_a_short_kernel_computes(folder: Path) -> None:
    image = read_image(committed_reads.find_line, LEVELS[0], folder)
    assert image is not None
    find_line = make_function(image, "find_line")
    rows = np.array([[7, 1, 0, 0]], dtype=np.int64)
    assert find_line(np.zeros(4, dtype=np.int64), rows, 2, np.array([7, 1, 0], dtype=np.int64)) == -1
    with pytest.raises(TypeError):
        find_line(rows, rows, 2, rows)
