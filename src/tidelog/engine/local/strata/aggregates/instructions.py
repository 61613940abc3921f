"""The aggregates of a group as instructions of the kernel, and what a pass over members makes of them.

Which instruction an aggregate is follows from its way (`plan.aggregate_ways`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.threads import ThreadPool
from tidelog.engine.local.kernels import aggregate as kernels
from tidelog.engine.local.strata.aggregates.columns import Columns, Operand
from tidelog.engine.local.strata.aggregates.wide_sums import halves_of
from tidelog.plan.aggregate_ways import Way, added_type, way_of
from tidelog.rules.ir import Aggregate, AggregateKind
from tidelog.types import BitType, SignedType, Type

Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]
AT_ONCE = 1 << 20
"""Members between two looks at the deadline."""

SHARED_FROM = 1 << 17
"""From so many members on, all threads share a pass."""


_ALL = -1  # the mask of a whole word
_OF_PARTS = (AggregateKind.MIN, AggregateKind.MAX)


@dataclass(frozen=True, slots=True)
class Kept:
    """One aggregate: its way, its place among those of the same way, the column that it takes from members, if it is
    one (for an EXACT or WIDE one, of its numbers), and the columns that it compares. The place of a sum is that of its
    first total; a WIDE one may have two."""

    aggregate: Aggregate
    way: Way
    place: int
    column: int = -1
    compared: frozenset[int] = frozenset()

    @property
    def totals(self) -> slice:
        """The totals of a WIDE sum, one for each half."""
        return slice(self.place, self.place + len(halves_of(added_type(self.aggregate))))


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass over members found, a line per group: totals, the best members, and whether a best one is lost."""

    totals: Words
    best: Numbers
    lost: Flags


class Instructions:
    """The aggregates of one stratum."""

    def __init__(self, aggregates: Sequence[Aggregate], columns: Columns) -> None:
        self.kept: list[Kept] = []
        counts, totals = dict.fromkeys(Way, 0), 0
        codes: list[list[int]] = []
        for each in aggregates:
            way = way_of(each)
            place = counts[way]
            counts[way] += 1
            column, compared = -1, frozenset[int]()
            if way is Way.TOTAL:
                place = totals
                totals += 1
                codes.append([kernels.SUM, place, 0, 0, columns.number(each), _ALL])
            elif way is Way.WIDE:
                place, column, halves = totals, columns.number(each), halves_of(added_type(each))
                totals += len(halves)
                codes += [[kernels.SUM, place + i, half.shift, 0, column, half.mask] for i, half in enumerate(halves)]
            elif way is Way.BEST:
                codes.append(_order(each, place, columns))
                compared = frozenset(codes[-1][kernels.OPERANDS :: 2])
                column = columns.first_part if columns.is_single else -1
                if each.of is not None and each.kind in _OF_PARTS:
                    column = columns.part(each)
            elif way is Way.EXACT:
                column = columns.number(each)
            self.kept.append(Kept(each, way, place, column, compared))
        self.bests = counts[Way.BEST]
        self._totals = totals
        self.is_exact = bool(counts[Way.EXACT])
        self.is_whole = bool(counts[Way.WHOLE])
        width = max([kernels.OPERANDS, *map(len, codes)])
        self._program = np.array([[*each, *[0] * (width - len(each))] for each in codes], dtype=np.int64)
        self._program = self._program.reshape(len(codes), width)

    def run(
        self,
        wave: Words,
        codes: Numbers,
        inserted: int,
        groups: int,
        before: Numbers | None,
        pool: ThreadPool,
        look: Callable[[], None],
        order: Sequence[int] | None = None,
    ) -> Pass:
        """Inserts the first `inserted` of the members that have a code, and deletes the others.

        `before` has the lines of the bests before that, a line per group; None where there are none. `order` says which
        columns of the wave are those of the members, if they are not the first ones.
        """
        program = self._program
        if order is not None:
            program = program.copy()
            program[:, kernels.OPERANDS :: 2] = np.array(order, dtype=np.int64)[program[:, kernels.OPERANDS :: 2]]
        totals = np.zeros((groups, self._totals), dtype=np.int64)
        if before is None:
            before = np.full((groups, self.bests), -1, dtype=np.int32)
        found = Pass(totals, before.copy(), np.zeros(groups, dtype=np.uint8))
        if len(program):
            for weight, start, end in ((1, 0, inserted), (-1, inserted, len(codes))):
                for first in range(start, end, AT_ONCE):
                    look()
                    span = first, min(first + AT_ONCE, end), weight
                    _run_some(program, wave, codes, span, before, found, pool)
        return found


def _run_some(
    program: Words,
    wave: Words,
    codes: Numbers,
    span: tuple[int, int, int],
    before: Numbers,
    found: Pass,
    pool: ThreadPool,
) -> None:
    """Runs a part of a pass: from a line to another, with a weight. Threads share the groups."""
    groups, threads = len(found.lost), pool.threads if span[1] - span[0] >= SHARED_FROM else 1
    state = program, found.totals, before, found.best, found.lost

    def part(me: int) -> int:
        mine = me * groups // threads, (me + 1) * groups // threads
        status: int = kernels.accumulate(wave, codes, *span, *mine, *state)
        return status

    if threads == 1:
        part(0)
    else:
        kernels.accumulate.load()  # several threads must not load it at once
        pool.run(part)


def _order(aggregate: Aggregate, place: int, columns: Columns) -> list[int]:
    op = kernels.LEAST if aggregate.kind in (AggregateKind.MIN, AggregateKind.ARG_MIN) else kernels.MOST
    keys, ties = columns.value(), list[Operand]()
    if aggregate.of is not None:
        keys, ties = columns.sort_key(aggregate), [] if aggregate.kind in _OF_PARTS else keys
    operands = [number for operand in (*keys, *ties) for number in operand]
    return [op, place, len(keys), len(ties), *operands]


def wrapped(totals: Words, type_: Type) -> Words:
    """Returns sums in the range of their type, as words."""
    match type_:
        case BitType(width) if width < 64:
            return totals & ((1 << width) - 1)
        case SignedType(width) if width < 64:
            return (totals << (64 - width)) >> (64 - width)
        case _:
            return totals
