"""One attempt at an epoch: its files, its label and its cancellation.

A failed attempt leaves files that no manifest names. The next attempt at the same epoch has another label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.engine.interface import ProgressCallback
from tidelog.engine.spark.epoch.cancellation import Cancellation
from tidelog.engine.spark.plans.tasks.task_context import TaskContext
from tidelog.engine.spark.storage.directory import StateDirectory


@dataclass(frozen=True, slots=True)
class Attempt:
    """`started` is the time of `perf_counter` at which the attempt began; `tell` is called for each stratum and round
    (`Engine.on_progress`)."""

    spark: Any
    directory: StateDirectory
    epoch: int
    label: str
    context: TaskContext
    started: float
    cancellation: Cancellation
    tell: ProgressCallback | None

    def begin(self, relations: Sequence[str], number: int = 0) -> None:
        """Tells that a stratum, or a round of it, begins. Raises EvaluationError if the epoch was cancelled."""
        self.cancellation.check()
        if self.tell is not None:
            self.tell(relations, number)

    def new_name(self, relation: str, kind: str) -> str:
        """Returns a name for a file of this epoch, never used before."""
        return self.directory.new_name(self.epoch, relation, kind)
