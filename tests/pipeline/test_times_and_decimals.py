"""Dates, timestamps, durations and decimals through pipelines: tables and feeds in, outputs out, in each format, and
the same on both engines."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.folder import Pipe
from tidelog.iso_texts import parse_duration

COLUMNS = "d: date, t: timestamp, u: duration, p: decimal<10, 2>, w: decimal<38, 10>, o: Option<timestamp>"
NAMES = ("d", "t", "u", "p", "w", "o")
FORMATS = ("csv", "json", "parquet")
PROGRAM = "".join(
    f"""
    input relation In_{name}({COLUMNS})
    output relation Out_{name}({COLUMNS})
    Out_{name}(d, t, u, p, w, o) :- In_{name}(d, t, u, p, w, o).
    output relation Most_{name}(d: date, p: decimal<20, 2>, o: Option<timestamp>)
    Most_{name}(d, p, o) :- In_{name}(d, _, _, price, _, at), (var p, var o) = (sum(price), max(at)) by (d).
    """
    for name in FORMATS
)
SCHEMA = pa.schema(
    [
        ("d", pa.date32()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("u", pa.string()),
        ("p", pa.decimal128(10, 2)),
        ("w", pa.decimal128(38, 10)),
        ("o", pa.timestamp("us", tz="UTC")),
    ]
)
Row = tuple[Any, ...]
FIRST: list[Row] = [
    (
        date(1, 1, 1),
        datetime(1, 1, 1, tzinfo=UTC),
        timedelta(microseconds=-1),
        Decimal("-99999999.99"),
        Decimal(10**28 - 1),
        None,
    ),
    (
        date(9999, 12, 31),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        timedelta(days=3, hours=2, microseconds=5),
        Decimal("0.00"),
        Decimal("-0.0000000001"),
        datetime(1582, 10, 4, 12, tzinfo=UTC),
    ),
    (
        date(2024, 2, 29),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        timedelta(0),
        Decimal("12.50"),
        Decimal("1.5000000000"),
        datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
    ),
]
SECOND: list[Row] = [
    (date(2024, 2, 29), datetime(2024, 7, 1, tzinfo=UTC), timedelta(hours=-5), Decimal("0.01"), Decimal(0), None),
]


def _texts(row: Row) -> dict[str, Any]:
    """A row as JSON has it, with values as people write them."""
    d, t, u, p, w, o = row
    microseconds = (u.days * 86_400 + u.seconds) * 1_000_000 + u.microseconds
    sign = "-" if microseconds < 0 else ""
    return {
        "d": d.isoformat(),
        "t": t.isoformat(),
        "u": f"{sign}PT{abs(microseconds) // 1_000_000}.{abs(microseconds) % 1_000_000:06}S",
        "p": str(p),
        "w": format(w, "f"),
        "o": None if o is None else o.isoformat().replace("+00:00", "Z"),
    }


def _write(pipe: Pipe, name: str, rows: list[Row], op: str | None, place: str) -> None:
    made = [_texts(row) | ({} if op is None else {"op": op}) for row in rows]
    if name == "json":
        pipe.feed_text("\n".join(map(json.dumps, made)) + "\n", f"{place}.json")
    elif name == "csv":
        lines = [",".join(made[0])]
        lines += [",".join("" if value is None else str(value) for value in each.values()) for each in made]
        pipe.feed_text("\n".join(lines) + "\n", f"{place}.csv")
    else:
        # Parquet has no durations: each writer notes them in its own way, and text is what all read.
        given = [(d, t, _texts(row)["u"], p, w, o) for row in rows for d, t, _, p, w, o in (row,)]
        table = pa.table(dict(zip(NAMES, zip(*given, strict=True), strict=True)), schema=SCHEMA)
        if op is not None:
            table = table.append_column("op", pa.array([op] * len(rows)))
        (pipe.folder / place).parent.mkdir(parents=True, exist_ok=True)
        draft = (pipe.folder / place).with_name(".draft")
        pq.write_table(table, draft)
        draft.rename(pipe.folder / f"{place}.parquet")


def _file() -> str:
    text = 'program = "program.dl"\nstate = "state"\n'
    for name in FORMATS:
        options = "options = {header = true}\n" if name == "csv" else ""
        text += f'[inputs.In_{name}]\nformat = "{name}"\npath = "tables/{name}"\n{options}'
        text += f'[changes.In_{name}]\nformat = "{name}"\npath = "feeds/{name}"\nop = "op"\n{options}'
        text += f'[outputs.Out_{name}]\nformat = "{name}"\npath = "out/{name}"\n'
        text += f'[outputs.Most_{name}]\nformat = "{name}"\npath = "most/{name}"\nmode = "snapshot"\n'
    return text


def _read(folder: Path) -> list[dict[str, Any]]:
    """The records of an output, with values as they are in its files."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.startswith((".", "_")):
            continue
        if path.suffix == ".parquet":
            found += pq.read_table(path, partitioning=None).to_pylist()
        elif path.suffix in (".json", ".jsonl"):
            found += map(json.loads, path.read_text().splitlines())
        else:
            header, *lines = path.read_text().splitlines()
            found += [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    return sorted(found, key=repr)


def _run(folder: Path, engine: str, spark: Any) -> dict[str, list[dict[str, Any]]]:
    folder.mkdir()
    pipe = Pipe(folder, PROGRAM, _file(), engine)
    for name in FORMATS:
        _write(pipe, name, FIRST, None, f"tables/{name}/0")
    pipe.run(spark=spark)
    for name in FORMATS:
        _write(pipe, name, FIRST[2:], "-", f"feeds/{name}/0")
    pipe.run(spark=spark)
    for name in FORMATS:
        _write(pipe, name, SECOND, "+", f"feeds/{name}/1")
    pipe.run(spark=spark)
    return {f"{kind} {name}": _read(folder / kind / name) for kind in ("out", "most") for name in FORMATS}


def _value(field: str, value: Any) -> Any:
    """A value of a file as Python has it."""
    if value in (None, ""):
        return None
    match field, value:
        case "_epoch", _:
            return int(value)
        case "u", int():
            return timedelta(microseconds=value)  # an interval of Spark
        case "u", str():
            return parse_duration(value)
        case "d", str():
            return date.fromisoformat(value)
        case (("t" | "o"), str()):
            return datetime.fromisoformat(value)
        case (("p" | "w"), str()):
            return Decimal(value)
        case _:
            return value


def _python(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The same records with values of Python, in order."""
    return {
        name: sorted(({k: _value(k, v) for k, v in each.items()} for each in records), key=repr)
        for name, records in found.items()
    }


def _check(found: dict[str, list[dict[str, Any]]]) -> None:
    for name in FORMATS:
        seen = {(each["_op"], *(each[column] for column in NAMES)) for each in found[f"out {name}"]}
        assert seen == {("-", *FIRST[2]), *(("+", *row) for row in (*FIRST, *SECOND))}
        most = sorted(((each["d"], each["p"], each["o"]) for each in found[f"most {name}"]), key=lambda row: row[0])
        assert most == [
            (date(1, 1, 1), Decimal("-99999999.99"), None),
            (date(2024, 2, 29), Decimal("0.01"), None),
            (date(9999, 12, 31), Decimal("0.00"), datetime(1582, 10, 4, 12, tzinfo=UTC)),
        ]


def test_a_local_pipeline_has_every_date_time_and_decimal(tmp_path: Path) -> None:
    _check(_python(_run(tmp_path / "local", "local", None)))


@pytest.mark.spark
def test_a_pipeline_on_spark_has_what_a_local_one_has(tmp_path: Path, spark: Any) -> None:
    found = _run(tmp_path / "spark", "spark", spark)
    _check(_python(found))
    local = _run(tmp_path / "local", "local", None)
    assert _python(found) == _python(local)
    for name in ("out csv", "out json"):
        written = [sorted((each["d"], each["t"], each["u"], str(each["o"])) for each in each_engine[name])
                   for each_engine in (found, local)]  # fmt: skip
        assert written[0] == written[1]
