"""`kill -9` of a pipeline from an Iceberg table to Iceberg tables, on the local engine, against a recomputation:

    python -m tests.pipeline.kill_iceberg --kills 20 --seed 1

As in `kill_delta`. The source gets appends, deletes, overwrites and transactions of both. After every run that ends,
the output table must have the rows that the source comes to, the table of changes must add up to its relation, and
each epoch must be one commit of the catalog.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog

from tests.pipeline.folder import REACH, Pipe, closure
from tests.pipeline.kill_runs import LAKE_STEPS, kill_runs
from tidelog.pipeline.lake.iceberg_sink import IcebergSink
from tidelog.pipeline.lake.staged import Staged
from tidelog.pipeline.sinks import Sinks

FILE = """
program = "program.dl"
state   = "state"
[changes.Edge]
{edges}
[outputs.Reach]
{reach}
[outputs.Loop]
{loop}
mode   = "changes"
"""
SCHEMA = pa.schema([("id", pa.int64()), ("src", pa.string()), ("dst", pa.string())])
NODES = "abcde"
POINTS: list[tuple[type, str]] = [
    *LAKE_STEPS,
    (IcebergSink, "_create"),
    (IcebergSink, "_apply"),
    (IcebergSink, "_append"),
    (IcebergSink, "_overwrite"),
    (Staged, "forget"),
    (Sinks, "recover"),
]


class IcebergHistory:
    """A source table, a pipeline over it, and their checks."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        places = {name: _place(folder, f"db.{name}") for name in ("edges", "reach", "loop")}
        self.pipe = Pipe(folder, REACH, FILE.format(**places))
        self._dice = dice
        self._id = 0
        catalog = _catalog(folder)
        catalog.create_namespace("db")
        self._source = catalog.create_table("db.edges", schema=SCHEMA)
        self._source.append(self._rows(3))

    def change(self) -> None:
        """Makes a snapshot, or several, of the source."""
        src, dst = self._dice.choice(NODES), self._dice.choice(NODES)
        match self._dice.randrange(6):
            case 0 | 1 | 2:
                self._source.append(self._rows(self._dice.randrange(1, 4)))
            case 3:
                self._source.delete(f"src = '{src}' and dst = '{dst}'")
            case 4:
                self._source.overwrite(self._rows(1), overwrite_filter=f"src = '{src}'")
            case _:
                with self._source.transaction() as change:
                    change.delete(f"dst = '{dst}'")
                    change.append(self._rows(2))

    def check(self) -> None:
        """After a run that ended: the tables have the rows of the source, and each epoch is one commit."""
        catalog = _catalog(self.pipe.folder)
        edges = {(row["src"], row["dst"]) for row in _rows_of(catalog, "edges")}
        reach = closure(edges)
        found = [(row["src"], row["dst"]) for row in _rows_of(catalog, "reach")]
        assert sorted(found) == sorted(reach), "the table differs from a recomputation"
        loops: Counter[str] = Counter()
        for row in sorted(_rows_of(catalog, "loop"), key=lambda row: (row["_epoch"], row["_op"] == "+")):
            loops[row["node"]] += 1 if row["_op"] == "+" else -1
            assert loops[row["node"]] in (0, 1), "a row came or went twice"
        assert {node for node, count in loops.items() if count} == {a for a, b in reach if a == b}
        for name in ("reach", "loop"):
            epochs = _epochs_of_commits(catalog.load_table(f"db.{name}"))
            assert epochs == sorted(set(epochs)), f"an epoch is in {name} twice: {epochs}"
            assert not list((self.pipe.folder / "state/outbox").rglob("_pending-*"))

    def _rows(self, count: int) -> pa.Table:
        rows = []
        for _ in range(count):
            self._id += 1
            rows.append({"id": self._id, "src": self._dice.choice(NODES), "dst": self._dice.choice(NODES)})
        return pa.Table.from_pylist(rows, schema=SCHEMA)


def _place(folder: Path, table: str) -> str:
    options = {"catalog.name": "x", **{f"catalog.{name}": value for name, value in _properties(folder).items()}}
    pairs = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in {"table": table, **options}.items()]
    return f'format = "iceberg"\noptions = {{{", ".join(pairs)}}}'


def _properties(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


def _catalog(folder: Path) -> Any:
    return load_catalog("x", **_properties(folder))


def _rows_of(catalog: Any, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = catalog.load_table(f"db.{name}").scan().to_arrow().to_pylist()
    return rows


def _epochs_of_commits(table: Any) -> list[int]:
    """Returns the epoch of each commit that made snapshots. One epoch may be two snapshots, in one commit."""
    files = [*(entry.metadata_file for entry in table.metadata.metadata_log), table.metadata_location]
    known: set[int] = set()
    epochs = []
    for file in files:
        snapshots = json.loads(Path(file.removeprefix("file://")).read_text()).get("snapshots") or []
        new = [each for each in snapshots if each["snapshot-id"] not in known]
        known |= {each["snapshot-id"] for each in new}
        if new:
            (epoch,) = {int(each["summary"]["tidelog.epoch"]) for each in new}
            epochs.append(epoch)
    return epochs


if __name__ == "__main__":
    kill_runs("tests.pipeline.kill_iceberg", IcebergHistory, POINTS)
