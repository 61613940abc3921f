"""Counts every instance over the rows of a monotone stratum again, and says which numbers are wrong."""

from __future__ import annotations

from collections import defaultdict

from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.strata.monotone.ranked_rows import WAS
from tidelog.engine.local.strata.monotone.stratum import MonotoneStratum
from tidelog.engine.local.strata.row_interpreter import Interpreter
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, deltas, plan_variant


def mistakes_in_improving(engine: LocalEngine) -> list[str]:
    """What is wrong with ranks, counts, totals and best rows, between two epochs."""
    return [
        each
        for stratum in engine._runtime.strata
        if isinstance(stratum, MonotoneStratum)
        for each in _mistakes(stratum)
    ]


def _mistakes(stratum: MonotoneStratum) -> list[str]:
    if stratum._state is None:
        return []
    improving, _ = stratum._state
    levels: dict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
    for below in improving.below.values():
        below.seen = (WAS, WAS)  # a look at the changes of an epoch that has not begun would last
    interpreter = Interpreter({**improving.rows, **improving.below}, stratum.values, stratum.program.functions, max)
    for each in stratum._monotone.rules:
        name = each.rule.head.relation
        (delta,) = (delta for delta in deltas(each.rule) if delta.kind is DeltaKind.RULE)
        variant = plan_variant(each.rule, delta, FromSizes(lambda _: 1))
        interpreter.run(variant, lambda row, level, name=name: levels[name, row].append(level))([((), 1)])  # type: ignore[misc]
    for name, given in stratum._given.items():
        for row in given:
            levels[name, row].append(-1)
    found = []
    for best in improving.bests.values():
        for member, rank in best.members.ranks.items():
            if best.of(member) in best.group.ranks:
                levels[best.name, best.of(member)].append(rank)
        for member in best.members.ranks:
            known = best.best_of(member[: len(best.keys)])
            if known is None or best.is_better(best.of(member), known):
                found.append(f"{best.name}: {member} is better than {known}")
    for name, rows in improving.rows.items():
        if {*rows.numbers} != {*rows.ranks}:
            found.append(f"{name}: {rows.numbers.keys() ^ rows.ranks.keys()} are half there")
        for row, (rank, count, total) in rows.numbers.items():
            own = levels.pop((name, row), [])
            if count < 1 or count != sum(level < rank for level in own) or total != len(own):
                found.append(f"{name}{row}: rank {rank}, count {count}, total {total}; instances of levels {own}")
    return found + [f"{name}{row} is missing" for name, row in levels]
