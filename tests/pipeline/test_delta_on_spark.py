"""A pipeline from Delta to Delta on Spark gives what the local engine gives, and survives a run that dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.pipeline.folder import Pipe
from tidelog.pipeline.lake.delta_sink import DeltaSink

deltalake = pytest.importorskip("deltalake")

pytestmark = pytest.mark.spark

PROGRAM = """
input relation Edge(src: string, dst: string, n: u64)
output relation Reach(src: string, dst: string, small: u8, note: Option<string>)
output relation Large(n: u64)
Reach(x, y, 255, None) :- Edge(x, y, _).
Reach(x, z, 255, None) :- Reach(x, y, _, _), Edge(y, z, _).
Large(n) :- Edge(_, _, n).
"""

FILE = """
program = "program.dl"
state   = "state"
[changes.Edge]
format = "delta"
path   = "edges"
[outputs.Reach]
format = "delta"
path   = "out/reach"
[outputs.Large]
format = "delta"
path   = "out/large"
mode   = "changes"
"""


def edges(*rows: tuple[str, str, int]) -> pa.Table:
    src, dst, n = zip(*rows, strict=True)
    return pa.table({"src": src, "dst": dst, "n": pa.array(n, pa.decimal128(20, 0))})


def rows(pipe: Pipe, name: str) -> list[tuple[Any, ...]]:
    found = deltalake.DeltaTable(pipe.folder / "out" / name).to_pyarrow_table()
    kept = [column for column in found.column_names if column != "_commit_timestamp"]
    return sorted(tuple(row.values()) for row in found.select(kept).to_pylist())


def test_both_engines_make_the_same_tables(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pipes = []
    for engine in ("local", "spark"):
        (tmp_path / engine).mkdir()
        pipes.append(Pipe(tmp_path / engine, PROGRAM, FILE, engine))
        path = tmp_path / engine / "edges"
        deltalake.write_deltalake(path, edges(("a", "b", 2**64 - 1), ("b", "c", 0), ("b", "c", 0)))
    for epoch in range(2):
        for pipe in pipes:
            if epoch == 1:
                deltalake.DeltaTable(pipe.folder / "edges").delete("src = 'a'")
                deltalake.write_deltalake(pipe.folder / "edges", edges(("c", "d", 5)), mode="append")
            with monkeypatch.context() as patch:
                if epoch == 1 and pipe.engine == "spark":
                    patch.setattr(DeltaSink, "_apply", _fail)
                    with pytest.raises(OSError, match="killed"):
                        pipe.run(spark=spark)
            pipe.run(spark=spark if pipe.engine == "spark" else None)
        assert rows(pipes[1], "reach") == rows(pipes[0], "reach") != []
        assert rows(pipes[1], "large") == rows(pipes[0], "large")


def _fail(*arguments: Any) -> None:
    raise OSError("killed")
