"""One attempt at an epoch: where it writes, and the label under which what it makes is known.

A failed attempt leaves files that nothing names. The next one, for the same epoch, has another label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidelog.engine.spark.directory import StateDirectory


@dataclass(frozen=True, slots=True)
class Attempt:
    spark: Any
    directory: StateDirectory
    epoch: int
    label: str

    def new_name(self, relation: str, kind: str) -> str:
        """A name for a file of this epoch, never used before."""
        return self.directory.new_name(self.epoch, relation, kind)
