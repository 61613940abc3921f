"""A failing case → a small case that still fails: by leaving out transactions, rules, literals, writes and rows.

Greedy: each part that can go goes, largest parts first, until nothing more can or the time is over. A part left out may
make the program wrong in another way; `still_fails` decides, so such a case is not kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.oracle.case import Case
from tests.oracle.history import Transaction, Write
from tests.oracle.program import Negative, Positive, Program

T = TypeVar("T")


def shrink(case: Case, still_fails: Callable[[Case], bool], seconds: float) -> Case:
    """The smallest case found in about that time; `case` itself when nothing can go."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                return case
            if still_fails(smaller):
                case, progress = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one part less, the larger parts first."""
    program, history = case.program, case.history
    for shorter in _without_some(history):
        yield Case(program, shorter)
    for rules in _without_some(program.rules):
        yield Case(_only_mentioned(replace(program, rules=rules), case), history)
    for i, transaction in enumerate(history):
        for writes in _less_written(transaction):
            yield Case(program, (*history[:i], replace(transaction, writes=writes), *history[i + 1 :]))
    for i, rule in enumerate(program.rules):
        for body in _without_some(rule.body):
            rules = (*program.rules[:i], replace(rule, body=body), *program.rules[i + 1 :])
            yield Case(_only_mentioned(replace(program, rules=rules), case), history)


def _less_written(transaction: Transaction) -> Iterator[tuple[Write, ...]]:
    yield from _without_some(transaction.writes)
    for i, write in enumerate(transaction.writes):
        for rows in _without_some(write.rows):
            if rows:
                yield (*transaction.writes[:i], replace(write, rows=rows), *transaction.writes[i + 1 :])


def _without_some(parts: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """The parts without a half, a quarter, ... a single one of them."""
    size = len(parts)
    while size > 1:
        size = (size + 1) // 2
        for start in range(0, len(parts), size):
            yield parts[:start] + parts[start + size :]
    if len(parts) == 1:
        yield ()


def _only_mentioned(program: Program, case: Case) -> Program:
    """The program without the relations that no rule and no write mentions any more."""
    mentioned = {rule.head.relation for rule in program.rules}
    mentioned |= {
        literal.atom.relation
        for rule in program.rules
        for literal in rule.body
        if isinstance(literal, Positive | Negative)
    }
    mentioned |= {write.relation for transaction in case.history for write in transaction.writes}
    return replace(program, relations=tuple(r for r in program.relations if r.name in mentioned))
