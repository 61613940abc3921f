"""The oracle itself, on answers that anyone can check."""

from __future__ import annotations

import pytest

from tests.oracle.evaluate import evaluate
from tests.oracle.instances import TooLargeError
from tests.oracle.order import NotStratifiedError, check_stratified, in_order
from tests.oracle.program import Apply, Const
from tests.oracle.read import read
from tests.oracle.types import BOOL, STRING, Row, Type, Value, bit, signed
from tests.oracle.value import value

CLOSURE = """
input relation E(x: u8, y: u8)
output relation T(x: u8, y: u8)
output relation Unlinked(x: u8, y: u8)
T(x, y) :- E(x, y).
T(x, z) :- T(x, y), T(y, z).
Unlinked(x, y) :- E(x, _), E(_, y), not T(x, y).
"""


def answer(text: str, **facts: set[Row]) -> dict[str, set[Row]]:
    return {name: set(rows) for name, rows in evaluate(read(text), {k: frozenset(v) for k, v in facts.items()}).items()}


def test_closure_and_its_complement() -> None:
    found = answer(CLOSURE, E={(1, 2), (2, 3), (4, 4)})
    assert found["T"] == {(1, 2), (2, 3), (1, 3), (4, 4)}
    assert found["Unlinked"] == {(1, 4), (2, 2), (2, 4), (4, 2), (4, 3)}


def test_repeated_variables_constants_and_wildcards() -> None:
    text = """
    input relation E(x: u8, y: u8)
    output relation Loop(x: u8)  output relation ToTwo(x: u8)  output relation Source(x: u8)  output relation None_()
    Loop(x) :- E(x, x).   ToTwo(x) :- E(x, 2).   Source(x) :- E(x, _), not E(_, x).   None_() :- not E(_, _).
    """
    found = answer(text, E={(1, 2), (2, 2)})
    assert found == {"E": {(1, 2), (2, 2)}, "Loop": {(2,)}, "ToTwo": {(1,), (2,)}, "Source": {(1,)}, "None_": set()}
    assert answer(text)["None_"] == {()}


def test_a_condition_may_stand_before_what_it_reads() -> None:
    text = "input relation C(x: u8) output relation P(x: u8) P(y) :- y > 3, not C(y), C(x), var y = x + 1."
    assert answer(text, C={(1,), (3,), (4,), (5,)})["P"] == {(6,)}


def test_a_division_runs_only_where_the_condition_in_front_of_it_holds() -> None:
    text = "input relation C(x: u8) output relation P(x: u8) P(q) :- C(x), x != 0, var q = 100 / x."
    assert answer(text, C={(0,), (7,)})["P"] == {(14,)}


def test_negation_is_stratified() -> None:
    program = read(CLOSURE + "output relation Top(x: u8)\nTop(x) :- E(x, _), not Unlinked(x, x).")
    check_stratified(program)
    assert in_order(program) == [{"E"}, {"T"}, {"Unlinked"}, {"Top"}]
    with pytest.raises(NotStratifiedError):
        check_stratified(read("output relation P() output relation Q() P() :- not Q(). Q() :- P()."))


def test_a_body_with_too_many_matches_is_given_up() -> None:
    program = read("input relation C(x: u8) output relation P() P() :- C(x), C(y).")
    facts = {"C": frozenset((x,) for x in range(20))}
    with pytest.raises(TooLargeError):
        evaluate(program, facts, limit=300)
    assert evaluate(program, facts, limit=400)["P"] == {()}


@pytest.mark.parametrize(
    ("op", "type_", "operands", "expected"),
    [
        ("+", bit(8), (200, 100), 44),
        ("-", bit(64), (0, 1), 2**64 - 1),
        ("*", signed(8), (64, 2), -128),
        ("+", bit(100), (2**100 - 1, 1), 0),
        ("/", signed(8), (-7, 2), -3),
        ("%", signed(8), (-7, 2), -1),
        ("/", signed(8), (-128, -1), -128),
        ("neg", signed(5), (-16,), -16),
        ("neg", bit(3), (1,), 7),
        ("~", bit(12), (0,), 4095),
        ("~", signed(8), (0,), -1),
        ("^", bit(8), (6, 3), 5),
        ("as", bit(3), (255,), 7),
        ("as", signed(8), (255,), -1),
        ("<", BOOL, ("a", "é"), True),
        ("=>", BOOL, (False, False), True),
        ("++", STRING, ("a", "b"), "ab"),
        ("text", STRING, (True,), "true"),
        ("text", STRING, (-5,), "-5"),
    ],
)
def test_operators(op: str, type_: Type, operands: tuple[Value, ...], expected: Value) -> None:
    assert value(Apply(op, tuple(Const(operand, type_) for operand in operands), type_), {}) == expected


@pytest.mark.parametrize(("amount", "expected"), [(1, 254), (7, 128), (8, 255), (9, 254)])
def test_a_shift_counts_modulo_the_machine_width(amount: int, expected: int) -> None:
    assert value(Apply("<<", (Const(255, bit(8)), Const(amount, bit(32))), bit(8)), {}) == expected


def test_bits_are_joined_high_to_low() -> None:
    assert value(Apply("++", (Const(1, bit(4)), Const(2, bit(8))), bit(12)), {}) == 0x102
