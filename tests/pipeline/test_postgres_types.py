"""The types of Postgres in `docs/reference/types.md`: each line is read as a first row and as a change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.pipeline.folder import Pipe
from tests.pipeline.postgres_server import Server, programs, server
from tidelog.pipeline.sources.postgres.types import PostgresType, RefusedTypeError, reader, taken_by

pytest.importorskip("psycopg2")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "types.md"

# A type of Postgres, the type of the column, and values: in SQL, and in Python.
TYPES: list[tuple[str, str, list[tuple[str, Any]]]] = [
    ("boolean", "bool", [("true", True), ("false", False)]),
    ("smallint", "s16", [("-32768", -32768), ("32767", 32767)]),
    ("integer", "s32", [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    ("bigint", "s64", [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)]),
    ("integer", "u8", [("255", 255), ("0", 0)]),
    ("integer", "double", [("2147483647", 2147483647.0)]),
    ("numeric(40,0)", "bigint", [(f"-{10**39}", -(10**39)), ("0", 0)]),
    ("numeric(10,2)", "decimal<10, 2>", [("-12.5", Decimal("-12.50")), ("99999999.99", Decimal("99999999.99"))]),
    ("numeric", "decimal<38, 10>", [("1.5", Decimal("1.5000000000")), ("-1e-10", Decimal("-1E-10"))]),
    ("real", "float", [("0.5", 0.5), ("'-infinity'", float("-inf"))]),
    ("real", "double", [("0.1", 0.10000000149011612)]),
    ("double precision", "double", [("0.1", 0.1), ("5e-324", 5e-324), ("'infinity'", float("inf"))]),
    ("text", "string", [("'a, \"b\" ü\\N'", 'a, "b" ü\\N'), ("''", ""), ("E'\\n\\t'", "\n\t")]),
    ("varchar(9)", "istring", [("'a'", "a")]),
    ("char(3)", "string", [("'a'", "a  ")]),
    ("uuid", "string", [("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")]),
    ("inet", "string", [("'10.0.0.1/8'", "10.0.0.1/8")]),
    ("time", "string", [("'13:45:00.5'", "13:45:00.5")]),
    ("json", "string", [("'{\"a\": 1.50}'", '{"a": 1.50}')]),
    ("jsonb", "(u8, string)", [("'[1, \"x\"]'", (1, "x"))]),
    ("date", "date", [("'2024-01-31'", date(2024, 1, 31)), ("'0001-01-01'", date.min), ("'9999-12-31'", date.max)]),
    (
        "timestamp",
        "timestamp",
        [
            ("'2024-01-31 13:45:00'", datetime(2024, 1, 31, 13, 45, tzinfo=UTC)),
            ("'0001-01-01'", datetime.min.replace(tzinfo=UTC)),
            ("'9999-12-31 23:59:59.999999'", datetime.max.replace(tzinfo=UTC)),
        ],
    ),
    (
        "timestamp with time zone",
        "timestamp",
        [("'2024-01-31 13:45:00.000001+02'", datetime(2024, 1, 31, 11, 45, 0, 1, tzinfo=UTC))],
    ),
    (
        "interval",
        "duration",
        [("'1 day 2:30'", timedelta(hours=26, minutes=30)), ("'-1us'", timedelta(microseconds=-1))],
    ),
    ("integer[]", "Vec<s32>", [("'{1,-2}'", [1, -2]), ("'{}'", [])]),
    ("text[]", "Vec<Option<string>>", [('\'{"a,\\"b",NULL,"NULL"}\'', ['a,"b', None, "NULL"])]),
    ("integer[]", "Vec<Vec<s32>>", [("'{{1,2},{3,4}}'", [[1, 2], [3, 4]])]),
    ("integer", "Option<u32>", [("NULL", None), ("7", 7)]),
]
REFUSED = ("bytea", "money", "bit varying", "point", "int4range", "tsvector")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    if programs() is None:
        pytest.skip("Postgres is not installed")
    with server() as running:
        yield running


def line(postgres: str, type_: str) -> str:
    return f"| `{postgres}` | `{type_}` |"


def test_the_table_has_these_lines_and_no_others() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| Postgres | column |") + 2
    assert lines[start : start + len(TYPES)] == [line(postgres, type_) for postgres, type_, _ in TYPES]
    assert not lines[start + len(TYPES)].startswith("|")
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{each}`" in text for each in REFUSED)


def test_every_value_is_the_same_from_a_first_row_and_from_a_change(postgres: Server, tmp_path: Path) -> None:
    columns = ", ".join(f"c{i} {name}" for i, (name, _, _) in enumerate(TYPES))
    postgres.sql(f"CREATE TABLE types(id int PRIMARY KEY, {columns})", "CREATE DOMAIN age AS int CHECK (value > 0)")
    most = max(len(values) for _, _, values in TYPES)

    def insert(begin: int) -> None:
        for row in range(most):
            given = ", ".join(values[min(row, len(values) - 1)][0] for _, _, values in TYPES)
            postgres.sql(f"INSERT INTO types VALUES ({begin + row}, {given})")

    declared = ", ".join(f"c{i}: {type_}" for i, (_, type_, _) in enumerate(TYPES))
    pipe = Pipe(
        tmp_path,
        f"input relation T(id: u32, {declared})",
        f'program = "program.dl"\nstate = "state"\n[changes.T]\nformat = "postgres"\nkey = "id"\n'
        f'options = {{dsn = "{postgres.dsn}", table = "types", slot = "types"}}\n',
    )
    insert(0)
    pipe.run()
    insert(most)
    pipe.run()
    with tidelog.open(tmp_path / "state/database", read_only=True) as db:
        rows = db.relation("T").rows()
    for number, row in enumerate(rows):
        for i, (name, type_, values) in enumerate(TYPES):
            expected = values[min(number % most, len(values) - 1)][1]
            found = row[1 + i]
            assert (list(map(_plain, found)) if isinstance(expected, list) else found) == expected, (
                name,
                type_,
                number,
            )
    assert len(rows) == 2 * most


def _plain(value: Any) -> Any:
    return list(value) if not isinstance(value, str | int | None) else value


def test_domains_and_enums_are_their_values(postgres: Server, tmp_path: Path) -> None:
    postgres.sql(
        "CREATE DOMAIN years AS int CHECK (value > 0)",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE people(id years PRIMARY KEY, mood mood NOT NULL)",
        "INSERT INTO people VALUES (7, 'ok')",
    )
    file = (
        f'program = "program.dl"\nstate = "state"\n[changes.P]\nformat = "postgres"\nkey = "id"\n'
        f'options = {{dsn = "{postgres.dsn}", table = "people", slot = "people"}}\n'
    )
    pipe = Pipe(tmp_path, "input relation P(id: u32, mood: string)", file)
    pipe.run()
    postgres.sql("INSERT INTO people VALUES (8, 'sad')")
    pipe.run()
    with tidelog.open(tmp_path / "state/database", read_only=True) as db:
        assert db.relation("P").rows() == [(7, "ok"), (8, "sad")]


def column_type(type_: str) -> Any:
    (column,) = tidelog.compile(f"input relation R(x: {type_})").stages.rules.relations["R"].columns
    return column.type


@pytest.mark.parametrize(
    ("postgres", "type_"),
    [
        (PostgresType("numeric"), "double"),
        (PostgresType("numeric"), "bigint"),
        (PostgresType("int8"), "double"),
        (PostgresType("float8"), "float"),
        (PostgresType("text"), "u32"),
        (PostgresType("timestamp"), "date"),
        (PostgresType("bytea"), "string"),
        (PostgresType("_int4", element=PostgresType("int4")), "u32"),
        (PostgresType("_int4", element=PostgresType("int4")), "Set<s32>"),
        (PostgresType("_money", element=PostgresType("money")), "Vec<string>"),
    ],
)
def test_a_type_that_would_lose_something_is_refused(postgres: PostgresType, type_: str) -> None:
    with pytest.raises(RefusedTypeError):
        reader(postgres, column_type(type_))


@pytest.mark.parametrize("text", ["[0:1]={5,6}", "{{1,2},{3,4}}"])
def test_an_array_of_another_shape_is_no_value(text: str) -> None:
    read = reader(PostgresType("_int4", element=PostgresType("int4")), column_type("Vec<s32>"))
    with pytest.raises(ValueError, match=r"items|dimensions"):
        read(text)


def test_types_are_shown_as_sql_writes_them() -> None:
    number = PostgresType("numeric", (10 << 16 | 2) + 4)
    assert (str(number), str(PostgresType("varchar", 13)), str(PostgresType("timestamptz"))) == (
        "numeric(10,2)",
        "varchar(9)",
        "timestamp with time zone",
    )
    assert taken_by(PostgresType("int8")) == "`s64`, another integer, a decimal"
