"""Aggregates of one large group: single changes in four sizes, in the kernel alone and as whole commits.

For comparison, the same changes with an aggregate that is a function of the program, which is recomputed each time; and
three levels of detail, which share their members (`levels`).
"""

from __future__ import annotations

from functools import reduce
from math import fsum
from time import perf_counter

import numpy as np

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, number_table
from tidelog.bench.measure import Case, Outcome, Ratio, Subject, one_by_one, require_equal, take
from tidelog.bench.suites.levels import levels
from tidelog.engine.local.strata.aggregates.scan_tree import ScanTree

_HEAD = """import group
input relation Sale(id: u64, price: u64)
"""
_PROGRAMS = {
    "min, max, count, sum": """output relation Out(least: u64, most: u64, number: u64, sum: u64)
Out(g.min(), g.max(), g.count_distinct(), g.sum_of(|p| p)) :- Sale(_, price), var g = price.group_by(()).
""",
    "arg_min, arg_max": """output relation Out(least: (u64, u64), most: (u64, u64))
Out(g.arg_min(|s| s.1), g.arg_max(|s| s.1)) :- Sale(id, price), var g = (id, price).group_by(()).
""",
    "sum of floats": """output relation Out(sum: double)
Out(g.sum_of(|p| (p as double) / 7.0)) :- Sale(_, price), var g = price.group_by(()).
""",
    "texts joined": """output relation Out(size: u64)
Out(t.len()) :- Sale(_, price), var t = "${price}".group_by(()).to_vec().join(" ").
""",
}
_FOLD = """output relation Out(xor: u64)
Out(g.fold(|x, p| x ^ p, 0)) :- Sale(_, price), var g = price.group_by(()).
"""


def aggregates(settings: Settings) -> Outcome:
    out = Outcome()
    largest = settings.pick(20_000, 100_000, 1_000_000)
    sizes = [largest // 1000, largest // 100, largest // 10, largest]
    for size in sizes:
        _kernel(settings, out, size)
    _growth(out, sizes, "min and max, the kernel alone")
    for name, rules in _PROGRAMS.items():
        # The text of a million values is a text of 20 MB, and a new one in every epoch.
        for size in sizes[:-1] if name == "texts joined" else sizes:
            _commits(settings, out, size, name, rules)
        _growth(out, sizes, f"{name}, a commit")
    beside = sizes[-2]
    recomputed = _commits(settings, out, beside, "recomputed by `fold`", _FOLD)
    kept = next(
        each for each in out.cases if (each.group, each.name) == (_group(beside), "min, max, count, sum, a commit")
    )
    out.ratio(_group(beside), "a recomputed group / aggregates kept", recomputed, kept)
    levels(settings, out)
    return out


def _group(size: int) -> str:
    return f"a group of {size:,}"


def _prices(size: int) -> Dataset:
    prices = np.random.default_rng(SEED).permutation(10 * size)[:size]
    table = number_table(np.stack([np.arange(size), prices], axis=1), "id", "price")
    return Dataset(_group(size), "generated", {"Sale": table}, None)


def _kernel(settings: Settings, out: Outcome, size: int) -> None:
    """Times inserting or deleting a value and reading both ends."""
    settings.say(f"{_group(size)}: the kernel alone")
    rng = np.random.default_rng(SEED)
    held = rng.integers(0, 1 << 60, size)
    tree = ScanTree(held[:, None])
    count = settings.pick(20, 500, 2_000)
    others = rng.integers(0, 1 << 60, count)
    seconds = []
    for change in (tree.insert, tree.remove):
        for value in (others if change == tree.insert else held[:count]).tolist():
            entry = np.array([[value]], dtype=np.int64)
            started = perf_counter()
            change(entry)
            ends = tree.first(), tree.last()
            seconds.append(perf_counter() - started)
    now = np.concatenate([held[count:], others])
    if len(now) == len(tree):
        out.check(f"{_group(size)}: both ends", ends, ([int(now.min())], [int(now.max())]))
    out.case(_group(size), "min and max, the kernel alone", seconds)


def _commits(settings: Settings, out: Outcome, size: int, name: str, rules: str) -> Case:
    """Times deleting a row and inserting it again, each in its own transaction."""
    data = _prices(size)
    settings.say(f"{data.name}: {name}")
    count = settings.pick(2, 3, 3) if rules == _FOLD else settings.pick(2, 10, 20)
    chosen = np.random.default_rng(SEED + 1).choice(size, size=min(count, size), replace=False)
    rows = take(data.tables["Sale"], chosen)
    subject = Subject(_HEAD + rules, threads=settings.threads)
    subject.change(inserts=data.tables)
    before = subject.table("Out").to_pylist()
    one_by_one(subject, "Sale", rows.slice(0, 1))
    deleted, inserted = one_by_one(subject, "Sale", rows)
    out.check(f"{data.name}: {name}", subject.table("Out").to_pylist(), before)
    _require_right(data, name, before)
    subject.close()
    return out.case(data.name, f"{name}, a commit", (*deleted, *inserted), rows=1)


def _require_right(data: Dataset, name: str, found: list[dict[str, object]]) -> None:
    """Raises InternalError if the aggregates differ from those of NumPy and Python."""
    prices = data.tables["Sale"].column("price").to_pylist()
    expected: dict[str, object]
    match name:
        case "min, max, count, sum":
            expected = {"least": min(prices), "most": max(prices), "number": len(prices), "sum": sum(prices)}
        case "texts joined":
            expected = {"size": sum(len(str(price)) + 1 for price in prices) - 1}
        case "recomputed by `fold`":
            expected = {"xor": reduce(lambda x, p: x ^ p, prices, 0)}
        case "sum of floats":
            expected = {"sum": fsum(price / 7.0 for price in prices)}
        case _:
            by_price = sorted(enumerate(prices), key=lambda each: each[1])
            least, most = (_pair(*by_price[place]) for place in (0, -1))
            expected = {"least": least, "most": most}
    require_equal(f"{data.name}: {name}", found, [expected])


def _pair(left: int, right: int) -> dict[str, int]:
    return {"_0": left, "_1": right}


def _growth(out: Outcome, sizes: list[int], name: str) -> None:
    """Adds the ratio of the costs of a change in the largest group and in the smallest, a thousandth of it."""
    cases = [case for case in out.cases if case.name == name]
    smallest, largest = cases[0], cases[-1]
    times = f"{sizes[-1] // sizes[0]:,}" if len(cases) == len(sizes) else f"{sizes[-2] // sizes[0]:,}"
    out.ratios.append(Ratio("growth", f"{name}: {times} times as large a group", largest.median / smallest.median))
