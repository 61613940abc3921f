"""Rows by their values: with an index or past it, the answers are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.engine.local.queries import lookup

PAIRS = """
input relation In(a: u32, b: string, c: u32)
output relation Out(a: u32, b: string, c: u32)
Out(a, b, c) :- In(a, b, c).
"""
ROWS = [(number % 3, f"n{number % 5}", number) for number in range(30)]


@pytest.mark.parametrize("many", [1, 1_000_000])
def test_a_loaded_relation_answers_before_and_after_it_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(lookup, "MANY_ROWS", many)
    with tidelog.compile(PAIRS).open(path=tmp_path) as db:
        with db.transaction() as tx:
            tx.insert("In", ROWS)
        with db.transaction() as tx:
            tx.delete("In", ROWS[:6])
        with db._locked.engine() as engine:
            engine.checkpoint()  # type: ignore[attr-defined]
    there = ROWS[6:]
    with tidelog.open(tmp_path) as db:
        out = db.relation("Out")
        for _ in range(8):
            assert out.lookup(b="n1", a=2) == sorted(row for row in there if row[:2] == (2, "n1"))
            assert (ROWS[7] in out, ROWS[3] in out) == (True, False)
        with db.transaction() as tx:
            tx.insert("In", [(2, "n1", 99)])
        assert (2, "n1", 99) in out.lookup(a=2)
        assert out.lookup(c=99) == [(2, "n1", 99)]
