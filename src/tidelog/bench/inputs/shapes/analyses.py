"""Sizes and a seed → facts of the suite's analyses of programs: pointers, aliases, fields, calls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidelog.bench.inputs.dataset import distinct, number_table
from tidelog.bench.inputs.shapes.graphs import Array, Facts, column


def pointers(variables: int, addresses: int, copies: int, loads: int, stores: int, seed: int) -> Facts:
    """Returns the four kinds of assignments of Andersen's analysis, mostly between variables that are close."""
    rng = np.random.default_rng(seed)

    def pairs(count: int, *names: str) -> pa.Table:
        one = rng.integers(0, variables, count)
        return number_table(distinct(np.stack([one, np.abs(one - rng.integers(0, variables, count))], axis=1)), *names)

    return {
        "Address": pairs(addresses, "at", "of"),
        "Copy": pairs(copies, "to", "from"),
        "Load": pairs(loads, "to", "from"),
        "Store": pairs(stores, "at", "from"),
    }


def values(variables: int, assigns: int, dereferences: int, seed: int) -> Facts:
    """Returns assignments between variables that are close, and dereferences of pointers, each to one place."""
    rng = np.random.default_rng(seed)
    to = rng.integers(1, variables, assigns)
    back = rng.integers(1, 30, assigns)
    pointer = rng.choice(variables, dereferences, replace=False)
    what = rng.integers(0, variables, dereferences)
    return {
        "Assign": number_table(distinct(np.stack([to, np.maximum(to - back, 0)], axis=1)), "to", "from"),
        "Dereference": number_table(np.stack([pointer, what], axis=1), "pointer", "what"),
    }


def fields(variables: int, heaps: int, copies: int, accesses: int, names: int, seed: int) -> Facts:
    """Returns allocations, copies inside of small groups of variables, and loads and stores of fields."""
    rng = np.random.default_rng(seed)
    new = np.stack([rng.integers(0, variables, heaps), np.arange(heaps)], axis=1)
    source = rng.integers(0, variables, copies)
    target = np.minimum(source + rng.integers(1, 12, copies), variables - 1)

    def access() -> list[Array]:
        return [rng.integers(0, variables, accesses), rng.integers(0, variables, accesses)]

    load, store = access(), access()
    field = [rng.integers(0, names, accesses) for _ in range(2)]
    return {
        "New": number_table(distinct(new), "variable", "heap"),
        "Copy": number_table(distinct(np.stack([source, target], axis=1)), "from", "to"),
        "Load": number_table(distinct(np.column_stack([*load, field[0]])), "base", "to", "field"),
        "Store": number_table(distinct(np.column_stack([*store, field[1]])), "from", "base", "field"),
    }


def procedures(count: int, points: int, seed: int) -> Facts:
    """Returns procedures as graphs of points, of which every fifth calls another procedure and goes on after it."""
    rng = np.random.default_rng(seed)
    node = np.arange(count * points)
    place = node % points
    is_call = (place % 5 == 3) & (place < points - 2)
    inner = node[(place < points - 1) & ~is_call]
    jump = inner[(inner % points) < points - 4]
    jump = jump[rng.random(len(jump)) < 0.5]
    ahead = np.minimum(jump + rng.integers(2, 8, len(jump)), (jump // points + 1) * points - 1)
    flow = np.concatenate([np.stack([inner, inner + 1], axis=1), np.stack([jump, ahead], axis=1)])
    site = node[is_call]
    call = np.stack([site, rng.integers(0, count, len(site)) * points], axis=1)
    entry = np.arange(count) * points
    return {
        "Flow": number_table(distinct(flow), "from", "to"),
        "Call": number_table(call, "site", "entry"),
        "Exit": number_table(np.stack([entry, entry + points - 1], axis=1), "entry", "exit"),
        "Resume": number_table(np.stack([site, site + 1], axis=1), "site", "after"),
        "Main": column(np.array([0]), "entry"),
    }


def borrows(functions: int, points: int, variables: int, seed: int) -> Facts:
    """Returns functions with branches and loops, whose variables hold references with origins and loans."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Array]] = {name: [] for name in _BORROW_COLUMNS}
    for function in range(functions):
        for name, found in _function(rng, function, points, variables).items():
            rows[name].append(found)
    return {
        name: number_table(distinct(np.concatenate(rows[name])), *columns) for name, columns in _BORROW_COLUMNS.items()
    }


def named_borrows(functions: int, points: int, variables: int, seed: int) -> Facts:
    """Returns the same with names of text instead of numbers."""
    found = borrows(functions, points, variables, seed)
    return {
        name: pa.table({each: _as_text(each, table[each]) for each in table.column_names})
        for name, table in found.items()
    }


_BORROW_COLUMNS = {
    "Told": ("one", "other", "point"),
    "Next": ("from", "to"),
    "Issued": ("loan", "origin", "point"),
    "Universal": ("origin",),
    "Used": ("variable", "point"),
    "Dropped": ("variable", "point"),
    "Defined": ("variable", "point"),
    "Killed": ("loan", "point"),
    "Invalidated": ("loan", "point"),
    "KnownSubset": ("one", "other"),
    "UseNeeds": ("variable", "origin"),
    "DropNeeds": ("variable", "origin"),
    "Child": ("path", "parent"),
    "PathVariable": ("path", "variable"),
    "MovedHere": ("path", "point"),
    "AssignedHere": ("path", "point"),
}
_KINDS = {
    "point": "bb", "from": "bb", "to": "bb", "loan": "bw", "variable": "_", "path": "mp", "parent": "mp",
}  # fmt: skip


def _as_text(name: str, numbers: pa.ChunkedArray) -> pa.Array:
    kind = _KINDS.get(name, "'?")
    return pa.array([f"{kind}{number}[{number % 97}]" for number in numbers.to_pylist()])


def _function(rng: np.random.Generator, function: int, points: int, variables: int) -> dict[str, Array]:
    """Returns the rows of one function; its points, variables, origins, loans and paths have numbers of their own."""
    first, own = function * points, function * variables
    point = np.arange(points)
    branch = point[(point % 7 == 3) & (point + 9 < points)]
    loop = point[(point % 41 == 40)]
    flow = [np.stack([point[:-1], point[1:]], axis=1), np.stack([branch, branch + 9], axis=1)]
    flow.append(np.stack([loop, loop - 30], axis=1))

    def at(count: int) -> Array:
        return first + rng.integers(0, points, count)

    def some(count: int) -> Array:
        return own + rng.integers(0, variables, count)

    told, loans, universal = points, variables // 2, 3
    every = own + np.arange(variables)
    loan = own + np.arange(loans)
    start = rng.integers(0, points, told)
    path = 3 * every
    paths = np.concatenate([np.stack([path + 1, path], axis=1), np.stack([path + 2, path + 1], axis=1)])
    return {
        "Told": np.column_stack([some(told), some(told), first + start]),
        "Next": first + np.concatenate(flow),
        "Issued": np.column_stack([loan, some(loans), at(loans)]),
        "Universal": (own + np.arange(universal))[:, None],
        "Used": np.column_stack([some(points), at(points)]),
        "Dropped": np.column_stack([every, np.full(variables, first + points - 1)]),
        "Defined": np.column_stack([some(points // 3), at(points // 3)]),
        "Killed": np.column_stack([rng.choice(loan, points // 10), at(points // 10)]),
        "Invalidated": np.column_stack([rng.choice(loan, points // 4), at(points // 4)]),
        "KnownSubset": np.array([[own, own + 1]]),
        "UseNeeds": np.column_stack([every, some(variables)]),
        "DropNeeds": np.column_stack([every, some(variables)])[::3],
        "Child": paths,
        "PathVariable": np.column_stack([path, every]),
        "MovedHere": np.column_stack([3 * some(points // 4) + rng.integers(0, 3, points // 4), at(points // 4)]),
        "AssignedHere": np.column_stack([3 * some(points // 2), at(points // 2)]),
    }
