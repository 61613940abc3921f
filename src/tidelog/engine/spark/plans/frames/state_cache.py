"""Cache of the states of strata on frames between epochs, so that the next epoch need not read and spread them.

A state is a frame in the memory and on the disks of executors, and lost with them: nothing depends on it. A frame is
returned only for the very state it holds, named by the label of the attempt that made it (as in `engine_cache`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.engine.spark.plans.frames.cut_lineage import release

CACHED_STATE_ROWS = 20_000_000
"""Larger states are read from their files in every epoch."""


@dataclass(slots=True)
class StateFrame:
    """All packed rows of a stratum with their numbers. `made` has the frames that Spark keeps for it.

    `top` is the highest rank ever given; `rounds` those of the last Bootstrap, 0 if not known.
    """

    rows: Any
    row_count: int
    instances: int
    top: int
    rounds: int = 0
    made: list[Any] = field(default_factory=list)

    def release(self) -> None:
        release(*self.made)
        self.made.clear()


class StateCache:
    """State frames by stratum."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, ...], tuple[str, StateFrame]] = {}

    def find(self, relations: tuple[str, ...], label: str) -> StateFrame | None:
        """Returns the frame of a stratum if it is in the state of that label."""
        found = self._states.get(relations)
        return found[1] if found is not None and found[0] == label else None

    def forget(self, relations: tuple[str, ...]) -> None:
        """Releases the state of a stratum."""
        found = self._states.pop(relations, None)
        if found is not None:
            found[1].release()

    def commit(self, label: str, states: Mapping[tuple[str, ...], StateFrame], labels: Mapping[str, str]) -> None:
        """Keeps the frames that an attempt made, and releases those that the labels of relations show to be old."""
        for relations, (known, _) in list(self._states.items()):
            if any(labels.get(name) != known for name in relations):
                self.forget(relations)
        for relations, state in states.items():
            self._states[relations] = (label, state)

    def close(self) -> None:
        for relations in list(self._states):
            self.forget(relations)
