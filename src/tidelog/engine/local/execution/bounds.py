"""The tail of an iterator → what runs once, bounds of its rows, and the tail that is left.

    Overlap(a, b) :- Booking(a, r, s, e), Booking(b, r, t, f), s < f, t < e + 1.
    once, for each row of the first literal: e + 1       bounds of the second: f above s, t below e + 1       tail: none

An instruction that reads nothing of the iterator's row runs once, when the iterator is opened. A comparison of a column
with a word that is known by then is a bound (`kernels/zones`): it costs less than a tail, and zones can use it. Nothing
moves across a division, which may fail: whether it does must not depend on this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tidelog.engine.local.execution.word_expressions import BINARY, OPERANDS, Instruction
from tidelog.engine.local.kernels import layout as k

_COMPARISONS = (k.T_LT, k.T_LE, k.T_EQ)
_MAY_FAIL = (k.T_DIV, k.T_MOD)
# How a column compares if it is the left or the right operand.
_AS_LEFT = {k.T_LT: k.BELOW_IT, k.T_LE: k.AT_MOST_IT, k.T_EQ: k.EQUAL_TO_IT}
_AS_RIGHT = {k.T_LT: k.ABOVE_IT, k.T_LE: k.AT_LEAST_IT, k.T_EQ: k.EQUAL_TO_IT}


class Bound(NamedTuple):
    """A comparison of a column with a register; see `layout.BOUND_…`."""

    column: int
    op: int
    register: int
    signed: int


class SplitTail(NamedTuple):
    """The parts of a tail; `absent_keys` are those of the tail that is left."""

    once: Sequence[Instruction]
    bounds: Sequence[Bound]
    tail: Sequence[Instruction]
    absent_keys: Mapping[int, Sequence[int]]


def split_tail(
    columns: Mapping[int, int], tail: Sequence[Instruction], absent_keys: Mapping[int, Sequence[int]]
) -> SplitTail:
    """Splits the tail of an iterator over rows; `columns` has the column from which it binds each register."""
    readers = Counter(each[i] for each in tail for i in OPERANDS.get(each[0], BINARY)[0])
    of_row = set(columns)
    once: list[Instruction] = []
    bounds: list[Bound] = []
    left: list[Instruction] = []
    keys: dict[int, Sequence[int]] = {}
    compared: dict[int, tuple[int, Bound]] = {}  # the result of a comparison → its place among those left, the bound
    taken: set[int] = set()
    fails = False
    for place, instruction in enumerate(tail):
        op, target, a, b, _, signed = instruction
        fails = fails or op in _MAY_FAIL
        reads, sets = OPERANDS.get(op, BINARY)
        if op == k.T_FILTER and a in compared and not fails:
            at, bound = compared[a]
            taken.add(at)
            bounds.append(bound)
            continue
        if sets and not fails and of_row.isdisjoint(instruction[i] for i in reads):
            once.append(instruction)
            continue
        if sets:
            of_row.add(target)
        if op in _COMPARISONS and readers[target] == 1 and not fails:
            if a in columns and b not in of_row:
                compared[target] = len(left), Bound(columns[a], _AS_LEFT[op], b, signed)
            elif b in columns and a not in of_row:
                compared[target] = len(left), Bound(columns[b], _AS_RIGHT[op], a, signed)
        if place in absent_keys:
            keys[len(left)] = absent_keys[place]
        left.append(instruction)
    if not taken:
        return SplitTail(once, bounds, left, keys)
    stay = [at for at in range(len(left)) if at not in taken]
    moved = {at: number for number, at in enumerate(stay)}
    return SplitTail(once, bounds, [left[at] for at in stay], {moved[at]: each for at, each in keys.items()})
