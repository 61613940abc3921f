"""Measurements: the memory of a load in its own process, and databases that are loaded again and again."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tidelog.bench.inputs.dataset import number_table
from tidelog.bench.measure import Outcome, loads, memory_of_load

_COPY = "input relation R(x: u32, y: u32)\noutput relation S(x: u32, y: u32)\nS(x, y) :- R(x, y).\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
def test_the_memory_of_a_load_is_what_it_adds_to_a_process_that_has_committed() -> None:
    out = Outcome()
    rows = 300_000
    numbers = np.arange(2 * rows).reshape(rows, 2)
    few = memory_of_load(out, "few", _COPY, {"R": number_table(numbers[:10], "x", "y")}, 1)
    many = memory_of_load(out, "many", _COPY, {"R": number_table(numbers, "x", "y")}, 1)
    assert few is not None
    assert many is not None
    assert few < 5
    # Two relations with rows and indices: at least two words a row each.
    assert many > rows * 32 / 2**20
    memory = out.memory_mb["many"]
    assert memory.keys() == {"after two rows", "peak beyond it", "settled beyond it"}
    assert memory["settled beyond it"] <= memory["peak beyond it"] == many


def test_each_load_is_one_of_a_new_database() -> None:
    subject, seconds = loads(_COPY, {"R": number_table(np.arange(10).reshape(5, 2), "x", "y")}, 3, 1)
    assert len(seconds) == 3
    assert min(seconds) > 0
    assert subject.report is not None
    assert subject.report.epoch == 1
    assert subject.count("S") == 5
    subject.close()
