"""The facts of a benchmark, and their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError

SEED = 1
Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Dataset:
    """`tables` by input relation. `known`: the known numbers of derived rows."""

    name: str
    source: str
    tables: Mapping[str, pa.Table]
    seed: int | None = None
    known: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.tables.values())

    def describe(self) -> dict[str, Any]:
        """Returns name, source, seed, and the rows in all and per relation, for the record."""
        per_relation = {name: table.num_rows for name, table in self.tables.items()}
        return {"name": self.name, "source": self.source, "seed": self.seed, "rows": self.rows, "tables": per_relation}


def number_table(numbers: npt.NDArray[Any], *columns: str) -> pa.Table:
    """Returns columns of 32-bit numbers as a table."""
    words = numbers.astype(np.uint32)
    return pa.table({name: pa.array(np.ascontiguousarray(words[:, i])) for i, name in enumerate(columns)})


def distinct(numbers: npt.NDArray[Any]) -> Numbers:
    """Returns the distinct lines, in order."""
    return np.unique(numbers.astype(np.uint32), axis=0)


def unreadable(path: Path, why: object) -> UsageError:
    return UsageError(f"cannot read the benchmark data {path}: {why}", code=Code.NO_BENCHMARK_DATA)
