"""Arrays that grow: what was written stays, new lines are zero, and nobody loses memory that he looks at."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from tidelog.engine.local.storage import growable_array
from tidelog.engine.local.storage.growable_array import Growing


@pytest.mark.parametrize("large", [0, 1 << 12, 1 << 40], ids=["mapped", "mapped later", "small"])
@pytest.mark.parametrize("width", [0, 5])
def test_lines_stay_and_new_ones_are_zero(monkeypatch: pytest.MonkeyPatch, large: int, width: int) -> None:
    monkeypatch.setattr(growable_array, "LARGE", large)
    lines, written = Growing(np.int64, width=width), 0
    while written < 20_000:
        lines.make_room(written + 1)
        assert not lines.array[written:].any()
        lines.array[written:] = written + 1
        before, written = written, len(lines)
        assert (lines.array[before:written] == before + 1).all()
        assert (lines.array[: min(written, 16)] == 1).all()
        assert lines.address == lines.array.ctypes.data


def test_an_array_that_somebody_holds_keeps_its_memory_when_the_lines_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growable_array, "LARGE", 0)
    lines = Growing(np.int32, 1000)
    lines.array[:] = 7
    held = lines.array[10:20]
    lines.resize(1_000_000)
    lines.array[:] = 8
    del lines
    assert (held == 7).all()


def test_a_mapping_moves_its_pages_instead_of_being_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growable_array, "LARGE", 0)
    made: list[int] = []
    mapping = growable_array._mapping

    def making(size: int) -> mmap.mmap:
        made.append(size)
        return mapping(size)

    monkeypatch.setattr(growable_array, "_mapping", making)
    lines = Growing(np.int64, 1)
    for size in (10, 1000, 100_000, 10_000_000):
        lines.resize(size)
    assert len(made) == 1


def test_where_mappings_cannot_grow_they_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed(mmap.mmap):
        def resize(self, newsize: int) -> None:
            raise SystemError("mmap: resizing not available--no mremap()")

    monkeypatch.setattr(growable_array, "LARGE", 0)
    monkeypatch.setattr(mmap, "mmap", Fixed)
    lines = Growing(np.int64, 100)
    lines.array[:] = 3
    lines.resize(5000)
    assert (lines.array[:100] == 3).all()
    assert not lines.array[100:].any()
