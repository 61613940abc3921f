"""Counts every instance over the rows of a monotone stratum again, and says which numbers are wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.monotone.in_kernels import MonotoneInKernels
from tidelog.engine.local.strata.monotone.ranked_rows import WAS
from tidelog.engine.local.strata.monotone.stratum import MonotoneStratum
from tidelog.engine.local.strata.monotone.value_order import key_of
from tidelog.engine.local.strata.row_interpreter import Interpreter
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, deltas, plan_variant
from tidelog.rules.analysis.monotone import Best


def mistakes_in_improving(engine: LocalEngine) -> list[str]:
    """What is wrong with ranks, counts, totals and best rows, between two epochs."""
    found = []
    for stratum in engine._runtime.strata:
        if isinstance(stratum, MonotoneStratum):
            found += _mistakes(stratum)
        elif isinstance(stratum, MonotoneInKernels):
            found += _mistakes_in_kernels(stratum)
    return found


class _Rows:
    """The rows of a store with their ranks, as the interpreter reads them; those of lower strata have rank 0."""

    def __init__(self, store: Store, *, inside: bool) -> None:
        lines = store.lines()
        ranks = store.ranks_of(lines).tolist() if inside else [0] * len(lines)
        totals, counts = store.totals_of(lines).tolist(), store.counts_of(lines).tolist()
        rows = [tuple(row) for row in store.columns_of(lines).tolist()]
        self.ranks: dict[Row, int] = dict(zip(rows, ranks))
        self.numbers = {row: numbers for row, *numbers in zip(rows, ranks, counts, totals)}
        meta = store.rows[lines, store.columns + k.META]
        self.given = {row for row, word in zip(rows, meta.tolist()) if word & k.INPUT_BIT}
        assert not (meta >> k.STAMP_SHIFT).any(), "a stamp is left"
        assert not (meta & k.TOUCHED_BIT).any(), "a mark is left"

    def weight(self, row: Row, *, new: bool) -> int:
        return int(row in self.ranks)

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        return [(row, rank) for row, rank in self.ranks.items() if tuple(row[i] for i in columns) == key]


def _mistakes_in_kernels(stratum: MonotoneInKernels) -> list[str]:
    if not stratum._has_state:
        return []
    plan, stores, numbers = stratum._plan, stratum.catalog.stores, stratum._all.numbers
    names = {*plan.all_rows, *(atom.relation for rule in plan.rules for atom in rule.atoms)}
    rows = {name: _Rows(stores[numbers[name]], inside=name in plan.all_rows) for name in names}
    levels: dict[tuple[str, Row], list[int]] = defaultdict(list)
    interpreter = Interpreter(rows, stratum.values, stratum.program.functions, max)
    for rule in plan.rules:
        name = rule.head.relation
        (delta,) = (delta for delta in deltas(rule) if delta.kind is DeltaKind.RULE)
        variant = plan_variant(rule, delta, FromSizes(lambda _: 1))
        interpreter.run(variant, lambda row, level, name=name: levels[name, row].append(level))([((), 0)])  # type: ignore[misc]
    for name, given in stratum._given.items():
        for row in given:
            levels[name, row].append(-1)
    found = []
    for best in plan.bests:
        value = _value_of(best, stratum.values)
        choose = min if best.smallest else max
        group, known = rows[best.relation].ranks, dict[Row, Any]()
        for row in group:
            known[row[:-1]] = choose(value(row[-1]), known.get(row[:-1], value(row[-1])))
        for member, rank in rows[best.members].ranks.items():
            key, word = member[: best.keys], member[best.value]
            if (*key, word) in group:
                levels[best.relation, (*key, word)].append(rank)
            if key not in known or choose(value(word), known[key]) != known[key]:
                found.append(f"{best.relation}: {member} is better than {known.get(key)}")
        shown = stratum._best[plan.bests.index(best)].number
        best_rows = {row for row in group if value(row[-1]) == known[row[:-1]]}
        if best_rows != {*_Rows(stores[shown], inside=False).ranks}:
            found.append(f"{best.relation}: the visible rows are not the best")
    for name in plan.all_rows:
        for row, (rank, count, total) in rows[name].numbers.items():
            own = levels.pop((name, row), [])
            if count < 1 or count != sum(level < rank for level in own) or total != len(own):
                found.append(f"{name}{row}: rank {rank}, count {count}, total {total}; instances of levels {own}")
    return found + [f"{name}{row} is missing" for name, row in levels]


def _value_of(best: Best, values: Values) -> Callable[[int], Any]:
    """What a word of a group is compared by."""
    decode, key = values.decoder(best.type), key_of(best.order)
    return decode if key is None else lambda word: key(decode(word))


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
