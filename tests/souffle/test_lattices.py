"""Attributes of lattices: rows with the same keys are one, bodies compare by operators, and all stays up to date."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.souffle.running import compiled
from tidelog.diagnostics.errors import ProgramError

DECLARED = """
.type Span = [low: number, high: number]
.functor join(a: Span, b: Span): Span
.functor meet(a: Span, b: Span): Span
.lattice Span<> { Bottom -> [0, -1], Lub -> @join(_, _), Glb -> @meet(_, _) }
.decl seen(k: number, n: number)
.input seen
.decl to(a: number, b: number)
.input to
"""
PROGRAM = (
    DECLARED
    + """
.decl span(k: number, s: Span<>)
span(k, [n, n]) :- seen(k, n).
span(b, s) :- span(a, s), to(a, b).
.decl out(k: number, low: number, high: number)
.output out
out(k, low, high) :- span(k, s), s = [low, high].
.decl both(a: number, b: number, low: number, high: number)
.output both
both(a, b, low, high) :- span(a, s), span(b, s), a < b, s = [low, high].
.decl has(k: number)
.output has
has(k) :- span(k, [3, 4]).
.decl lacks(k: number)
.output lacks
lacks(k) :- seen(k, _), !span(k, [5, 6]).
"""
)


def ends(span: Any) -> tuple[int, int] | None:
    return None if span.low > span.high else (span.low, span.high)


def functors() -> dict[str, Any]:
    def join(a: Any, b: Any) -> Any:
        one, other = ends(a), ends(b)
        if one is None or other is None:
            return b if one is None else a
        return type(a)(min(one[0], other[0]), max(one[1], other[1]))

    def meet(a: Any, b: Any) -> Any:
        found = max(a.low, b.low), min(a.high, b.high)
        return type(a)(*found) if found[0] <= found[1] else type(a)(0, -1)

    return {"join": join, "meet": meet}


def expected(seen: set[tuple[int, int]], to: set[tuple[int, int]]) -> dict[str, set[tuple[int, ...]]]:
    spans = {k: (min(n for j, n in seen if j == k), max(n for j, n in seen if j == k)) for k, _ in seen}
    while True:
        before = dict(spans)
        for a, b in to:
            if a in spans:
                low, high = spans.get(b, spans[a])
                spans[b] = min(low, spans[a][0]), max(high, spans[a][1])
        if spans == before:
            break
    both = {(a, b, max(spans[a][0], spans[b][0]), min(spans[a][1], spans[b][1])) for a in spans for b in spans if a < b}
    return {
        "out": {(k, *ends) for k, ends in spans.items()},
        "both": {row for row in both if row[2] <= row[3]},
        "has": {(k,) for k, (low, high) in spans.items() if low <= 3 and high >= 4},
        "lacks": {(k,) for k, _ in seen if spans[k][1] < 5 or spans[k][0] > 6},
    }


@pytest.mark.parametrize("seed", range(4))
def test_every_epoch_has_the_least_upper_bounds(seed: int) -> None:
    chance = random.Random(seed)
    held: dict[str, set[tuple[int, int]]] = {"seen": set(), "to": set()}
    with compiled(PROGRAM, externs=functors()).open() as database:
        for _ in range(8):
            with database.transaction() as tx:
                for relation, rows in held.items():
                    gone = {row for row in sorted(rows) if chance.random() < 0.3}
                    most = 5 if relation == "to" else 9
                    new = {(chance.randrange(5), chance.randrange(most)) for _ in range(chance.randrange(4))}
                    tx.delete(relation, sorted(gone))
                    tx.insert(relation, sorted(new))
                    held[relation] = (rows - gone) | new
            for relation, wanted in expected(held["seen"], held["to"]).items():
                assert set(map(tuple, database.relation(relation).rows())) == wanted, relation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".type T = [a: number]\n.lattice T<> { Bottom -> [0] }\n.decl r(x: T<>)", "has no `Lub`"),
        (".type T = [a: number]\n.decl r(x: T<>)", "`T<>` is no lattice"),
        (".lattice T<> { Lub -> @f(_, _) }", "type `T` is not declared"),
        (".type T = [a: number]\n.lattice T<> { Lub -> @f(_, _) }", "functor `@f` is not declared"),
        (".type T = [a: number]\n.lattice T<> { Lub -> 1 }", "`Lub` is no functor of the program"),
        (DECLARED + ".decl r(x: Span<>, k: number)", "stands before `k`"),
    ],
)
def test_a_wrong_lattice_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as found:
        compiled(text)
    assert message in str(found.value)
