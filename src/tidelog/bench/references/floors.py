"""Recursive programs of the suite as bare compiled loops over the same rule instances: what the machine allows.

A row of the head is a prefix (its first column, or two of three) and a last column. All instances of a wave with the
same prefix are added up in a dense array of counters, and the rows are touched once for each head. Every row keeps
rank, count and total as the engine does, but there are no arrangements, no log and no later changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from tidelog.bench.measure import Tables

_LINEAR, _WITH_ITSELF, _SAME_GENERATION, _ANDERSEN, _LABELLED = range(5)
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bare:
    """What a bare loop derived, and how long it took."""

    rows: int
    instances: int
    seconds: float


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _with_room(flat: Any, place: Any, row: int) -> Any:
    """Returns the arena with room for one more entry of a row, which moves to the end if it is full."""
    start, room, used = place[row]
    if used < room:
        return flat
    wanted = max(2 * used, 4)
    end = np.int64(place[-1, 0])
    if end + wanted > len(flat):
        larger = np.zeros((2 * (end + wanted), 4), flat.dtype)
        larger[:end] = flat[:end]
        flat = larger
    flat[end : end + used] = flat[start : start + used]
    place[row, 0], place[row, 1] = end, wanted
    place[-1, 0] = end + wanted
    return flat


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _settle(flat: Any, place: Any, row: int, rank: int, found: int, touched: Any, sums: Any, where: Any) -> Any:
    """Adds the instances of a row's heads to those that it has, or as new ones of this rank; empties the counters."""
    start, used = place[row, 0], place[row, 2]
    for k in range(used):
        where[flat[start + k, 0]] = k
    for f in range(found):
        value = touched[f]
        k = where[value]
        if k >= 0:
            flat[place[row, 0] + k, 3] += sums[value]
        else:
            flat = _with_room(flat, place, row)
            at = place[row, 0] + place[row, 2]
            flat[at, 0], flat[at, 1], flat[at, 2], flat[at, 3] = value, rank, sums[value], sums[value]
            place[row, 2] += 1
        sums[value] = 0
    start = place[row, 0]
    for k in range(used):
        where[flat[start + k, 0]] = -1
    return flat


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _add(flat: Any, start: int, first: int, last: int, sums: Any, touched: Any, found: int) -> int:
    """Counts an instance for each entry of a part of a row; returns how many heads there are now."""
    for k in range(start + first, start + last):
        value = flat[k, 0]
        if sums[value] == 0:
            touched[found] = value
            found += 1
        sums[value] += 1
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _writers(place: Any, flat: Any, old: Any, done: Any, store_p: Any, store: Any, is_new: bool) -> Any:
    """Returns, by the place that is written to, the variables that are written there through a pointer."""
    rows = len(done)
    starts = np.zeros(rows + 1, np.int64)
    for y in range(rows):
        for _ in range(store_p[y], store_p[y + 1]):
            for k in range(old[y] if is_new else 0, done[y] if is_new else old[y]):
                starts[flat[place[y, 0] + k, 0] + 1] += 1
    for z in range(rows):
        starts[z + 1] += starts[z]
    at, into = starts.copy(), np.empty(starts[-1], np.int64)
    for y in range(rows):
        for i in range(store_p[y], store_p[y + 1]):
            for k in range(old[y] if is_new else 0, done[y] if is_new else old[y]):
                z = flat[place[y, 0] + k, 0]
                into[at[z]] = store[i]
                at[z] += 1
    return starts, into


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _loop(
    kind: int, rows: int, values: int, labels: int, fact_p: Any, fact: Any, from_p: Any, from_: Any, to_p: Any, to: Any,
    load_p: Any, load: Any, store_p: Any, store: Any,
) -> Any:  # fmt: skip
    """Returns the derived rows and the instances, facts included.

    `X_p, X` are lists by number. `from_` has the rows from which a row takes entries, `to` the successors of an entry.
    """
    flat = np.zeros((1 << 16, 4), np.int32)  # value, rank, count, total
    place = np.zeros((rows + 1, 3), np.int64)  # start, room, entries; at the end: where the arena is free
    old, done = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    sums, where = np.zeros(values, np.int32), np.full(values, -1, np.int32)
    touched = np.empty(values, np.int32)
    instances = 0
    for a in range(rows):  # rank 1
        found = 0
        for i in range(fact_p[a], fact_p[a + 1]):
            if kind == _SAME_GENERATION:
                for j in range(to_p[fact[i]], to_p[fact[i] + 1]):
                    if to[j] != a:
                        if sums[to[j]] == 0:
                            touched[found] = to[j]
                            found += 1
                        sums[to[j]] += 1
            else:
                touched[found] = fact[i]
                sums[fact[i]] = 1
                found += 1
        for f in range(found):
            instances += sums[touched[f]]
        flat = _settle(flat, place, a, 1, found, touched, sums, where)
    rank = 1
    done[:] = place[:-1, 2]
    while True:
        rank += 1
        if kind == _ANDERSEN:
            into_p, into = _writers(place, flat, old, done, store_p, store, False)
            new_p, new = _writers(place, flat, old, done, store_p, store, True)
        else:
            into_p, into, new_p, new = fact_p, fact, fact_p, fact
        is_any_new = False
        for a in range(rows):
            found = 0
            if kind in (_LINEAR, _LABELLED):
                for k in range(old[a], done[a]):
                    y = np.int64(flat[place[a, 0] + k, 0]) * labels + a % labels
                    for j in range(to_p[y], to_p[y + 1]):
                        if sums[to[j]] == 0:
                            touched[found] = to[j]
                            found += 1
                        sums[to[j]] += 1
            if kind == _WITH_ITSELF:
                for k in range(done[a]):
                    y = flat[place[a, 0] + k, 0]
                    found = _add(flat, place[y, 0], old[y] if k < old[a] else 0, done[y], sums, touched, found)
            if kind == _SAME_GENERATION:
                for i in range(from_p[a], from_p[a + 1]):
                    p = from_[i]
                    for k in range(old[p], done[p]):
                        b = flat[place[p, 0] + k, 0]
                        for j in range(to_p[b], to_p[b + 1]):
                            if sums[to[j]] == 0:
                                touched[found] = to[j]
                                found += 1
                            sums[to[j]] += 1
            elif kind in (_ANDERSEN, _LABELLED):
                for i in range(from_p[a], from_p[a + 1]):
                    p = from_[i]
                    found = _add(flat, place[p, 0], old[p], done[p], sums, touched, found)
            if kind == _ANDERSEN:
                for i in range(load_p[a], load_p[a + 1]):
                    x = load[i]
                    for k in range(done[x]):
                        z = flat[place[x, 0] + k, 0]
                        found = _add(flat, place[z, 0], old[z] if k < old[x] else 0, done[z], sums, touched, found)
                for i in range(into_p[a], into_p[a + 1]):
                    x = into[i]
                    found = _add(flat, place[x, 0], old[x], done[x], sums, touched, found)
                for i in range(new_p[a], new_p[a + 1]):
                    x = new[i]
                    found = _add(flat, place[x, 0], 0, done[x], sums, touched, found)
            if found:
                for f in range(found):
                    instances += sums[touched[f]]
                before = place[a, 2]
                flat = _settle(flat, place, a, rank, found, touched, sums, where)
                is_any_new |= place[a, 2] > before
        old[:] = done
        done[:] = place[:-1, 2]
        if not is_any_new:
            return done.sum(), instances


def _columns(table: pa.Table) -> list[Numbers]:
    return [column.to_numpy().astype(np.int64) for column in table.columns]


def _lists(keys: Numbers, values: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Returns the values by key: where each key's list begins, and the lists."""
    order = np.argsort(keys, kind="stable")
    return np.searchsorted(keys[order], np.arange(count + 1)), values[order].copy()


def _made(kind: int, rows: int, values: int, labels: int, *lists: tuple[Numbers, Numbers]) -> Callable[[], Bare]:
    nothing = (np.zeros(1, np.int64), np.zeros(0, np.int64))
    given = [each for pair in (*lists, *[nothing] * (5 - len(lists))) for each in pair]
    _loop(kind, 0, 0, 1, *[each for _ in range(5) for each in nothing])  # compiles

    def run() -> Bare:
        started = perf_counter()
        found, instances = _loop(kind, rows, values, labels, *given)
        return Bare(int(found), int(instances), perf_counter() - started)

    return run


def _closure(kind: int) -> Callable[[Tables], Callable[[], Bare]]:
    def make(tables: Tables) -> Callable[[], Bare]:
        source, target = _columns(tables["Edge"])
        nodes = int(max(source.max(), target.max())) + 1
        after = _lists(source, target, nodes)
        return _made(kind, nodes, nodes, 1, after, after, after)

    return make


def _same_generation(tables: Tables) -> Callable[[], Bare]:
    child, parent = _columns(tables["Up"])
    nodes = int(max(child.max(), parent.max())) + 1
    above = _lists(child, parent, nodes)
    return _made(_SAME_GENERATION, nodes, nodes, 1, above, above, _lists(parent, child, nodes))


def _andersen(tables: Tables) -> Callable[[], Bare]:
    pairs = {name: _columns(table) for name, table in tables.items()}
    nodes = 1 + max(int(column.max()) for columns in pairs.values() for column in columns if len(column))
    names = ("Address", "Copy", "Load", "Store")
    address, copy, load, store = (_lists(pairs[name][0], pairs[name][1], nodes) for name in names)
    return _made(_ANDERSEN, nodes, nodes, 1, address, copy, copy, load, store)


def _labelled(tables: Tables) -> Callable[[], Bare]:
    source, label, target = _columns(tables["Edge"])
    lower, upper = _columns(tables["Below"])
    labels = int(max(label.max(), upper.max())) + 1
    nodes = int(max(source.max(), target.max())) + 1
    after = _lists(source * labels + label, target, nodes * labels)
    first = np.repeat(np.arange(nodes) * labels, len(lower))
    below = _lists(first + np.tile(upper, nodes), first + np.tile(lower, nodes), nodes * labels)
    return _made(_LABELLED, nodes * labels, nodes, labels, after, below, after)


FLOORS: dict[str, tuple[str, Callable[[Tables], Callable[[], Bare]]]] = {
    "closure": ("Reach", _closure(_LINEAR)),
    "nonlinear": ("Reach", _closure(_WITH_ITSELF)),
    "same-generation": ("Same", _same_generation),
    "andersen": ("Points", _andersen),
    "labelled": ("Way", _labelled),
}
"""By program of the suite: the relation that the loop derives, and how to make the loop from the facts."""
