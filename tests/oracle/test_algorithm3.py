"""Algorithm 3 of the paper: the counterexamples C1 to C8 to what is printed, with the numbers of both forms."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

import pytest

from tests.oracle.algorithm3 import AS_PRINTED, Algorithm3
from tests.oracle.evaluate import evaluate
from tests.oracle.history import Transaction, Write, apply
from tests.oracle.read import read
from tests.oracle.types import Relations, Row

Found = dict[str, tuple[int, int]]

DECLARED = """
input relation A(x: u8, y: u8)
input relation B(x: u8)
input relation C(x: u8)
output relation P(x: u8)
"""
REACH = DECLARED + "P(x) :- C(x).\nP(y) :- P(x), A(x, y).\n"
REACH_WITH_COPY = REACH + "output relation U(x: u8)\nU(x) :- P(x).\n"
REACH_UNLESS_BLOCKED = DECLARED + "P(x) :- C(x).\nP(y) :- P(x), A(x, y), not B(y).\n"
UNLESS = DECLARED + "P(x) :- C(x), not B(x).\n"


class Counterexample(NamedTuple):
    """What is watched of a program (its last relation) after each of the epochs: (iteration, count) of every row."""

    program: str
    epochs: list[str]
    right: list[Found]
    printed: list[Found]


COUNTEREXAMPLES = {
    "C1": Counterexample(UNLESS, ["+C(1)", "+B(1)"], right=[{"1": (1, 1)}, {}], printed=[{"1": (1, 1)}] * 2),
    "C2": Counterexample(
        REACH_UNLESS_BLOCKED,
        ["+C(1) +C(2) +A(1,2)", "-C(2) +B(2)"],
        right=[{"1": (1, 1), "2": (1, 1)}, {"1": (1, 1)}],
        printed=[{"1": (1, 1), "2": (1, 1)}, {"1": (1, 1), "2": (2, 1)}],
    ),
    "C3": Counterexample(
        REACH_UNLESS_BLOCKED,
        ["+C(1) +C(2) +A(1,2) +B(2)", "-C(2) -B(2)", "-A(1,2)"],
        right=[{"1": (1, 1), "2": (1, 1)}, {"1": (1, 1), "2": (2, 1)}, {"1": (1, 1)}],
        printed=[{"1": (1, 1), "2": (1, 1)}, {"1": (1, 1), "2": (2, 2)}, {"1": (1, 1), "2": (2, 1)}],
    ),
    "C4": Counterexample(
        REACH,
        ["+C(1) +C(2) +C(3) +A(1,2) +A(3,2)", "-C(2)", "-A(1,2)"],
        right=[
            {"1": (1, 1), "2": (1, 1), "3": (1, 1)},
            {"1": (1, 1), "2": (2, 2), "3": (1, 1)},
            {"1": (1, 1), "2": (2, 1), "3": (1, 1)},
        ],
        printed=[
            {"1": (1, 1), "2": (1, 1), "3": (1, 1)},
            {"1": (1, 1), "2": (2, 1), "3": (1, 1)},
            {"1": (1, 1), "3": (1, 1)},
        ],
    ),
    "C5": Counterexample(
        REACH,
        ["+C(1) +A(1,2) +A(2,3)", "-C(1)"],
        right=[{"1": (1, 1), "2": (2, 1), "3": (3, 1)}, {}],
        printed=[{"1": (1, 1), "2": (2, 1), "3": (3, 1)}, {"2": (2, 1), "3": (3, 1)}],
    ),
    "C6": Counterexample(
        REACH_WITH_COPY,
        ["+C(1) +A(1,2) +A(2,3)", "-C(1)"],
        right=[{"1": (1, 1), "2": (1, 1), "3": (1, 1)}, {}],
        printed=[{"1": (1, 1), "2": (1, 1), "3": (1, 1)}, {"2": (1, 1), "3": (1, 1)}],
    ),
    "C7": Counterexample(
        REACH_WITH_COPY,
        ["+C(1) +A(1,2) +A(2,3) +A(3,4)", "+C(3) +C(4)", "-C(4) -A(3,4)"],
        right=[
            {"1": (1, 1), "2": (1, 1), "3": (1, 1), "4": (1, 1)},
            {"1": (1, 1), "2": (1, 1), "3": (1, 1), "4": (1, 1)},
            {"1": (1, 1), "2": (1, 1), "3": (1, 1)},
        ],
        printed=[
            {"1": (1, 1), "2": (1, 1), "3": (1, 1), "4": (1, 1)},
            {"1": (1, 1), "2": (1, 1), "3": (1, 1), "4": (1, 2)},
            {"1": (1, 1), "2": (1, 1), "3": (1, 1), "4": (1, 1)},
        ],
    ),
    "C8": Counterexample(
        DECLARED + "P(1) :- not B(1).\n",
        ["", "+B(1)", "-B(1) +B(2)"],
        right=[{"1": (1, 1)}, {}, {"1": (1, 1)}],
        printed=[{}, {}, {}],
    ),
}
EVERY = pytest.mark.parametrize("name", COUNTEREXAMPLES)


def test_there_is_a_counterexample_to_each_mistake_that_is_printed() -> None:
    assert COUNTEREXAMPLES.keys() == AS_PRINTED.keys()


@EVERY
def test_the_corrected_algorithm_has_the_rows_of_the_oracle_and_the_right_numbers(name: str) -> None:
    example = COUNTEREXAMPLES[name]
    algorithm = Algorithm3(read(example.program))
    for facts, right in zip(_facts(example.epochs), example.right, strict=True):
        algorithm.update(facts)
        assert _watched(algorithm) == right
        assert algorithm.relations() == evaluate(read(example.program), facts)


@EVERY
def test_as_printed_the_algorithm_goes_wrong(name: str) -> None:
    example = COUNTEREXAMPLES[name]
    algorithm = Algorithm3(read(example.program), printed={name})
    for facts, printed in zip(_facts(example.epochs), example.printed, strict=True):
        algorithm.update(facts)
        assert _watched(algorithm) == printed
    assert algorithm.relations() != evaluate(read(example.program), facts)


@EVERY
def test_the_other_mistakes_do_not_make_up_for_one(name: str) -> None:
    example = COUNTEREXAMPLES[name]
    algorithm = Algorithm3(read(example.program), printed=AS_PRINTED)
    for facts in _facts(example.epochs):
        algorithm.update(facts)
    assert algorithm.relations() != evaluate(read(example.program), facts)


@EVERY
def test_a_counterexample_is_right_under_every_mistake_but_its_own(name: str) -> None:
    """But for C6, which is C5 with a stratum above."""
    example = COUNTEREXAMPLES[name]
    wrong = set()
    for mistake in AS_PRINTED:
        algorithm = Algorithm3(read(example.program), printed={mistake})
        for facts in _facts(example.epochs):
            algorithm.update(facts)
        if algorithm.relations() != evaluate(read(example.program), facts):
            wrong.add(mistake)
    assert wrong == ({"C5", "C6"} if name == "C6" else {name})


def _watched(algorithm: Algorithm3) -> Found:
    name, rows = list(algorithm.numbers().items())[-1]
    assert name in ("P", "U")
    return {str(row[0]): numbers for row, numbers in sorted(rows.items())}


def _facts(epochs: list[str]) -> list[Relations]:
    """The input facts after each epoch."""
    found: list[Relations] = []
    facts: Relations = {}
    for text in epochs:
        facts = apply(facts, Transaction(tuple(_writes(text))))
        found.append(facts)
    return found


def _writes(text: str) -> list[Write]:
    return [
        Write(+1 if sign == "+" else -1, name, (_row(values),))
        for sign, name, values in re.findall(r"([+-])(\w+)\(([^)]*)\)", text)
    ]


def _row(values: str) -> Row:
    row: Row = ast.literal_eval(f"({values},)")
    return row
