"""Sums and maxima of many sales, by shop and by shop and day: few large groups and many small ones.

`price.group_by(shop)` adds equal prices once; `(id, price).group_by((shop, day))` adds them all. Loading is timed from
Arrow tables to committed rows, then single rows and a thousandth of all rows, deleted and inserted again.
"""

from __future__ import annotations

import importlib
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.measure import Case, Outcome, Subject, one_by_one, require_equal, take, warm
from tidelog.bench.references.peers import is_installed

_DAYS = 365
_DEAREST = 100_000
_HEAD = "import group\ninput relation Sale(id: u64, shop: u32, day: u32, price: u64)\n"
_SHOP = """output relation ByShop(shop: u32, sum: u64, most: u64)
ByShop(shop, g.sum_of(|p| p), g.max()) :- Sale(_, shop, _, price), var g = price.group_by(shop).
"""
_DAY = """output relation ByDay(shop: u32, day: u32, sum: u64, most: u64)
ByDay(shop, day, g.sum_of(|t| t.1), g.arg_max(|t| t.1).1) :-
    Sale(id, shop, day, price), var g = (id, price).group_by((shop, day)).
"""
_MORE = """output relation More(shop: u32, day: u32, number: u64, dear: u64, least: u64, cheapest: (u64, u64))
More(shop, day, g.count_distinct(), g.count(|t| t.1 > 50000), g.arg_min(|t| t.1).1, g.arg_min(|t| t.1)) :-
    Sale(id, shop, day, price), var g = (id, price).group_by((shop, day)).
"""
_PROGRAMS = {"sums and maxima": _SHOP + _DAY, "counts, minima and the cheapest": _MORE}
_DUCKDB = (
    "CREATE OR REPLACE TABLE by_shop AS SELECT shop, sum(DISTINCT price), max(price) FROM sale GROUP BY shop",
    "CREATE OR REPLACE TABLE by_day AS SELECT shop, day, sum(price), max(price) FROM sale GROUP BY shop, day",
)
Column = npt.NDArray[np.int64]


def groups(settings: Settings) -> Outcome:
    out = Outcome()
    data = _sales(settings.pick(3_000, 150_000, 1_500_000))
    out.inputs.append(data.describe())
    for name, rules in _PROGRAMS.items():
        _measure(settings, out, data, name, _HEAD + rules)
    return out


def _sales(size: int) -> Dataset:
    rng = np.random.default_rng(SEED)
    columns = {
        "id": np.arange(size, dtype=np.uint64),
        "shop": rng.integers(0, max(size // 500, 3), size).astype(np.uint32),
        "day": rng.integers(0, _DAYS, size).astype(np.uint32),
        "price": rng.integers(1, _DEAREST, size).astype(np.uint64),
    }
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    return Dataset(f"{size:,} sales", "generated", {"Sale": table}, SEED)


def _measure(settings: Settings, out: Outcome, data: Dataset, name: str, program: str) -> None:
    settings.say(f"{data.name}: {name}")
    warm(program, data.tables, ("elastic",))
    loads, subject = [], Subject(program, threads=settings.threads)
    for number in range(settings.repeat):
        if number:
            subject.close()
            subject = Subject(program, threads=settings.threads)
        loads.append(subject.change(inserts=data.tables))
    loaded = Case(data.name, f"{name}: loaded", tuple(loads), rows=data.rows)
    out.cases.append(loaded)
    out.memory_mb[f"{data.name}: {name}"] = {
        "all relations": round(subject.all_bytes / 1e6, 1),
        "declared relations": round(subject.bytes / 1e6, 1),
    }
    sales = data.tables["Sale"]
    rng = np.random.default_rng(SEED + 1)
    rows = take(sales, rng.choice(data.rows, size=settings.pick(2, 10, 30), replace=False))
    one_by_one(subject, "Sale", rows.slice(0, 2))
    deleted, inserted = one_by_one(subject, "Sale", rows)
    out.cases.append(Case(data.name, f"{name}: a row deleted or inserted", (*deleted, *inserted), rows=1))
    part = max(data.rows // 1000, 2)
    seconds: list[float] = []
    for number in range(settings.pick(2, 5, 5)):
        some = {"Sale": take(sales, rng.choice(data.rows, size=part, replace=False))}
        times = subject.change(deletes=some), subject.change(inserts=some)
        seconds += times if number else ()
    out.cases.append(Case(data.name, f"{name}: a thousandth deleted or inserted", tuple(seconds), rows=part))
    _check(out, data, name, subject)
    subject.close()
    if name == "sums and maxima" and "duckdb" in settings.peers and is_installed("duckdb"):
        peer = _duckdb(settings, data, loaded)
        out.cases.append(peer)
        out.ratio(data.name, f"{name}: loaded / duckdb", loaded, peer)


def _duckdb(settings: Settings, data: Dataset, ours: Case) -> Case:
    """Times DuckDB, from the same Arrow table to two stored tables."""
    settings.say(f"{data.name}: duckdb")
    duckdb: Any = importlib.import_module("duckdb")
    connection = duckdb.connect()
    connection.register("sale", data.tables["Sale"])
    seconds = []
    for _ in range(settings.repeat):
        started = perf_counter()
        for query in _DUCKDB:
            connection.execute(query)
        seconds.append(perf_counter() - started)
    connection.close()
    return Case(data.name, ours.name, tuple(seconds), "duckdb", ours.rows)


def _check(out: Outcome, data: Dataset, name: str, subject: Subject) -> None:
    """Compares with NumPy's sums, by sorting."""
    sale = {each: data.tables["Sale"][each].to_numpy().astype(np.int64) for each in ("id", "shop", "day", "price")}
    by_day = sale["shop"] * _DAYS + sale["day"]
    if name == "sums and maxima":
        once = np.unique(sale["shop"] * _DEAREST + sale["price"])
        shops = _aggregated(once // _DEAREST, once % _DEAREST)
        _require(out, data, subject.table("ByShop"), ("shop",), {"sum": shops[1], "most": shops[2]}, shops[0])
        days = _aggregated(by_day, sale["price"])
        _require(out, data, subject.table("ByDay"), ("shop", "day"), {"sum": days[1], "most": days[2]}, days[0])
        return
    order = np.lexsort([sale["id"], sale["price"], by_day])
    keys, first, counts = np.unique(by_day[order], return_index=True, return_counts=True)
    dear = np.add.reduceat((sale["price"][order] > 50000).astype(np.int64), first)
    wanted = {"number": counts, "dear": dear, "least": sale["price"][order][first]}
    table = subject.table("More")
    _require(out, data, table, ("shop", "day"), wanted, keys)
    cheapest = table["cheapest"].combine_chunks().flatten()
    place = np.argsort(_key(table, ("shop", "day")))
    found = [part.to_numpy().astype(np.int64)[place].tolist() for part in cheapest]
    expected = [sale[each][order][first].tolist() for each in ("id", "price")]
    out.checks.append(require_equal(f"{data.name}: the cheapest", found, expected))


def _aggregated(keys: Column, prices: Column) -> tuple[Column, Column, Column]:
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    return found, np.add.reduceat(prices[order], first), np.maximum.reduceat(prices[order], first)


def _key(table: pa.Table, keys: tuple[str, ...]) -> Column:
    found = np.zeros(table.num_rows, dtype=np.int64)
    for key in keys:
        found = found * _DAYS + table[key].to_numpy().astype(np.int64)
    return found


def _require(
    out: Outcome, data: Dataset, table: pa.Table, keys: tuple[str, ...], wanted: dict[str, Column], of: Column
) -> None:
    found = _key(table, keys)
    order = np.argsort(found)
    out.checks.append(require_equal(f"{data.name}: keys", found[order].tolist(), of.tolist()))
    for name, column in wanted.items():
        own = table[name].to_numpy().astype(np.int64)[order].tolist()
        out.checks.append(require_equal(f"{data.name}: {name} by {', '.join(keys)}", own, column.tolist()))
