"""`Inspect` sees every change once; transformers see whole relations."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.local.run import Running

from tidelog.diagnostics.errors import EvaluationError

NOTE = """
    #[has_side_effects]
    extern function note(x: u32, weight: s64, time: u64): ()
    input relation R(x: u32, y: u32)
    output relation Out(x: u32)
    Out(x) :- R(x, _), Inspect note(x, ddlog_weight, ddlog_timestamp), x > 1.
"""


class Notes(list[tuple[Any, ...]]):
    def note(self, *values: Any) -> tuple[()]:
        self.append(values)
        return ()

    def take(self) -> list[tuple[Any, ...]]:
        found = list(self)
        self.clear()
        return found


def test_inspect_sees_what_the_body_before_it_changes_with_weight_and_epoch() -> None:
    notes = Notes()
    run = Running(NOTE, externs={"note": notes.note})
    assert run.commit({"R": [(1, 1), (1, 2), (2, 1)]}) == {"Out": {(2,): 1}}
    assert notes.take() == [(1, 2, 1), (2, 1, 1)]
    assert run.commit({"R": [(3, 3)]}, {"R": [(1, 1)]}) == {"Out": {(3,): 1}}
    assert notes.take() == [(1, -1, 2), (3, 1, 2)]
    assert run.commit(delete={"R": [(9, 9)]}) is None
    assert notes.take() == []


def test_in_recursion_inspect_sees_rounds() -> None:
    notes = Notes()
    run = Running(
        """
        #[has_side_effects]
        extern function note(y: u32, time: DDNestedTS): ()
        input relation Edge(x: u32, y: u32)
        output relation Reach(x: u32)
        Reach(1).
        Reach(y) :- Reach(x), Edge(x, y), Inspect note(y, ddlog_timestamp).
        """,
        externs={"note": notes.note},
    )
    run.commit({"Edge": [(1, 2), (2, 3)]})
    seen = [(y, time.epoch, time.iter) for y, time in notes.take()]
    assert [(y, epoch) for y, epoch, _ in seen] == [(2, 1), (3, 1)]
    assert seen[0][2] < seen[1][2], "3 is found after 2"


def test_an_inspect_that_fails_undoes_the_epoch() -> None:
    def fail(*_: Any) -> tuple[()]:
        raise RuntimeError("no")

    run = Running(NOTE, externs={"note": fail})
    with pytest.raises(EvaluationError, match="extern function `note` failed"):
        run.commit({"R": [(2, 2)]})
    assert run.rows("R") == run.rows("Out") == {}


def test_a_transformer_makes_relations_of_whole_relations() -> None:
    run = Running("""
        import graph
        input relation Edge(from: u32, to: u32)
        output relation Component[(u32, u32)]
        function from(e: Edge): u32 { e.from }
        function to(e: Edge): u32 { e.to }
        apply graph::SCC(Edge, from, to) -> (Component)
        output relation Size(component: u32, n: u64)
        Size(c, n) :- Component[(x, c)], var n = x.group_by(c).count_distinct().
    """)
    assert run.commit({"Edge": [(1, 2), (2, 1), (2, 3), (3, 4), (4, 3)]})["Size"] == {(1, 2): 1, (3, 2): 1}
    assert run.commit({"Edge": [(4, 1)]})["Size"] == {(1, 2): -1, (3, 2): -1, (1, 4): 1}
    assert run.commit(delete={"Edge": [(2, 1), (4, 1)]})["Size"] == {(1, 4): -1, (3, 2): 1}


SPLIT = """
    extern transformer Split(numbers: relation['A]) -> (even: relation['B], odd: relation['C])
    input relation N(x: u32)
    output relation Even(x: u32)
    output relation Odd(x: u32)
    apply Split(N) -> (Even, Odd)
    output relation Inverse(y: u32)
    Inverse(10 / x) :- Odd(x), x != 1.
    Inverse(10 / (x - 4)) :- Even(x), Odd(_).
"""


def test_a_transformer_with_two_outputs_runs_once_in_an_epoch() -> None:
    calls: list[list[int]] = []

    def split(numbers: list[Any]) -> tuple[list[Any], list[Any]]:
        given = sorted(number.x for number in numbers)
        calls.append(given)
        types = run.program.types
        return [types.Even(x) for x in given if x % 2 == 0], [types.Odd(x) for x in given if x % 2]

    run = Running(SPLIT, externs={"Split": split})
    calls.clear()
    assert run.commit({"N": [(1,), (2,)]})["Odd"] == {(1,): 1}
    with pytest.raises(EvaluationError):
        run.commit({"N": [(4,)]})
    assert run.commit({"N": [(6,)]})["Even"] == {(6,): 1}, "what the failed epoch made is forgotten"
    assert calls == [[1, 2], [1, 2, 4], [1, 2, 6]]
