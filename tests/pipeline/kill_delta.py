"""`kill -9` of a pipeline from a Delta table to Delta tables, on the local engine, against a recomputation:

    python -m tests.pipeline.kill_delta --kills 20 --seed 1

As in `kill`, a child dies around a step or at any moment, and the next one goes on. Between the runs the source gets
inserts, deletes, updates, merges, compactions and vacuums. After every run that ends, the output tables must have the
rows that the source comes to, each epoch must be in them at most once, and their change data feed must add up to them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pyarrow as pa

from tests.pipeline.folder import REACH, Pipe, closure
from tests.pipeline.kill_runs import LAKE_STEPS, kill_runs
from tidelog.pipeline.lake.delta_sink import DeltaSink
from tidelog.pipeline.lake.staged import Staged
from tidelog.pipeline.sinks import Sinks

FILE = """
program = "program.dl"
state   = "state"
[inputs.Edge]
format = "delta"
path   = "edges"
[changes.Edge]
format = "delta"
path   = "edges"
[outputs.Reach]
format = "delta"
path   = "out/reach"
[outputs.Loop]
format = "delta"
path   = "out/loop"
mode   = "changes"
"""
NODES = "abcde"
POINTS: list[tuple[type, str]] = [
    *LAKE_STEPS,
    (DeltaSink, "_apply"),
    (DeltaSink, "_write"),
    (DeltaSink, "_merge"),
    (Staged, "forget"),
    (Sinks, "recover"),
]


class DeltaHistory:
    """A source table, a pipeline over it, and their checks."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.pipe = Pipe(folder, REACH, FILE)
        self._source = folder / "edges"
        self._dice = dice
        self._id = 0
        has_feed = {"delta.enableChangeDataFeed": "true"} if dice.random() < 0.7 else None
        deltalake.write_deltalake(self._source, self._rows(3), configuration=has_feed)

    def change(self) -> None:
        """Makes a version, or several, of the source."""
        table = deltalake.DeltaTable(self._source)
        edge = self._dice.choice(NODES), self._dice.choice(NODES)
        match self._dice.randrange(7):
            case 0 | 1 | 2:
                deltalake.write_deltalake(self._source, self._rows(self._dice.randrange(1, 4)), mode="append")
            case 3:
                table.delete(f"src = '{edge[0]}' AND dst = '{edge[1]}'")
            case 4:
                table.update(predicate=f"src = '{edge[0]}'", updates={"dst": f"'{edge[1]}'"})
            case 5:
                merge = table.merge(
                    self._rows(3), "t.src = s.src AND t.dst = s.dst", source_alias="s", target_alias="t"
                )
                merge.when_matched_delete().when_not_matched_insert_all().execute()
            case _:
                table.optimize.compact()

    def check(self) -> None:
        """After a run that ended: the tables have the rows of the source, and no epoch twice."""
        found = deltalake.DeltaTable(self._source).to_pyarrow_table().to_pylist()
        reach = closure({(row["src"], row["dst"]) for row in found})
        table = deltalake.DeltaTable(self.pipe.folder / "out/reach")
        rows = [(row["src"], row["dst"]) for row in table.to_pyarrow_table().to_pylist()]
        assert sorted(rows) == sorted(reach), "the table differs from a recomputation"
        sums: Counter[tuple[str, str]] = Counter()
        for row in pa.table(table.load_cdf(starting_version=0)).to_pylist():
            sums[row["src"], row["dst"]] += -1 if row["_change_type"] in ("delete", "update_preimage") else 1
        assert {row: count for row, count in sums.items() if count} == dict.fromkeys(reach, 1)
        loops: Counter[str] = Counter()
        changes = deltalake.DeltaTable(self.pipe.folder / "out/loop").to_pyarrow_table().to_pylist()
        for row in sorted(changes, key=lambda row: (row["_commit_version"], row["_change_type"])):
            loops[row["node"]] += 1 if row["_change_type"] == "insert" else -1
            assert loops[row["node"]] in (0, 1), "a row came or went twice"
        assert {node for node, count in loops.items() if count} == {a for a, b in reach if a == b}
        for name in ("reach", "loop"):
            epochs = list(_epochs(self.pipe.folder / "out" / name))
            assert len(epochs) == len(set(epochs)), f"an epoch is in {name} twice: {epochs}"
            assert not list((self.pipe.folder / "state/outbox").rglob("_pending-*"))

    def _rows(self, count: int) -> pa.Table:
        rows = []
        seen = set()
        for _ in range(count):
            edge = self._dice.choice(NODES), self._dice.choice(NODES)
            if edge not in seen:  # a merge wants one row of the source for each of the target
                seen.add(edge)
                self._id += 1
                rows.append({"id": self._id, "src": edge[0], "dst": edge[1]})
        return pa.Table.from_pylist(rows)


def _epochs(folder: Path) -> Iterator[int]:
    for path in (folder / "_delta_log").glob("*.json"):
        for line in path.read_text().splitlines():
            action = json.loads(line)
            if "txn" in action:
                yield action["txn"]["version"]


if __name__ == "__main__":
    kill_runs("tests.pipeline.kill_delta", DeltaHistory, POINTS)
