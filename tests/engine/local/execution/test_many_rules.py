"""Many rules in one stratum: the work before the first result grows with their number, not with its square."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

import tidelog

FEW, MANY = 100, 800
INPUTS = "input relation A(x: u32, y: u32)\ninput relation B(x: u32, y: u32)\noutput relation O(x: u32, y: u32)\n"

SHAPES = {
    "deltas with constants": "O(x, {i}) :- A(x, y), B(y, {i}).\n",
    "one delta": "O(x, z) :- A(x, y), A(y, z), z > {i}.\n",
    "negation": "O(x, y) :- A(x, y), not B(x, {i}).\n",
    "facts": "O({i}, {i}).\n",
    "a relation each": "relation R{i}(x: u32)\nR{i}(x) :- A(x, {i}), O(x, _).\nO(x, {i}) :- R{i}(x).\n",
}


def calls(work: Callable[[], Any]) -> int:
    """The number of calls of Python functions."""
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def program(rule: str, rules: int) -> str:
    return INPUTS + "".join(rule.format(i=i) for i in range(rules))


def first_commit(program: tidelog.Program) -> None:
    with program.open(threads=1) as db, db.transaction() as tx:
        tx.insert("A", [(1, 1), (1, 2)])
        tx.insert("B", [(1, 1)])


@pytest.mark.parametrize("rule", SHAPES.values(), ids=SHAPES.keys())
def test_the_work_of_compiling_and_of_the_first_commit_is_linear_in_the_number_of_rules(rule: str) -> None:
    first_commit(tidelog.compile(program(rule, 2)))  # modules and kernels are loaded, and not counted below
    texts = [program(rule, rules) for rules in (FEW, MANY)]
    compiled = [tidelog.compile(text) for text in texts]
    few, many = (calls(partial(tidelog.compile, text)) for text in texts)
    assert many < 1.5 * MANY / FEW * few
    few, many = (calls(partial(first_commit, each)) for each in compiled)
    assert many < 1.5 * MANY / FEW * few
