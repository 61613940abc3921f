"""The closure as a bare compiled loop: the yardstick inside every run, whatever the machine.

It keeps rank, count and total for this one program and nothing else: no arrangements, no log, no changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from tidelog.bench.inputs.dataset import Numbers


@njit(nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _bare_closure(starts: Any, targets: Any, nodes: int, slots: Any, keys: Any, numbers: Any) -> int:
    """Semi-naive closure over a hash set, counting rank, count and total; returns the rows."""
    mask = slots.size - 1
    rows = 0
    begin = 0
    for source in range(nodes):
        for at in range(starts[source], starts[source + 1]):
            key = np.int64(source) * nodes + targets[at]
            slot = (key * -7046029254386353131 >> 24) & mask
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = rows + 1
            keys[rows] = key
            numbers[rows, 0] = 1
            numbers[rows, 1] = 1
            numbers[rows, 2] = 1
            rows += 1
    rank = 1
    while begin < rows:
        end = rows
        rank += 1
        for row in range(begin, end):
            source = keys[row] // nodes
            middle = keys[row] % nodes
            for at in range(starts[middle], starts[middle + 1]):
                key = source * nodes + targets[at]
                slot = (key * -7046029254386353131 >> 24) & mask
                while slots[slot] != 0 and keys[slots[slot] - 1] != key:
                    slot = (slot + 1) & mask
                if slots[slot] == 0:
                    slots[slot] = rows + 1
                    keys[rows] = key
                    numbers[rows, 0] = rank
                    numbers[rows, 1] = 1
                    numbers[rows, 2] = 1
                    rows += 1
                else:
                    found = slots[slot] - 1
                    numbers[found, 2] += 1
                    if numbers[found, 0] == rank:
                        numbers[found, 1] += 1
        begin = end
    return rows


def bare_loop(edges: Numbers, nodes: int) -> Callable[[], int]:
    """Returns the bare loop over these edges, compiled; a call runs it and returns the rows."""
    ordered = edges[np.argsort(edges[:, 0], kind="stable")].astype(np.int64)
    starts = np.searchsorted(ordered[:, 0], np.arange(nodes + 1))
    targets = ordered[:, 1].copy()

    def run() -> int:
        slots = np.zeros(1 << (2 * nodes * nodes - 1).bit_length(), dtype=np.int32)
        keys = np.empty(nodes * nodes, dtype=np.int64)
        numbers = np.empty((nodes * nodes, 3), dtype=np.int64)
        return int(_bare_closure(starts, targets, nodes, slots, keys, numbers))

    run()
    return run
