"""Arrangements by dense keys have the buckets of those that are built by hashes, and later rows find their place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage import arrangement
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.storage.store import Store

TEXT = "input relation A(a: s64, b: s64, c: s64)\noutput relation B(a: s64)\nB(a) :- A(a, _, _)."
Words = npt.NDArray[np.int64]


def loaded(rows: Words, deleted: Words) -> Store:
    engine = LocalEngine(compile_program(Source("<test>", TEXT)).rules)
    engine.open()
    engine.commit([Operation("A", 1, list(map(tuple, rows.tolist())))])
    engine.commit([Operation("A", -1, list(map(tuple, deleted.tolist())))])
    return engine._store("A")


def buckets(store: Store, keys: tuple[int, ...], rows: Words) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    return {
        tuple(row[list(keys)].tolist()): sorted(
            map(tuple, store.rows[store.bucket(keys, row[list(keys)]), : store.columns].tolist())
        )
        for row in rows
    }


@pytest.mark.parametrize("keys", [(0,), (1,), (2, 1), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("low", [0, -7, (1 << 63) - 60, -(1 << 63)])
def test_buckets_are_those_of_hashed_keys(keys: tuple[int, ...], low: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(len(keys) + low % 5)
    rows = np.unique(np.column_stack([low + rng.integers(0, limit, 600) for limit in (9, 50, 4)]), axis=0)
    rng.shuffle(rows)
    gone, kept = rows[:60], rows[60:]
    monkeypatch.setattr(arrangement, "DENSE", 20)
    monkeypatch.setattr(arrangement, "DENSE_FROM", 1)
    dense = []
    build = Arrangement._build_dense

    def noted(self: Arrangement, *arguments: object) -> bool:
        dense.append(build(self, *arguments))  # type: ignore[arg-type]
        return dense[-1]

    monkeypatch.setattr(Arrangement, "_build_dense", noted)
    store = loaded(rows, gone)
    found = buckets(store, keys, rows)
    assert dense[-1]
    monkeypatch.setattr(arrangement, "DENSE_FROM", 1 << 40)
    store.disarrange(keys)
    assert found == buckets(store, keys, rows)
    assert sum(map(len, found.values())) == len(kept)


def test_sparse_words_are_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrangement, "DENSE_FROM", 1)
    rows = np.array([[i << 40, i, -i] for i in range(300)] + [[-(1 << 63), 0, 0], [(1 << 63) - 1, 0, 0]])
    store = loaded(rows, rows[:1])
    assert all(map(len, buckets(store, (0,), rows[1:]).values()))


def test_rows_that_come_and_go_later_are_in_their_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrangement, "DENSE_FROM", 1)
    text = """
    input relation A(k: u32, v: u32)
    input relation B(k: u32, w: u32)
    output relation J(v: u32, w: u32)
    J(v, w) :- A(k, v), B(k, w).
    """
    engine = LocalEngine(compile_program(Source("<test>", text)).rules)
    engine.open()
    rng = np.random.default_rng(3)
    held: dict[str, set[tuple[int, int]]] = {"A": set(), "B": set()}
    for epoch in range(12):
        operations = []
        for name, rows in held.items():
            new = {(int(k), int(v)) for k, v in rng.integers(0, 20 + 30 * epoch, (80, 2))}
            old = set(sorted(rows)[:: 3 + epoch % 4])
            operations += [Operation(name, -1, sorted(old)), Operation(name, 1, sorted(new))]
            held[name] = (rows - old) | new
        engine.commit(operations)
        expected = {(v, w) for k, v in held["A"] for other, w in held["B"] if k == other}
        assert {row for row, _ in engine.rows("J")} == expected
        if epoch == 5:
            for name in "AB":
                engine._store(name).disarrange((0,))
                engine._store(name).arrange((0,))
