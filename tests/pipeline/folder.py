"""A pipeline in a folder of its own: its program, its file, what is fed to it, and what came of it."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tidelog.database.program.program import compile
from tidelog.pipeline.batch import Stop
from tidelog.pipeline.check_settings import check_settings
from tidelog.pipeline.read_settings import read_settings
from tidelog.pipeline.run import Listener, Step, run_pipeline

REACH = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
output relation Loop(node: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Loop(x) :- Reach(x, x).
"""

REACH_FILE = """
program = "program.dl"
state   = "state"
[inputs.Edge]
format = "csv"
path   = "data"
[changes.Edge]
format = "json"
path   = "feed"
op     = "op"
[outputs.Reach]
format = "json"
path   = "out/reach"
[outputs.Loop]
format = "parquet"
path   = "out/loop"
mode   = "snapshot"
"""

Edge = tuple[str, str]

# `Edge` follows a Delta table; the changes of `Reach` are files.
REACH_FROM_DELTA = """
program = "program.dl"
state   = "state"
[changes.Edge]
format = "delta"
path   = "edges"
[outputs.Reach]
format = "json"
path   = "out/reach"
"""


class Pipe:
    """`steps` and `warnings` are those of the last run."""

    def __init__(
        self,
        folder: Path,
        program: str = REACH,
        file: str = REACH_FILE,
        engine: str | None = None,
        *,
        writes: bool = True,
    ) -> None:
        self.folder = folder
        self.engine = engine
        self.steps: list[Step] = []
        self.warnings: list[str] = []
        self._fed = 0
        if writes:
            (folder / "program.dl").write_text(program)
            self.write_file(file)

    @classmethod
    def there(cls, folder: Path) -> Pipe:
        """The pipeline of a folder that has its files."""
        return cls(folder, "", "", writes=False)

    def write_file(self, text: str) -> None:
        (self.folder / "pipe.toml").write_text(text)

    def table(self, text: str, name: str = "data/rows.csv") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def feed(self, *records: Mapping[str, Any] | str, folder: str = "feed") -> Path:
        """A file with records, in its place at once."""
        lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
        return self.feed_text("\n".join(lines) + "\n", f"{folder}/{self._fed:04}.json")

    def feed_text(self, text: str, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}")
        draft.write_text(text)
        draft.rename(path)
        self._fed += 1
        os.utime(path, (self._fed, self._fed))
        return path

    def run(self, *, watch: bool = False, stop: Stop | None = None, spark: Any = None, **more: Any) -> list[Step]:
        """Compiles, checks and runs the pipeline, as the command does."""
        self.steps, self.warnings = [], []
        settings, spans = read_settings(self.folder / "pipe.toml", self.engine)
        program = compile(settings.program)
        check_settings(settings, spans, program.stages.rules)
        listener = Listener(done=self.steps.append, warn=self.warnings.append)
        run_pipeline(settings, program, watch=watch, interval=0.05, stop=stop, listener=listener, spark=spark, **more)
        return self.steps

    def changes(self, name: str) -> list[dict[str, Any]]:
        """The rows of a change table, without what is hidden or half done."""
        return [row for folder in self.epochs(name) for row in read_folder(folder)]

    def epochs(self, name: str) -> list[Path]:
        found = (self.folder / "out" / name).glob("epoch=*")
        return sorted(found, key=lambda path: int(path.name.partition("=")[2]))

    def summed(self, name: str) -> set[tuple[Any, ...]]:
        """The relation that the changes add up to; every row once, or not at all."""
        weights: Counter[tuple[Any, ...]] = Counter()
        for row in self.changes(name):
            values = tuple(value for column, value in row.items() if not column.startswith("_"))
            weights[values] += {"+": 1, "-": -1}[row["_op"]]
            assert weights[values] in (0, 1), f"{values} came or went twice"
        return {row for row, weight in weights.items() if weight}


def read_folder(folder: Path) -> list[dict[str, Any]]:
    """The rows of all files in a folder, of any format."""
    rows: list[dict[str, Any]] = []
    for path in sorted(each for each in folder.iterdir() if not each.name.startswith((".", "_"))):
        if path.suffix == ".parquet":
            rows += pq.read_table(path, partitioning=None).to_pylist()
        elif path.suffix == ".csv":
            with path.open(newline="") as file:
                rows += list(csv.DictReader(file))
        else:
            rows += [json.loads(line) for line in path.read_text().splitlines()]
    return rows


def closure(edges: Iterable[Edge]) -> set[Edge]:
    """What is reachable, from the definition."""
    found = set(edges)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def after(edges: Iterable[Edge], batches: Iterable[Sequence[tuple[str, str, str]]]) -> set[Edge]:
    """The edges after batches of operations without an order: in each, deletes come first."""
    now = set(edges)
    for batch in batches:
        now -= {(a, b) for op, a, b in batch if op == "-"}
        now |= {(a, b) for op, a, b in batch if op == "+"}
    return now
