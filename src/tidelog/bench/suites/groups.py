"""Sums and maxima of many sales, by shop and by shop and day: few large groups and many small ones.

`price.group_by(shop)` adds equal prices once; `(id, price).group_by((shop, day))` adds them all. Loading is timed from
Arrow tables to committed rows, then single rows and a thousandth of all rows, deleted and inserted again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.measure import (
    PROGRAMS,
    Outcome,
    Ratio,
    Subject,
    loads,
    memory_of_load,
    one_by_one,
    require_equal,
    take,
    warm,
)
from tidelog.bench.references.peers import beside

_DAYS = 365
_DEAREST = 100_000
_PROGRAMS = {
    "sums": ("sums and maxima", ("ByShop", "ByDay")),
    "counts": ("counts, minima and the cheapest", ("More",)),
}
Column = npt.NDArray[np.int64]


def groups(settings: Settings) -> Outcome:
    out = Outcome()
    data = _sales(settings.pick(3_000, 150_000, 1_500_000))
    out.inputs.append(data.describe())
    alone = _bytes_alone(data)
    for program in _PROGRAMS:
        _measure(settings, out, data, program, alone)
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


def _bytes_alone(data: Dataset) -> int:
    """Returns the bytes of the input relation in a program without rules."""
    lines = (PROGRAMS / "sums.dl").read_text(encoding="utf-8").splitlines(keepends=True)
    subject = Subject("".join(line for line in lines if line.startswith("input")))
    subject.change(inserts=data.tables)
    found = subject.all_bytes
    subject.close()
    return found


def _measure(settings: Settings, out: Outcome, data: Dataset, program: str, alone: int) -> None:
    name, results = _PROGRAMS[program]
    settings.say(f"{data.name}: {name}")
    warm(program, data.tables, ("elastic",))
    subject, seconds = loads(program, data.tables, settings.repeat, settings.threads)
    loaded = out.case(data.name, f"{name}: loaded", seconds, rows=data.rows)
    _note_bytes(out, data, name, subject, results, alone)
    sales = data.tables["Sale"]
    rng = np.random.default_rng(SEED + 1)
    rows = take(sales, rng.choice(data.rows, size=settings.pick(2, 10, 30), replace=False))
    one_by_one(subject, "Sale", rows.slice(0, 2))
    deleted, inserted = one_by_one(subject, "Sale", rows)
    out.case(data.name, f"{name}: a row deleted or inserted", (*deleted, *inserted), rows=1)
    part = max(data.rows // 1000, 2)
    seconds = []
    for number in range(settings.pick(2, 5, 5)):
        some = {"Sale": take(sales, rng.choice(data.rows, size=part, replace=False))}
        times = subject.change(deletes=some), subject.change(inserts=some)
        seconds += times if number else ()
    out.case(data.name, f"{name}: a thousandth deleted or inserted", seconds, rows=part)
    _check(out, data, program, subject)
    found = {relation: subject.table(relation) for relation in results}
    subject.close()
    settings.say(f"{data.name}: {name}, memory")
    peak = memory_of_load(out, f"{data.name}: {loaded.name}", program, data.tables, settings.threads)
    beside(settings, program, data, loaded, found, out, peak)


def _note_bytes(out: Outcome, data: Dataset, name: str, subject: Subject, results: tuple[str, ...], alone: int) -> None:
    """Adds the bytes of a member, of a group and of a row of results, beyond those of the input relation alone."""
    bytes_of = subject.relation_bytes
    out.memory_mb[f"{data.name}: {name}"] = {
        "all relations": round(subject.all_bytes / 1e6, 1),
        "declared relations": round(subject.bytes / 1e6, 1),
        "the input relation alone": round(alone / 1e6, 1),
    }
    groups = sum(subject.counts(results).values())
    of_groups = sum(size for relation, size in bytes_of.items() if "#groups" in relation)
    of_results = sum(bytes_of[relation] for relation in results)
    of_members = subject.all_bytes - alone - of_groups - of_results
    for what, size, count in (
        ("member", of_members, len(results) * data.rows),
        ("group", of_groups, groups),
        ("row of results", of_results, groups),
    ):
        out.ratios.append(Ratio(data.name, f"{name}: bytes of a {what}", size / count))


def _check(out: Outcome, data: Dataset, program: str, subject: Subject) -> None:
    """Compares with NumPy's sums, by sorting."""
    sale = {each: data.tables["Sale"][each].to_numpy().astype(np.int64) for each in ("id", "shop", "day", "price")}
    by_day = sale["shop"] * _DAYS + sale["day"]
    if program == "sums":
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
