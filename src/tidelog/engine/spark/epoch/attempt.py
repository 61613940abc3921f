"""One attempt at an epoch: where it writes, and the label under which what it makes is known.

A failed attempt leaves files that nothing names. The next one, for the same epoch, has another label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tidelog.engine.interface import ProgressCallback
from tidelog.engine.spark.plans.tasks.task_context import Setting
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.maintain.limits import CancellationCheck, NeverCancelled


@dataclass(frozen=True, slots=True)
class Attempt:
    """`interrupt` says whether it has to end, `tell` gets strata and rounds (`Engine.on_progress`); `end_jobs` ends
    the Spark jobs that run for it now. `ended_by` is a block in which something else is called to end it, too."""

    spark: Any
    directory: StateDirectory
    epoch: int
    label: str
    setting: Setting = field(default_factory=Setting)
    started: float = field(default_factory=perf_counter)
    interrupt: CancellationCheck = field(default_factory=NeverCancelled)
    tell: ProgressCallback | None = None
    end_jobs: Callable[[], object] = lambda: None
    ended_by: Callable[[Callable[[], object]], AbstractContextManager[None]] = lambda _: nullcontext()

    def begin(self, relations: Sequence[str], number: int = 0) -> None:
        """A stratum begins, or a round of it. Raises EvaluationError where the epoch has been cancelled."""
        self.interrupt.check()
        if self.tell is not None:
            self.tell(relations, number)

    def new_name(self, relation: str, kind: str) -> str:
        """A name for a file of this epoch, never used before."""
        return self.directory.new_name(self.epoch, relation, kind)
