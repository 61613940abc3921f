"""Random histories of writes: relations are what plain Python collections say, and the changes add up to them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog

PROGRAM = tidelog.compile(
    """
    typedef Shape = Dot | Circle{r: u8}
    input relation Plain(x: u8)
    input relation Nested(shape: Shape, tags: Set<string>)
    input multiset Bag(x: u8)
    output relation PlainOut(x: u8)
    output relation NestedOut(shape: Shape, tags: Set<string>)
    output multiset BagOut(x: u8)
    PlainOut(x) :- Plain(x).
    NestedOut(s, t) :- Nested(s, t).
    BagOut(x) :- Bag(x).
    Plain(3).
    Bag(3).
    """
)
DOT, CIRCLE = PROGRAM.types.Dot, PROGRAM.types.Circle
ROWS: dict[str, list[Any]] = {
    "Plain": [(1,), (2,), (3,)],
    "Nested": [(DOT(), ["b", "a"]), (CIRCLE(1), ()), ({"tag": "Circle", "r": 2}, {"a"})],
    "Bag": [(1,), (2,), (3,)],
}
CANONICAL: dict[str, list[tuple[Any, ...]]] = {
    "Plain": [(1,), (2,), (3,)],
    "Nested": [(DOT(), ("a", "b")), (CIRCLE(1), ()), (CIRCLE(2), ("a",))],
    "Bag": [(1,), (2,), (3,)],
}
DERIVED: dict[str, list[int]] = {"Plain": [2], "Nested": [], "Bag": [2]}
NAMES = st.sampled_from(list(ROWS))
CALLS: st.SearchStrategy[tuple[str, str, list[int]]] = st.one_of(
    st.tuples(st.sampled_from(["insert", "delete"]), NAMES, st.lists(st.integers(0, 2), min_size=1, max_size=3)),
    st.tuples(st.just("clear"), NAMES, st.just([])),
    st.tuples(st.sampled_from(["commit", "rollback"]), st.just(""), st.just([])),
)
View = dict[str, Counter[int]]


def apply(view: View, verb: str, name: str, places: list[int]) -> None:
    facts = view[name]
    for place in places:
        facts[place] += 1 if verb == "insert" else -1
        if name != "Bag":
            facts[place] = min(1, max(0, facts[place]))
    if verb == "clear":
        facts.clear()


def plain(name: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row if name != "Nested" else (row[0], tuple(row[1]))


def wanted(view: View, name: str) -> dict[tuple[Any, ...], int]:
    """Returns the rows of an output with their weights: the facts of the input, and those of the program."""
    weights = Counter({place: weight for place, weight in view[name].items() if weight})
    weights.update(DERIVED[name])
    rows = {CANONICAL[name][place]: weight for place, weight in weights.items() if weight}
    return rows if name == "Bag" else dict.fromkeys(rows, 1)


@settings(deadline=None, max_examples=80)
@given(st.lists(CALLS, max_size=25))
def test_oracle_of_collections(calls: list[tuple[str, str, list[int]]]) -> None:
    with PROGRAM.open() as db:
        committed: View = {name: Counter() for name in ROWS}
        sums = {name: Counter({plain(name, row): n for row, n in db.initial[f"{name}Out"]}) for name in ROWS}
        view = {name: Counter(facts) for name, facts in committed.items()}
        tx = db.transaction().begin()
        for verb, name, places in [*calls, ("commit", "", [])]:
            if name:
                arguments = [] if verb == "clear" else [[ROWS[name][place] for place in places]]
                getattr(tx, verb)(name, *arguments)
                apply(view, verb, name, places)
                continue
            getattr(tx, verb)()
            if verb == "commit":
                committed = view
                for each, total in sums.items():
                    total.update({plain(each, row): n for row, n in tx.changes[f"{each}Out"]})
            view = {each: Counter(facts) for each, facts in committed.items()}
            for each in ROWS:
                found = {plain(each, row): weight for row, weight in db.relation(f"{each}Out").weights()}
                assert found == wanted(committed, each)
                assert {row: weight for row, weight in sums[each].items() if weight} == found
            tx = db.transaction().begin()
