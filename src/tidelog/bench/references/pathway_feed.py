"""Runs a program of Pathway in a process of its own: loads the facts, then deletes and inserts some of them again.

Imports nothing of Tidelog, so that it also runs in an environment that has only Pathway and Arrow:

    python pathway_feed.py PROGRAM.py FOLDER

The folder has `facts/RELATION.arrow` and `changes/NUMBER.arrow`, all of one relation, whose name is in `changed`.
Prints as JSON the seconds of the load, of every deletion and of every insertion, and the rows of each result after the
load, the first deletion and the last insertion. A change is done when the engine has passed the time of its arrival.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather


def main(program: Path, folder: Path) -> None:
    """Builds the program's graph of operators, and feeds it."""
    pw: Any = importlib.import_module("pathway")
    facts = {path.stem: pyarrow.feather.read_table(str(path)) for path in sorted((folder / "facts").iterdir())}
    changes = [pyarrow.feather.read_table(str(path)) for path in sorted((folder / "changes").iterdir())]
    changed = (folder / "changed").read_text()
    clock = _Clock()
    feeds = {name: _feed(pw, clock, name, table, name == changed, changes) for name, table in facts.items()}
    spec = importlib.util.spec_from_file_location("program", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    clock.watch(pw, module.results(pw, feeds), feeds[changed])
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    print(json.dumps(clock.told))


class _Clock:
    """Knows when a change has come in and when the results follow it, and the number of rows of each result."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {"load": 0.0, "deletes": [], "inserts": [], "rows": []}
        self._waiting = threading.Condition()
        self._came, self._passed = 0, 0
        self._rows: dict[str, int] = {}

    def watch(self, pw: Any, results: dict[str, Any], changed: Any) -> None:
        """Follows the results, together with the changed input: a time at which nothing changes is not told."""
        counts = [
            table.reduce(rows=pw.reducers.count()).with_columns(relation=relation)
            for relation, table in {**results, "": changed}.items()
        ]

        def on_change(key: Any, row: Any, time: int, is_addition: bool) -> None:
            if row["relation"] and is_addition:
                self._rows[row["relation"]] = row["rows"]

        pw.io.subscribe(pw.Table.concat_reindex(*counts), on_change=on_change, on_time_end=self._pass)

    def came(self, key: Any, row: Any, time: int, is_addition: bool) -> None:
        self._came = max(self._came, time)

    def _pass(self, time: int) -> None:
        with self._waiting:
            self._passed = time
            self._waiting.notify_all()

    def until_done(self, act: Any) -> float:
        """Returns the seconds from an action to the results that follow it."""
        before = self._came
        started = time.perf_counter()
        act()
        with self._waiting:
            while self._came == before or self._passed < self._came:
                self._waiting.wait(0.001)
        return time.perf_counter() - started

    def note_rows(self) -> None:
        self.told["rows"].append(dict(self._rows))


def _feed(pw: Any, clock: _Clock, name: str, table: pa.Table, is_changed: bool, changes: list[pa.Table]) -> Any:
    rows = table.to_pylist()
    types = {field.name: str if pa.types.is_string(field.type) else int for field in table.schema}
    columns = {each: pw.column_definition(dtype=kind, primary_key=True) for each, kind in types.items()}
    if not is_changed:
        return pw.debug.table_from_rows(pw.schema_builder(columns), [tuple(row.values()) for row in rows])

    class Feed(pw.io.python.ConnectorSubject):  # type: ignore[misc, name-defined, unused-ignore]
        @property
        def _deletions_enabled(self) -> bool:
            return True

        def run(self) -> None:
            def send(act: Any, given: list[dict[str, Any]]) -> None:
                for row in given:
                    act(**row)
                self.commit()

            clock.told["load"] = clock.until_done(lambda: send(self.next, rows))
            clock.note_rows()
            for part in changes:
                given = part.to_pylist()
                clock.told["deletes"].append(clock.until_done(lambda given=given: send(self.delete, given)))
                if len(clock.told["deletes"]) == 1:
                    clock.note_rows()
                clock.told["inserts"].append(clock.until_done(lambda given=given: send(self.next, given)))
            clock.note_rows()

    read = pw.io.python.read(Feed(), schema=pw.schema_builder(columns), autocommit_duration_ms=None)
    pw.io.subscribe(read, on_change=clock.came)
    return read


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
