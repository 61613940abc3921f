"""One attempt at an epoch: where it writes, and the label under which what it makes is known.

A failed attempt leaves files that nothing names. The next one, for the same epoch, has another label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tidelog.engine.spark.directory import StateDirectory
from tidelog.engine.spark.setting import Setting


@dataclass(frozen=True, slots=True)
class Attempt:
    spark: Any
    directory: StateDirectory
    epoch: int
    label: str
    setting: Setting = field(default_factory=Setting)
    started: float = field(default_factory=perf_counter)

    def new_name(self, relation: str, kind: str) -> str:
        """A name for a file of this epoch, never used before."""
        return self.directory.new_name(self.epoch, relation, kind)
