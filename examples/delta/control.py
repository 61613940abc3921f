"""Who controls whom: a pipeline from a Delta table to Delta tables, without Java.

    python examples/delta/control.py [FOLDER]

The table of shares changes by appends, an update, a delete, a merge and a compaction. After each the pipeline of
`control.toml` is run once, as a timer would. The outputs are Delta tables that any tool reads; here polars reads them.
Everything stays in the folder (`demo-out/delta`) to be looked at.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tidelog import compile
from tidelog.pipeline.check_settings import check_settings
from tidelog.pipeline.read_settings import read_settings
from tidelog.pipeline.run import Listener, Step, run_pipeline

HERE = Path(__file__).parent


def shares(*rows: tuple[str, str, int]) -> pa.Table:
    owners, companies, percents = zip(*rows, strict=True)
    return pa.table({"owner": owners, "company": companies, "percent": pa.array(percents, pa.int16())})


def append(path: Path, *rows: tuple[str, str, int]) -> None:
    write_deltalake(path, shares(*rows), mode="append")


def merge(path: Path, *rows: tuple[str, str, int]) -> None:
    same = "t.owner = s.owner AND t.company = s.company"
    change = DeltaTable(path).merge(shares(*rows), same, source_alias="s", target_alias="t")
    change.when_matched_update_all().when_not_matched_insert_all().execute()


def day(path: Path) -> list[tuple[str, Callable[[], Any]]]:
    """Returns what happens to the table, one change after the other."""
    return [
        ("Harbor buys most of Mill", lambda: append(path, ("Harbor", "Mill", 80))),
        (
            "Ridge sells to Lake",
            lambda: DeltaTable(path).update(predicate="owner = 'Ridge'", updates={"owner": "'Lake'"}),
        ),
        ("two files become one", lambda: DeltaTable(path).optimize.compact()),
        ("Mill buys into Lake, Lake leaves Dock", lambda: merge(path, ("Mill", "Lake", 60), ("Lake", "Dock", 10))),
        ("Harbor gives up Lake", lambda: DeltaTable(path).delete("owner = 'Harbor' AND company = 'Lake'")),
    ]


def run(folder: Path) -> list[Step]:
    """Runs the pipeline once, as `tidelog pipeline` does."""
    steps: list[Step] = []
    settings, spans = read_settings(folder / "control.toml")
    program = compile(settings.program)
    check_settings(settings, spans, program.stages.rules)
    run_pipeline(settings, program, listener=Listener(done=steps.append))
    return steps


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("control.dl", "control.toml"):
        shutil.copy(HERE / name, folder)
    path = folder / "lake/shares"
    first = shares(("Harbor", "Lake", 70), ("Ridge", "Dock", 55), ("Lake", "Dock", 20), ("Mill", "Sand", 51))
    write_deltalake(path, first, configuration={"delta.enableChangeDataFeed": "true"})
    steps: list[tuple[str, Callable[[], object]]] = [("the table at first", lambda: None), *day(path)]
    for what, change in steps:
        change()
        print(f"{what}:")
        for step in run(folder):
            changes = ", ".join(f"{name} +{came} -{went}" for name, (came, went) in step.changes.items())
            print(f"  batch {step.batch}: {step.read} rows read; {changes or 'nothing changes'}")
    controls = pl.read_delta(str(folder / "lake/controls")).sort("owner", "company")
    print(f"\nControls, version {DeltaTable(folder / 'lake/controls').version()} of the table:")
    for owner, company in controls.rows():
        print(f"  {owner} controls {company}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-out/delta"))
