"""The types of Delta and Iceberg in `docs/reference/types.md`: lossless through an output table and back, also when rows
are deleted; or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.test_types_table import DECLARED, PAGE, TYPES, shown
from tests.pipeline.folder import Pipe
from tidelog.diagnostics.errors import DataError

deltalake = pytest.importorskip("deltalake")
catalogs = pytest.importorskip("pyiceberg.catalog")

HEAD = "| type | Delta | Iceberg |"


def program_of(type_: str) -> str:
    columns = f"n: u8, x: {type_}"
    return f"{DECLARED}\ninput relation R({columns})\noutput relation S({columns})\nS(n, x) :- R(n, x).\n"


def delta(folder: Path) -> str:
    return 'format = "delta"\npath = "out"\n'


def iceberg(folder: Path) -> str:
    uri, warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
    options = (
        f'"catalog.name" = "x", "catalog.type" = "sql", "catalog.uri" = "{uri}", "catalog.warehouse" = "{warehouse}"'
    )
    return f'format = "iceberg"\noptions = {{table = "db.out", {options}}}\n'


def table(folder: Path, format_: str) -> Any:
    if format_ == "delta":
        return deltalake.DeltaTable(folder / "out")
    properties = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
    return catalogs.load_catalog("x", type="sql", **properties).load_table("db.out")


def shown_type(found: Any, format_: str) -> str:
    if format_ == "iceberg":
        return str(found.schema().find_type("x"))
    (field,) = (field for field in json.loads(found.schema().to_json())["fields"] if field["name"] == "x")
    return delta_type(field["type"])


def delta_type(type_: Any) -> str:
    if isinstance(type_, str):
        return type_
    if type_["type"] == "array":
        return f"array<{delta_type(type_['elementType'])}>"
    if type_["type"] == "map":
        return f"map<{delta_type(type_['keyType'])},{delta_type(type_['valueType'])}>"
    return f"struct<{','.join(each['name'] + ':' + delta_type(each['type']) for each in type_['fields'])}>"


def there_and_back(type_: str, values: list[Any], folder: Path, format_: str) -> str:
    """Writes the values to a table, reads them back, deletes the first one, and reads the others back."""
    folder.mkdir()
    program = tidelog.compile(program_of(type_))
    db = program.open()
    with db.transaction() as tx:
        tx.insert("R", list(enumerate(values)))
    (folder / "data").mkdir()
    db.relation("S").write(folder / "data/rows.jsonl")
    place = {"delta": delta, "iceberg": iceberg}[format_](folder)
    files = '[inputs.R]\nformat = "jsonl"\npath = "data"\n[changes.R]\nformat = "json"\npath = "feed"\nop = "op"\n'
    file = f'program = "program.dl"\nstate = "state"\n{files}[outputs.S]\n{place}'
    pipe = Pipe(folder, program_of(type_), file)
    if "duration" in type_:
        with pytest.raises(DataError, match="has durations") as caught:
            pipe.run()
        return f"refused ({caught.value.code})"
    pipe.run()
    assert read_back(program, table(folder, format_)) == db.relation("S").rows()
    first = (folder / "data/rows.jsonl").read_text().splitlines()[0]
    pipe.feed({"op": "-", **json.loads(first)})
    pipe.run()
    assert read_back(program, table(folder, format_)) == db.relation("S").rows()[1:]
    return shown(shown_type(table(folder, format_), format_))


def read_back(program: Any, found: Any) -> list[Any]:
    db = program.open()
    with db.transaction() as tx:
        tx.insert("R", found)
    rows: list[Any] = db.relation("S").rows()
    return rows


def lines(folder: Path) -> list[str]:
    made = []
    for place, (type_, values) in enumerate(TYPES):
        cells = [there_and_back(type_, values, folder / f"{place}-{each}", each) for each in ("delta", "iceberg")]
        made.append(f"| {shown(type_)} | {' | '.join(cells)} |")
    return made


def test_the_table_of_types_is_what_tables_have(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    made = "\n".join([HEAD, "| --- | --- | --- |", *lines(tmp_path)])
    assert made in page, made
