"""Aggregates by (x), (x, y) and (x, y, z) that share their members, beside the same rules that share nothing."""

from __future__ import annotations

import numpy as np

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, number_table
from tidelog.bench.measure import Case, Outcome, Ratio, Subject, one_by_one, take, warm

_LEVELS = """import group
input relation D(x: u32, y: u32, z: u32, s: u64)
output relation X(x: u32, most: u64, number: u64)
output relation XY(x: u32, y: u32, most: u64, number: u64)
output relation XYZ(x: u32, y: u32, z: u32, most: u64, number: u64)
X(x, g.max(), g.count_distinct()) :- D(x, _, _, s){0}, var g = s.group_by(x).
XY(x, y, g.max(), g.count_distinct()) :- D(x, y, _, s){1}, var g = s.group_by((x, y)).
XYZ(x, y, z, g.max(), g.count_distinct()) :- D(x, y, z, s){2}, var g = s.group_by((x, y, z)).
"""
_WAYS = {
    "each with members of its own": (", x < 1000000", ", y < 1000000", ", s < 1000000000"),
    "with the same members": ("", "", ""),
}


def levels(settings: Settings, out: Outcome) -> None:
    """Times loading and single changes, and measures the memory of all relations."""
    data = _detail(settings.pick(2_000, 100_000, 1_000_000))
    rows = take(data.tables["D"], np.arange(settings.pick(2, 10, 20)))
    found, loads, changes, sizes = {}, {}, {}, {}
    for way, conditions in _WAYS.items():
        settings.say(f"{data.name}: {way}")
        program = _LEVELS.format(*conditions)
        warm(program, data.tables, ("elastic",))
        subject = Subject(program, threads=settings.threads)
        loads[way] = Case(data.name, f"loaded, {way}", (subject.change(inserts=data.tables),))
        one_by_one(subject, "D", rows.slice(0, 1))
        deleted, inserted = one_by_one(subject, "D", rows)
        changes[way] = Case(data.name, f"a commit, {way}", (*deleted, *inserted), rows=1)
        sizes[way] = subject.all_bytes
        found[way] = [sorted(map(tuple, zip(*subject.table(name).to_pydict().values()))) for name in ("X", "XY", "XYZ")]
        subject.close()
    apart, shared = _WAYS
    out.cases += [*loads.values(), *changes.values()]
    out.ratio(data.name, f"loading, {apart} / {shared}", loads[apart], loads[shared])
    out.ratio(data.name, f"a commit, {apart} / {shared}", changes[apart], changes[shared])
    out.ratios.append(Ratio(data.name, f"memory of relations, {apart} / {shared}", sizes[apart] / sizes[shared]))
    expected = [_expected(data, count) for count in (1, 2, 3)]
    for way in _WAYS:
        out.check(f"{data.name}: {way}", found[way], expected)


def _detail(size: int) -> Dataset:
    """Generates ten values in each of ten groups in each of ten groups, up to the size."""
    rng = np.random.default_rng(SEED)
    keys = np.arange(size)
    columns = keys // 1000, keys // 100 % 10, keys // 10 % 10, rng.integers(0, 1 << 20, size)
    table = number_table(np.unique(np.stack(columns, axis=1), axis=0), "x", "y", "z", "s")
    return Dataset(f"three levels of {size:,}", "generated", {"D": table}, SEED)


def _expected(data: Dataset, count: int) -> list[tuple[int, ...]]:
    """Returns the largest value and the number of distinct ones by so many of the keys, computed in Python."""
    groups: dict[tuple[int, ...], set[int]] = {}
    for row in zip(*(column.to_pylist() for column in data.tables["D"].columns)):
        groups.setdefault(row[:count], set()).add(row[3])
    return sorted((*key, max(values), len(values)) for key, values in groups.items())
