"""A source with positions for tests: a file with a line of JSON per change. `open_source` is called by the pipeline.

    {"sign": 1, "src": "a", "dst": "b"}

The position is the number of lines. A source with the option `forgets` cannot read its first rows twice, as a
replication slot cannot. Every call that is not a read is noted in `ledger.calls`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline.records import Record
from tidelog.pipeline.settings import Feed, Place
from tidelog.pipeline.sources.formats import SourceFormat
from tidelog.pipeline.sources.source import RowChanges
from tidelog.rules.ir import Relation

ROWS = SourceFormat("tests.pipeline.ledger", ("atMost", "forgets"), has_path=True, gives_rows=True)
RECORDS = SourceFormat("tests.pipeline.ledger", ("atMost", "forgets"), has_path=True)


def open_source(place: Place, relation: Relation, feed: Feed | None) -> Ledger:
    return Ledger(place, place.format == "records")


class Ledger:
    def __init__(self, place: Place, gives_records: bool) -> None:
        self.gives_records = gives_records
        self._file = place.folder
        self._options = place.options
        self._begun = False

    def check(self, position: Any) -> None:
        if position is not None and position > len(self._lines()):
            raise DataError(f"{self._file} has lost lines", code=Code.POSITION_GONE)

    def start(self, planned: Any) -> Any:
        self._note("start", planned)
        self._begun = True
        return planned if planned is not None and "forgets" not in self._options else len(self._lines())

    def latest(self, position: Any) -> Any:
        most = int(self._options.get("atMost", 1 << 30))
        end = min(len(self._lines()), position + most)
        return end if end > position else None

    def read(self, begin: Any, end: Any) -> Iterator[Any]:
        if begin is None and "forgets" in self._options:
            assert self._begun, "the first rows are gone"
        lines = self._lines()[begin or 0 : end]
        if self.gives_records:
            yield from (Record(f"line {place}", line) for place, line in enumerate(lines, 1))
        elif lines:
            signs = pa.array([line.pop("sign") for line in lines], pa.int8())
            yield RowChanges(pa.Table.from_pylist(lines), signs, str(self._file))

    def acknowledge(self, position: Any) -> None:
        self._note("acknowledge", position)

    def close(self) -> None:
        self._note("close", None)

    def _lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._file.read_text().splitlines()]

    def _note(self, call: str, value: Any) -> None:
        with Path(f"{self._file}.calls").open("a") as calls:
            calls.write(json.dumps([call, value]) + "\n")
