"""Sales: a Parquet file with a timestamp, a decimal and two columns of text, loaded with `tx.load`, beside DuckDB.

One text has few values (shops), the other many (customers). DuckDB reads the same file into a table, without an index;
loading here also interns every text, finds duplicate rows and commits. Totals by shop are compared with those of the
generator.
"""

from __future__ import annotations

import tempfile
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.machine import peak_memory
from tidelog.bench.measure import Outcome, Ratio, require_equal

_SALES = "input relation Sale(at: timestamp, price: decimal<10, 2>, shop: string, customer: string)\n"
_TOTALS = (
    "output relation Total(shop: string, total: decimal<20, 2>)\n"
    "Total(shop, total) :- Sale(_, price, shop, _), var total = sum(price) by (shop).\n"
)
_SHOPS = 300
_ROWS_AT_ONCE = 1 << 20
_START = 1_704_067_200_000_000  # 2024-01-01


def sales(settings: Settings) -> Outcome:
    out = Outcome()
    rows = settings.pick(2_000, 200_000, 10_000_000)
    group = f"{rows:,} rows"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Sale.parquet"
        settings.say(f"{group}: writing")
        totals = _write(path, rows)
        out.inputs.append({"name": group, "source": "generated", "rows": rows, "tables": {"Sale": rows}})
        settings.say(f"{group}: loading")
        repeat = max(1, settings.repeat)
        _load(_SALES, path, min(rows, 1000), settings.threads)  # kernels are loaded before
        with peak_memory(out.memory_mb, f"{group}: load"):
            first = _load(_SALES, path, rows, settings.threads)
        loaded = [first, *(_load(_SALES, path, rows, settings.threads) for _ in range(repeat - 1))]
        out.case(group, "load", loaded, rows=rows)
        ours = out.cases[-1]
        out.ratios.append(Ratio(group, "million rows a second", rows / ours.median / 1e6))
        if find_spec("duckdb") is not None:
            settings.say(f"{group}: DuckDB")
            with peak_memory(out.memory_mb, f"{group}: DuckDB"):
                read = [_duckdb(path, settings.threads)]
            read += [_duckdb(path, settings.threads) for _ in range(repeat - 1)]
            out.case(group, "read", read, "duckdb", rows)
            out.ratio(group, "load / DuckDB's read", ours, out.cases[-1])
        settings.say(f"{group}: totals by shop")
        _check_totals(out, group, path, totals, settings.threads)
    return out


def _write(path: Path, rows: int) -> dict[str, Decimal]:
    """Writes random sales; returns the totals by shop. No two sales are alike: each has a moment of its own."""
    random = np.random.default_rng(1)
    shops = pa.array([f"shop-{number:03}" for number in range(_SHOPS)])
    schema = pa.schema(
        {
            "at": pa.timestamp("us", "UTC"),
            "price": pa.decimal128(10, 2),
            "shop": pa.string(),
            "customer": pa.string(),
        }
    )
    sums = np.zeros(_SHOPS, dtype=np.int64)
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, _ROWS_AT_ONCE):
            count = min(_ROWS_AT_ONCE, rows - start)
            cents, places = random.integers(1, 100_000, count), random.integers(0, _SHOPS, count)
            np.add.at(sums, places, cents)
            moments = _START + 1_000 * np.arange(start, start + count) + random.integers(0, 1_000, count)
            halves = np.zeros((count, 2), dtype=np.int64)
            halves[:, 0] = cents
            customers = random.integers(0, max(rows // 4, 1), count)
            columns = [
                pa.array(moments).cast(schema.field("at").type),
                pa.Array.from_buffers(schema.field("price").type, count, [None, pa.py_buffer(halves)]),
                shops.take(pa.array(places)),
                pa.array([f"customer-{number:08x}" for number in customers.tolist()]),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return {str(shop): Decimal(int(total)) / 100 for shop, total in zip(shops.to_pylist(), sums) if total}


def _load(text: str, path: Path, rows: int, threads: int | None) -> float:
    """Returns the seconds from the file to the committed epoch; fewer rows than the file has are not checked."""
    with tidelog.compile(text).open(threads=threads) as db:
        started = perf_counter()
        with db.transaction() as tx:
            tx.load("Sale", path)
        taken = perf_counter() - started
        assert len(db.relation("Sale")) >= rows
    return taken


def _duckdb(path: Path, threads: int | None) -> float:
    import duckdb

    with duckdb.connect(config={"threads": threads or 2}) as connection:
        started = perf_counter()
        connection.execute("create table sale as select * from read_parquet(?)", [str(path)])
        return perf_counter() - started


def _check_totals(out: Outcome, group: str, path: Path, totals: dict[str, Decimal], threads: int | None) -> None:
    with tidelog.compile(_SALES + _TOTALS).open(threads=threads) as db:
        with db.transaction() as tx:
            tx.load("Sale", path)
        found: dict[str, Decimal] = dict(db.relation("Total").rows())
    out.checks.append(require_equal(f"{group}: totals by shop", found == totals, True))
