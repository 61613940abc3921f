"""The table of types in `docs/reference/types.md`: each line is made by the program that it describes."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import tidelog

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "types.md"
DECLARED = """
    typedef Point = Point{x: u8, y: u8}
    typedef Shape = Circle{r: u8} | Dot
    typedef Chain = End | Link{rest: Ref<Chain>}
"""
HEAD = "| type | Python | Arrow, Parquet | pandas | polars | CSV cell | JSON | Spark |"

# A type, and values of it in Python, the extreme ones among them; the first is shown.
TYPES: list[tuple[str, list[Any]]] = [
    ("bool", [True, False]),
    ("u8", [255, 0]),
    ("bit<12>", [4095, 0]),
    ("u32", [2**32 - 1]),
    ("u64", [2**64 - 1, 0]),
    ("s64", [-(2**63), 2**63 - 1]),
    ("u128", [2**128 - 1, 0]),
    ("bigint", [-(10**40), 10**400]),
    ("float", [0.5, float("inf")]),
    ("double", [0.1, float("nan"), float("-inf"), 5e-324]),
    ("string", ["a, b", "", '"', "é\n"]),
    ("istring", ["a"]),
    ("date", [date(2024, 1, 31), date.min, date.max]),
    (
        "timestamp",
        [
            datetime(2024, 1, 31, 13, 45, tzinfo=UTC),
            datetime.min.replace(tzinfo=UTC),
            datetime.max.replace(tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
    ),
    ("duration", [timedelta(hours=26, minutes=30), -(datetime.max - datetime.min), timedelta(microseconds=1)]),
    ("decimal<10, 2>", [Decimal("-12.50"), Decimal("99999999.99"), Decimal(0)]),
    ("decimal<38, 10>", [Decimal("1.5"), Decimal("9" * 28 + "." + "9" * 10), Decimal("-1E-10")]),
    ("(u8, date)", [(1, date(2024, 1, 31))]),
    ("Point", [{"x": 1, "y": 2}]),
    ("Shape", [{"tag": "Circle", "r": 1}, {"tag": "Dot"}]),
    ("Chain", [{"tag": "Link", "rest": {"tag": "End"}}]),
    ("Option<u32>", [1, None]),
    ("Option<double>", [0.1, None, float("nan")]),
    ("Option<timestamp>", [datetime(2024, 1, 31, tzinfo=UTC), None]),
    ("Option<decimal<10, 2>>", [Decimal("0.50"), None]),
    ("Vec<decimal<10, 2>>", [[Decimal("0.50")], []]),
    ("Set<date>", [{date(2024, 1, 31)}, set()]),
    ("Map<string, u64>", [{"a": 2**64 - 1}, {}]),
    ("Map<date, duration>", [{date(2024, 1, 31): timedelta(minutes=5)}]),
]


def program_of(type_: str) -> tidelog.Program:
    return tidelog.compile(
        f"{DECLARED} input relation R(n: u8, x: {type_}) output relation S(x: {type_}) S(x) :- R(_, x)."
    )


def shown(name: str) -> str:
    return "`" + name.replace("|", "\\|") + "`"


def line(type_: str, values: list[Any], folder: Path) -> str:
    """One line of the table; everything on it is also read back."""
    program = program_of(type_)
    rows = list(enumerate(values))
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("R", rows)
        relation = db.relation("R")
        first = relation.rows()[0]
        forms = [relation.rows(), relation.to_arrow(), relation.to_pandas(), relation.to_polars()]
        for ending in ("csv", "jsonl", "parquet", "arrow"):
            relation.write(folder / f"R.{ending}")
        for form in forms:
            with program.open() as other:
                with other.transaction() as tx:
                    tx.insert("R", form)
                assert other.relation("R").rows() == relation.rows(), type(form)
        for ending in ("csv", "jsonl", "parquet", "arrow"):
            with program.open() as other:
                with other.transaction() as tx:
                    tx.load("R", folder / f"R.{ending}")
                assert other.relation("R").rows() == relation.rows(), ending
        stored = pyarrow.parquet.read_schema(folder / "R.parquet").field("x").type
        cells = (folder / "R.csv").read_text(encoding="utf-8").splitlines()[1].partition(",")[2]
        document = json.loads((folder / "R.jsonl").read_text(encoding="utf-8").splitlines()[0])
        arrow = str(relation.to_arrow().schema.field("x").type).replace(" not null", "")
        assert stored == relation.to_arrow().schema.field("x").type
        return (
            f"| `{type_}` | `{type(first[1]).__name__}` | {shown(arrow)} | `{relation.to_pandas()['x'].dtype}` |"
            f" {shown(str(relation.to_polars()['x'].dtype))} | {shown(cells)} |"
            f" {shown(json.dumps(document['x'], ensure_ascii=False))} | {shown(relation_spark_type(db))} |"
        )


def relation_spark_type(db: tidelog.Database) -> str:
    """The type of the column in a DataFrame, which needs no session to be known."""
    from pyspark.sql.pandas.types import from_arrow_type

    from tidelog.engine.spark.encoding.nested import _spark_form

    form = _spark_form(db.relation("R").to_arrow().schema.field("x").type)
    return str(from_arrow_type(form).simpleString())


@pytest.mark.parametrize(("type_", "values"), TYPES, ids=[type_ for type_, _ in TYPES])
def test_every_line_of_the_table_is_true(type_: str, values: list[Any], tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    assert line(type_, values, tmp_path) in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_table_has_these_types_and_no_others() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(HEAD) + 2
    listed = [text.split("`")[1] for text in lines[start : start + len(TYPES)]]
    assert listed == [type_ for type_, _ in TYPES]
    assert not lines[start + len(TYPES)].startswith("|")


def test_functions_are_refused_by_name() -> None:
    program = tidelog.compile("output relation F(f: function(u8): u8)\nfunction g(x: u8): u8 { x }\nF(g).")
    with program.open() as db, pytest.raises(tidelog.UsageError, match="cannot be written to a table"):
        db.relation("F").to_arrow()


@pytest.mark.spark
@pytest.mark.parametrize(("type_", "values"), TYPES, ids=[type_ for type_, _ in TYPES])
def test_spark_gives_every_type_back(type_: str, values: list[Any], spark: Any) -> None:
    program = program_of(type_)
    with program.open() as local, program.open(engine="spark", spark=spark) as db:
        for each in (local, db):
            with each.transaction() as tx:
                tx.insert("R", list(enumerate(values)))
        assert db.relation("R").rows() == local.relation("R").rows()
        frame = db.relation("R").to_spark()
        assert frame.schema["x"].dataType.simpleString() == relation_spark_type(local)
        with program.open(engine="spark", spark=spark) as other:
            with other.transaction() as tx:
                tx.insert("R", frame)
            assert other.relation("R").rows() == local.relation("R").rows()
            assert other.relation("S").rows() == local.relation("S").rows()
