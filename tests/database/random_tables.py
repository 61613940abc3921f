"""Random tables of every type of the language, and every way out of a database and into another one.

    python -m tests.database.random_tables --seconds 600 --seed 1

A table has columns of random types, nested ones among them, with extreme values, and with nulls wherever an `Option`
is. Its rows are inserted as Python values, leave by one of the `WAYS`, and are inserted into another database: the same
rows. Then they are deleted there by what came out, and nothing is left.
"""

from __future__ import annotations

import argparse
import math
import string
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import tidelog
from tidelog.scaled_values import from_units, unit_range
from tidelog.types import DATE, DURATION, TIMESTAMP, DecimalType
from tidelog.values.floats import single

DECLARED = """
typedef Point = Point{x: s16, at: Option<timestamp>}
typedef Shape = Circle{r: decimal<6, 2>} | Box{w: u8, h: Option<u8>} | Empty
typedef Chain = End | Link{item: Option<date>, rest: Ref<Chain>}
typedef Tag = Tag{tag: string, none: Option<string>}
"""
TEXTS = (
    "",
    " ",
    "null",
    "None",
    "NA",
    "nan",
    '"',
    "'",
    "a,b",
    "a\tb",
    "a\nb",
    "\r\n",
    "\\N",
    "é\U0001f600",
    "\0",
    "[1]",
    "{}",
)
_ALPHABET = string.printable + "äß\u2028\x7f\U0001d4b3"


@dataclass(frozen=True)
class Kind:
    """A type as it is written, a value of it as a user may give it, and that value in plain Python.

    `make` is given whether the value is inside a set, a key of a map or another `Option`, where `Some` is written out.
    """

    text: str
    make: Callable[[Random], Any]
    plain: Callable[[Any], Any]
    is_option: bool = False
    has_float: bool = False


def kind(random: Random, depth: int = 2) -> Kind:
    """Returns a random type; `depth` bounds how deep it is nested."""
    if depth and random.random() < 0.5:
        return random.choice((_option, _option, _vector, _set, _map, _tuple, _declared))(random, depth - 1)
    return random.choice((_integer, _integer, _scaled, _scaled, _decimal, _float, _text, _bool, _big))(random)


def _same(value: Any) -> Any:
    return value


def _integer(random: Random) -> Kind:
    width, is_signed = random.choice((1, 3, 8, 12, 16, 31, 32, 33, 63, 64, 65, 127, 128, 200)), random.random() < 0.5
    if is_signed and width == 1:
        width = 2
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if is_signed else (0, 2**width - 1)
    text = f"signed<{width}>" if is_signed else f"bit<{width}>"
    return Kind(text, lambda random: random.choice((low, high, 0, random.randint(low, high))), _same)


def _big(_: Random) -> Kind:
    high = 2**80
    return Kind("bigint", lambda random: random.choice((0, -1, 10**40, random.randint(-high, high))), _same)


def _scaled(random: Random) -> Kind:
    type_ = random.choice((DATE, TIMESTAMP, DURATION))
    low, high = unit_range(type_)
    return Kind(
        str(type_), lambda random: from_units(random.choice((low, high, 0, random.randint(low, high))), type_), _same
    )


def _decimal(random: Random) -> Kind:
    digits = random.choice((1, 5, 9, 10, 18, 19, 28, 37, 38))
    type_ = DecimalType(digits, random.choice((0, 1, digits // 2, digits)) if digits > 1 else 0)
    low, high = unit_range(type_)
    return Kind(
        str(type_), lambda random: from_units(random.choice((low, high, 0, random.randint(low, high))), type_), _same
    )


def _float(random: Random) -> Kind:
    text = random.choice(("float", "double"))
    values = (0.0, 0.5, -0.1, math.inf, -math.inf, math.nan, 1e300, 5e-324, 2.0**53, 16777217.0, 1e-45)

    def make(random: Random) -> float:
        value = random.choice((*values, random.random()))
        return float(single(value)) if text == "float" else value

    return Kind(text, make, lambda value: "NaN" if math.isnan(value) else float(value), has_float=True)


def _text(random: Random) -> Kind:
    def make(random: Random) -> str:
        if random.random() < 0.5:
            return random.choice(TEXTS)
        return "".join(random.choice(_ALPHABET) for _ in range(random.randrange(6)))

    return Kind(random.choice(("string", "string", "istring")), make, _same)


def _bool(_: Random) -> Kind:
    return Kind("bool", lambda random: random.random() < 0.5, _same)


def _option(random: Random, depth: int) -> Kind:
    inner = kind(random, depth)
    while inner.is_option:  # an `Option` of an `Option` keeps its constructors: tests/database/test_nulls.py
        inner = kind(random, depth)

    def make(random: Random) -> Any:
        return None if random.random() < 0.3 else inner.make(random)

    def plain(value: Any) -> Any:
        return None if value is None else inner.plain(value)

    return Kind(f"Option<{inner.text}>", make, plain, True, inner.has_float)


def _items(random: Random, inner: Kind) -> list[Any]:
    return [inner.make(random) for _ in range(random.randrange(4))]


def _vector(random: Random, depth: int) -> Kind:
    inner = kind(random, depth)
    return Kind(
        f"Vec<{inner.text}>",
        lambda random: _items(random, inner),
        lambda value: [inner.plain(item) for item in value],
        has_float=inner.has_float,
    )


def _key(random: Random, depth: int) -> Kind:
    """Returns a type without an `Option` outside: items of sets and keys of maps keep its constructors."""
    while True:
        inner = kind(random, depth)
        if "Option" not in inner.text and not any(name in inner.text for name in ("Point", "Shape", "Chain", "Tag")):
            return inner


def _set(random: Random, depth: int) -> Kind:
    inner = _key(random, depth)
    return Kind(
        f"Set<{inner.text}>",
        lambda random: _items(random, inner),
        lambda value: sorted({repr(inner.plain(item)) for item in value}),
        has_float=inner.has_float,
    )


def _map(random: Random, depth: int) -> Kind:
    key, inner = _key(random, depth), kind(random, depth)

    def make(random: Random) -> list[tuple[Any, Any]]:
        found = {repr(key.plain(each)): (each, inner.make(random)) for each in _items(random, key)}
        return list(found.values())

    return Kind(
        f"Map<{key.text}, {inner.text}>",
        make,
        lambda value: sorted((repr(key.plain(each)), repr(inner.plain(item))) for each, item in value),
        has_float=key.has_float or inner.has_float,
    )


def _tuple(random: Random, depth: int) -> Kind:
    items = [kind(random, depth) for _ in range(random.choice((2, 2, 3)))]
    return Kind(
        f"({', '.join(item.text for item in items)})",
        lambda random: tuple(item.make(random) for item in items),
        lambda value: tuple(item.plain(each) for item, each in zip(items, value, strict=True)),
        has_float=any(item.has_float for item in items),
    )


def _declared(random: Random, _: int) -> Kind:
    day, moment, money = unit_range(DATE), unit_range(TIMESTAMP), unit_range(DecimalType(6, 2))

    def maybe(random: Random, value: Any) -> Any:
        return value if random.random() < 0.6 else None

    def point(random: Random) -> dict[str, Any]:
        return {
            "x": random.randint(-(2**15), 2**15 - 1),
            "at": maybe(random, from_units(random.randint(*moment), TIMESTAMP)),
        }

    def shape(random: Random) -> dict[str, Any]:
        which = random.choice(("Circle", "Box", "Empty"))
        if which == "Circle":
            return {"tag": which, "r": from_units(random.randint(*money), DecimalType(6, 2))}
        return {"tag": which, "w": random.randrange(256), "h": maybe(random, 7)} if which == "Box" else {"tag": which}

    def chain(random: Random) -> dict[str, Any]:
        found: dict[str, Any] = {"tag": "End"}
        for _ in range(random.randrange(3)):
            item = maybe(random, from_units(random.randint(*day), DATE))
            found = {"tag": "Link", "item": item, "rest": found}
        return found

    def tag(random: Random) -> dict[str, Any]:
        return {"tag": random.choice(TEXTS), "none": maybe(random, random.choice(TEXTS))}

    def plain(value: Any) -> Any:
        if not isinstance(value, dict):
            name = type(value).__name__
            fields = {field: getattr(value, field) for field in type(value).__match_args__}
            value = fields if name in ("Point", "Tag") else {"tag": name, **fields}
        return {name: plain(each) if name == "rest" else each for name, each in value.items()}

    name, make = random.choice((("Point", point), ("Shape", shape), ("Chain", chain), ("Tag", tag)))
    return Kind(name, make, plain)


def _written(ending: str) -> Callable[[Any, Path], Any]:
    def write(relation: Any, folder: Path) -> Path:
        path = folder / f"R.{ending}"
        relation.write(path)
        return path

    return write


def _parquet_of_polars(relation: Any, folder: Path) -> Path:
    relation.to_polars().write_parquet(folder / "polars.parquet")
    return folder / "polars.parquet"


def _arrow_of_polars(relation: Any, folder: Path) -> Path:
    relation.to_polars().write_ipc(folder / "polars.arrow")
    return folder / "polars.arrow"


def _parquet_of_arrow(relation: Any, folder: Path) -> Path:
    pyarrow.parquet.write_table(pa.table(relation), folder / "arrow.parquet")
    return folder / "arrow.parquet"


def _dataset(relation: Any, folder: Path) -> Any:
    return pyarrow.dataset.dataset(_parquet_of_arrow(relation, folder))


def _dicts(relation: Any, _: Path) -> list[dict[str, Any]]:
    names = relation.to_arrow().column_names
    return [dict(zip(names, row, strict=True)) for row in relation.rows()]


def _reader(relation: Any, _: Path) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(relation.to_arrow().schema, relation.batches(3))


# What a relation is made into: something to insert, or a file to load.
WAYS: dict[str, Callable[[Any, Path], Any]] = {
    "rows": lambda relation, _: relation.rows(),
    "dicts": _dicts,
    "relation": lambda relation, _: relation,
    "arrow": lambda relation, _: relation.to_arrow(),
    "reader": _reader,
    "dataset": _dataset,
    "pandas": lambda relation, _: relation.to_pandas(),
    "pandas of arrow": lambda relation, _: relation.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype),
    "polars": lambda relation, _: relation.to_polars(),
    "polars lazy": lambda relation, _: relation.to_polars().lazy(),
    "parquet of polars": _parquet_of_polars,
    "arrow of polars": _arrow_of_polars,
    "parquet of arrow": _parquet_of_arrow,
    **{
        f".{ending}": _written(ending)
        for ending in ("csv", "csv.gz", "tsv", "facts", "jsonl", "jsonl.zst", "parquet", "arrow", "feather")
    },
}


@dataclass(frozen=True)
class Table:
    """A program with an input relation `A` and a copy `B` of it by a rule, and rows for `A` as users give them."""

    text: str
    columns: tuple[Kind, ...]
    rows: list[tuple[Any, ...]]


def random_table(random: Random, columns: int = 8, rows: int = 8, depth: int = 2) -> Table:
    kinds = tuple(kind(random, depth) for _ in range(columns))
    declared = ", ".join(f"c{place}: {each.text}" for place, each in enumerate(kinds))
    names = ", ".join(f"c{place}" for place in range(columns))
    text = (
        f"{DECLARED}input relation A(n: u32, {declared})\noutput relation B(n: u32, {declared})\n"
        f"B(n, {names}) :- A(n, {names}).\n"
    )
    return Table(text, kinds, [(number, *(each.make(random) for each in kinds)) for number in range(rows)])


def plain_rows(table: Table, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns rows in plain Python, in which equal values are equal whatever form they were given in."""
    kinds = (Kind("u32", lambda _: 0, _same), *table.columns)
    return [tuple(each.plain(value) for each, value in zip(kinds, row, strict=True)) for row in rows]


def check(table: Table, ways: Sequence[str], folder: Path, spent: dict[str, float]) -> None:
    """Sends the rows of a table by some ways, and adds the processor time of each to what is spent."""
    program = tidelog.compile(table.text)
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("A", table.rows)
        found = db.relation("A").rows()
        assert plain_rows(table, found) == plain_rows(table, table.rows)
        assert db.relation("B").rows() == found
        for way in ways:
            began = time.process_time()
            with program.open() as other:
                send(db, other, way, folder)
            spent[way] = spent.get(way, 0) + time.process_time() - began


def send(db: tidelog.Database, other: tidelog.Database, way: str, folder: Path) -> None:
    """Inserts the rows of a database into an empty one by a way, and deletes them again."""
    try:
        made = WAYS[way](db.relation("A"), folder)
    except tidelog.UsageError as error:
        # Files without quotes refuse such a text by name.
        if way != ".facts" or "tab or a line end" not in error.message or not _has_line_ends(db):
            raise
        return
    with other.transaction() as tx:
        if isinstance(made, Path):
            tx.load("A", made)
        else:
            tx.insert("A", made)
    assert other.relation("A").rows() == db.relation("A").rows(), way
    assert other.relation("B").rows() == db.relation("A").rows(), way
    with other.transaction() as tx:
        tx.delete("A", db.relation("A") if isinstance(made, Path) else WAYS[way](db.relation("A"), folder))
    assert len(other.relation("A")) == len(other.relation("B")) == 0, way


def _has_line_ends(db: tidelog.Database) -> bool:
    return any(each in repr(db.relation("A").rows()) for each in (r"\t", r"\n", r"\r"))


def main() -> int:
    """Checks tables until every way had its processor time; returns 1 if any table failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60, help="of processor time for each way")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    spent, seed, failures = dict.fromkeys(WAYS, 0.0), asked.seed, 0
    while min(spent.values()) < asked.seconds:
        table = random_table(Random(seed))
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(table, [way for way, seconds in spent.items() if seconds < asked.seconds], Path(folder), spent)
            except Exception:
                failures += 1
                print(f"seed {seed}\n{table.text}", file=sys.stderr)
                traceback.print_exc()
        seed += 1
    print(f"{seed - asked.seed} tables by {len(WAYS)} ways, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
