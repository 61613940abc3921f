"""The types of Delta and Iceberg in `docs/reference/types.md`: lossless through an output table and back, also when
rows are deleted; and every type of a table of somebody else. Or refused by name."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelog
from tests.database.test_types_table import DECLARED, PAGE, TYPES, shown
from tests.pipeline.folder import Pipe
from tidelog.diagnostics.errors import DataError

deltalake = pytest.importorskip("deltalake")
catalogs = pytest.importorskip("pyiceberg.catalog")

NAIVE = dt.datetime(1, 1, 1, 0, 0, 0, 1)
FIRST, LAST = dt.datetime.min.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC)
MAP = pa.map_(pa.string(), pa.int64())
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


# A type of Delta, one of Iceberg, the type of the column, and values: as Arrow has them, and in Python; or the code
# of the error. An empty name: the format has no such type.
FROM_TABLES: list[tuple[str, str, str, pa.DataType, list[Any], list[Any] | str]] = [
    ("boolean", "boolean", "bool", pa.bool_(), [True, False], [True, False]),
    ("byte", "", "s8", pa.int8(), [-128, 127], [-128, 127]),
    ("short", "", "u8", pa.int16(), [0, 255], [0, 255]),
    ("integer", "int", "s32", pa.int32(), [-(2**31), 2**31 - 1], [-(2**31), 2**31 - 1]),
    ("integer", "int", "double", pa.int32(), [2**31 - 1], [2147483647.0]),
    ("integer", "int", "decimal<10, 0>", pa.int32(), [-(2**31)], [Decimal(-(2**31))]),
    ("long", "long", "s64", pa.int64(), [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
    ("long", "long", "bigint", pa.int64(), [-(2**63)], [-(2**63)]),
    ("float", "float", "float", pa.float32(), [0.5, -math.inf], [0.5, -math.inf]),
    ("float", "float", "double", pa.float32(), [0.1], [0.10000000149011612]),
    ("double", "double", "double", pa.float64(), [0.1, 5e-324], [0.1, 5e-324]),
    ("double", "double", "float", pa.float64(), [0.1], "E506"),
    ("double", "double", "decimal<10, 2>", pa.float64(), [0.5], "E506"),
    ("decimal(38,10)", "decimal(38, 10)", "decimal<10, 2>", pa.decimal128(38, 10), [Decimal("1.5")], [Decimal("1.50")]),
    ("decimal(20,0)", "decimal(20, 0)", "u64", pa.decimal128(20, 0), [Decimal(2**64 - 1)], [2**64 - 1]),
    ("decimal(38,10)", "decimal(38, 10)", "double", pa.decimal128(38, 10), [Decimal("1.5")], "E506"),
    ("string", "string", "string", pa.string(), ["", 'a, "b" ü'], ["", 'a, "b" ü']),
    ("string", "string", "Option<istring>", pa.string(), [None, "a"], [None, "a"]),
    ("date", "date", "date", pa.date32(), [dt.date.min, dt.date.max], [dt.date.min, dt.date.max]),
    ("timestamp", "timestamptz", "timestamp", pa.timestamp("us", "UTC"), [FIRST, LAST], [FIRST, LAST]),
    ("timestamp_ntz", "timestamp", "timestamp", pa.timestamp("us"), [NAIVE], [NAIVE.replace(tzinfo=dt.UTC)]),
    ("array<integer>", "list<int>", "Vec<s32>", pa.list_(pa.int32()), [[1, -2], []], [[1, -2], []]),
    ("map<string,long>", "map<string, long>", "Map<string, s64>", MAP, [{"a": 1}], [{"a": 1}]),
    ("binary", "binary", "string", pa.binary(), [b"a"], "E506"),
    ("", "fixed[3]", "string", pa.binary(3), [b"abc"], "E506"),
    ("", "time", "string", pa.time64("us"), [dt.time(1, 2)], "E506"),
    ("", "uuid", "string", pa.uuid(), [bytes(16)], "E506"),
]


def from_table(format_: str, case: tuple[str, str, str, pa.DataType, list[Any], list[Any] | str], folder: Path) -> None:
    """A pipeline takes the values as first rows, and once more as a change; or refuses the column."""
    delta_, iceberg_, type_, arrow, values, expected = case
    folder.mkdir()

    def rows(first: int) -> pa.Table:
        numbers = pa.array(range(first, first + len(values)), pa.int64())
        given = [list(each.items()) for each in values] if pa.types.is_map(arrow) else values
        return pa.table({"n": numbers, "x": pa.array(given, arrow)})

    if format_ == "delta":
        place = 'format = "delta"\npath = "out"\n'
        deltalake.write_deltalake(folder / "out", rows(0))
    else:
        place = iceberg(folder)
        properties = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
        catalog = catalogs.load_catalog("x", type="sql", **properties)
        catalog.create_namespace("db")
        catalog.create_table("db.out", schema=rows(0).schema).append(rows(0))
    assert shown_type(table(folder, format_), format_) == (delta_ if format_ == "delta" else iceberg_)
    file = f'program = "program.dl"\nstate = "state"\n[changes.R]\n{place}'
    pipe = Pipe(folder, f"input relation R(n: s64, x: {type_})", file)
    if isinstance(expected, str):
        with pytest.raises(DataError, match=r"column `x`") as caught:
            pipe.run()
        assert caught.value.code == expected
        return
    pipe.run()
    if format_ == "delta":
        deltalake.write_deltalake(folder / "out", rows(len(values)), mode="append")
    else:
        table(folder, format_).append(rows(len(values)))
    pipe.run()
    with tidelog.open(folder / "state/database", read_only=True) as db:
        found = [plain(x) for _, x in db.relation("R").rows()]
    assert found == expected * 2


def plain(value: Any) -> Any:
    """The value with lists and dictionaries for collections."""
    match type(value).__name__:
        case "Vec":
            return list(value)
        case "Map":
            return dict(value.items)
    return value


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_every_type_of_a_table_is_taken_whole_or_refused(tmp_path: Path, format_: str) -> None:
    for number, case in enumerate(FROM_TABLES):
        if case[0 if format_ == "delta" else 1]:
            from_table(format_, case, tmp_path / str(number))


def test_the_page_has_a_line_for_each_type_of_a_table() -> None:
    def line(case: tuple[str, str, str, pa.DataType, list[Any], list[Any] | str]) -> str:
        names = [shown(name) if name else "" for name in case[:2]]
        outcome = f"refused ({case[5]})" if isinstance(case[5], str) else "whole"
        return f"| {' | '.join(names)} | {shown(case[2])} | {outcome} |"

    made = "\n".join(["| Delta | Iceberg | column | |", "| --- | --- | --- | --- |", *map(line, FROM_TABLES)])
    assert made in PAGE.read_text(encoding="utf-8"), made
