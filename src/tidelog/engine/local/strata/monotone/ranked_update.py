"""`min` and `max` in recursion: the ranked Update over members and best values, in waves that Python runs.

A row of a group is one member that was the best of its key when it was inserted. It fires the rules that read the
group, and is not deleted when a better one is inserted: it is only *surpassed*, and dies with its own support. So
everything here is a set that grows in INSERT, support has ranks, and RETRACT is exact: no row supports itself, neither
over a cycle of weight 0 nor through an earlier value of its own. A member that is worse than the best of its key fires
nothing; it waits, and when all rows that surpassed it have died it may become the best again. Better rows are inserted
best first (`priority_queue`), so that few are surpassed at all.

The rows that users see are derived from the best rows alone (`visible_rows`).

Invariant after every epoch: all instances over the rows that are here, and no others, are counted; and of every key
with members, the best is a row of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.storage.weighted_table import Row, Table
from tidelog.engine.local.strata.monotone.group_best import BestRows
from tidelog.engine.local.strata.monotone.overflow import Room
from tidelog.engine.local.strata.monotone.priority_queue import Waiting
from tidelog.engine.local.strata.monotone.ranked_rows import IS, STAYS, WAS, Numbers, RankedRows, RowsBelow
from tidelog.engine.local.strata.row_interpreter import Interpreter, Run
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.maintain.limits import Watch
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, deltas, plan_variant
from tidelog.rules.analysis.monotone import Monotone, MonotoneRule
from tidelog.rules.ir import Relation, Role, Rule

# Above this share of retracted rows, a full recompute is cheaper than an Update.
RETRACTED_SHARE = 0.45
FEW_ROWS = 1000

Measure = Callable[[Rule], AbstractContextManager[None]]
Facts = Mapping[str, tuple[Iterable[Row], Iterable[Row]]]
"""Relation → input facts to insert, and to delete."""


class TooMuchError(Exception):
    """So much is retracted that a full recompute is cheaper."""


class TooManyRoundsError(TooMuchError):
    """The Update takes more rounds than allowed; a full recompute may take fewer."""


class Improving:
    """The rows of one monotone stratum, best and surpassed, with their numbers."""

    def __init__(
        self,
        monotone: Monotone,
        relations: Mapping[str, Relation],
        names: tuple[str, ...],
        below: Mapping[str, Table],
        values: Values,
        functions: CompiledFunctions,
        watch: Watch,
        measure: Measure,
    ) -> None:
        self.rows = {name: RankedRows() for name in names}
        self.below = {name: RowsBelow(table, weighted=relations[name].weighted) for name, table in below.items()}
        self.bests = {best.members: BestRows(best, self.rows, values) for best in monotone.bests}
        self._waiting = {name: Waiting(best) for name, best in self.bests.items()}
        # `max_rounds` counts the rounds in which every row is inserted as early as possible.
        self._best_first = watch.limits.max_rounds is None
        self.waves = 0
        self.instances = 0
        self._top = 1
        self._noted_top = 1
        self._visible = [name for name in names if relations[name].role is not Role.HIDDEN]
        self._costs = monotone.costs
        self._width = {name: len(relations[name].columns) for name in names}
        self._watch = watch
        self._measure = measure
        self._inserting = False
        self._wave = 0
        self._dying: dict[str, dict[Row, int]] = {}
        self._coming: dict[str, dict[Row, list[int]]] = {}
        self._dead: list[tuple[str, Row]] = []
        self.room = Room(monotone, len(names), values)
        interpreter = Interpreter({**self.rows, **self.below}, values, functions, max, watch.pace)
        self._runs = [
            (each.rule, delta.kind, None if delta.atom is None else delta.atom.relation, run)
            for each in monotone.rules
            for delta, run in self._compiled(each, interpreter)
        ]

    def _compiled(self, each: MonotoneRule, interpreter: Interpreter) -> Iterator[tuple[Any, Run]]:
        """Yields a run for each position of the delta. It emits the parts of its sums behind the head's columns."""
        rule, emit = self.room.with_parts(each, self._emit_to(each.rule.head.relation))
        for delta in deltas(rule):
            yield delta, interpreter.run(plan_variant(rule, delta, FromSizes(lambda _: 1)), emit)

    # The two ways

    def begin(self, facts: Facts) -> None:
        """Derives everything from scratch: INSERT, with every rule new."""
        self._is_repairing = False
        self._see(IS, IS)
        self._start(inserting=True)
        for name, (inserted, _) in facts.items():
            for row in inserted:
                self._give(name, row)
        for rule, kind, _, run in self._runs:
            if kind is DeltaKind.RULE:
                self._evaluate(rule, run, [((), 1)])
        self._insert_waves()
        self.room.require(self.best_rows)

    def update(self, facts: Facts) -> None:
        """Updates the rows: RETRACT, then INSERT. After TooMuchError or OutOfRangeError `roll_back` must follow."""
        self._is_repairing = True
        for below in self.below.values():
            below.begin()
        self._retract(facts)
        self._insert(facts)
        self.room.require(self.best_rows)

    def commit(self) -> None:
        """Commits the changes of the epoch."""
        self._noted_top = self._top
        for rows in self.rows.values():
            rows.commit()

    def roll_back(self) -> None:
        """Rolls back the changes of the epoch."""
        self._top = self._noted_top
        self._dying, self._coming, self._dead = {}, {}, []
        for waiting in self._waiting.values():
            waiting.clear()
        for rows in self.rows.values():
            rows.roll_back()

    @property
    def has_rows(self) -> bool:
        return any(rows.ranks for rows in self.rows.values())

    @property
    def best_rows(self) -> int:
        """Number of rows of groups, best and surpassed ones."""
        return sum(len(best.group.ranks) for best in self.bests.values())

    # RETRACT

    def _retract(self, facts: Facts) -> None:
        self._start(inserting=False)
        self._see(WAS, STAYS)
        size = sum(len(rows.ranks) for rows in self.rows.values())
        dead = 0
        for name, (_, deleted) in facts.items():
            for row in deleted:
                self._take(name, row, -1)
        self._dead = []
        while True:
            for name, rows in self.rows.items():
                rows.batch = self._dying.pop(name, {})
                dead += len(rows.batch)
            if self._wave and not any(rows.batch for rows in self.rows.values()):
                break
            if dead > FEW_ROWS and dead > RETRACTED_SHARE * size:
                raise TooMuchError
            if self._wave:
                self._count_round()
            self._run_wave(lambda below, kind: below.deleted if kind is DeltaKind.POSITIVE else below.inserted)
            for best in self.bests.values():
                self._take_members(best)
            for name, rows in self.rows.items():
                for row in rows.batch:
                    rows.die(row)
                    self._dead.append((name, row))
            self._see(STAYS, STAYS)
            self._wave += 1

    def _take(self, name: str, row: Row, level: int) -> None:
        """Takes one instance from the row."""
        rows = self.rows[name]
        rank, count, total = rows.numbers[row]
        if level < rank:
            count -= 1
            if not count:
                self._dying.setdefault(name, {})[row] = rank
        rows.set(row, Numbers(rank, count, total - 1))

    def _take_members(self, best: BestRows) -> None:
        for member, level in best.members.batch.items():
            row = best.of(member)
            if row in best.group.ranks:
                self._take(best.name, row, level)

    # INSERT

    def _insert(self, facts: Facts) -> None:
        self._start(inserting=True)
        self._see(STAYS, IS)
        reopened = self._bury()
        for name, (inserted, _) in facts.items():
            for row in inserted:
                self._give(name, row)
        self._run_wave(lambda below, kind: below.inserted if kind is DeltaKind.POSITIVE else below.deleted)
        for members, keys in reopened.items():
            best = self.bests[members]
            for key in keys:
                self._offer(best, key, best.candidate_of(key))
        for name, row in self._dead:
            rows = self.rows[name]
            if row not in rows.ranks and (numbers := rows.numbers.get(row)) is not None:
                if numbers.total:
                    rows.set(row, Numbers(self._top + 1, numbers.total, numbers.total))
                    self._dying.setdefault(name, {})[row] = self._top + 1
                else:
                    rows.forget(row)
        self._insert_waves()

    def _bury(self) -> dict[str, set[Row]]:
        """Forgets the dead rows of groups, to be made again from their members; returns the keys by members."""
        reopened: dict[str, set[Row]] = {}
        groups = {best.name: best for best in self.bests.values()}
        for name, row in self._dead:
            if (best := groups.get(name)) is not None:
                best.group.forget(row)
                reopened.setdefault(best.members_name, set()).add(row[:-1])
        return reopened

    def _insert_waves(self) -> None:
        """Runs the waves after wave 0, until no row is inserted."""
        returned, self._dying = self._dying, {}
        while True:
            if not self._coming and not returned:
                self._admit_best()
            for name, rows in self.rows.items():
                rows.batch = {}
                for row, rank in returned.get(name, {}).items():
                    rows.enter(row, rows.numbers[row])
                    rows.batch[row] = rank
                rows.enter_all(self._coming.pop(name, {}))
                self._top = max(self._top, max(rows.batch.values(), default=0))
            returned = {}
            self._wave += 1
            if not any(rows.batch for rows in self.rows.values()):
                break
            self._count_round()
            self._see(IS, IS)
            self._run_wave(None)
            for best in self.bests.values():
                self._give_members(best)

    def _give(self, name: str, row: Row) -> None:
        """Adds an input fact: an instance below all others. The row is in batch 0."""
        rows = self.rows[name]
        known = rows.numbers.get(row)
        if row in rows.ranks:
            assert known is not None
            rows.set(row, Numbers(known.rank, known.count + 1, known.total + 1))
        else:
            rows.enter(row, Numbers(0, 1, 1 if known is None else known.total + 1))
            rows.batch[row] = 0

    def _meet(self, name: str, row: Row, level: int) -> None:
        """Adds an instance to a row that has numbers: it is visible, or has died."""
        rows = self.rows[name]
        known = rows.numbers[row]
        if row in rows.ranks:
            rows.set(row, Numbers(known.rank, known.count + (level < known.rank), known.total + 1))
        elif not self._wave:
            rows.set(row, Numbers(known.rank, known.count, known.total + 1))
        else:
            self._coming.setdefault(name, {}).setdefault(row, []).append(level)

    def _give_members(self, best: BestRows) -> None:
        """Offers the rows of inserted members: a better one is the best of its key from the next wave on."""
        better: dict[Row, Row] = {}
        if best.members.batch:
            self.room.note(map(best.value, best.members.batch), best.type)
        for member, level in best.members.batch.items():
            row = best.of(member)
            if row in best.group.ranks:
                self._meet(best.name, row, level)
            else:
                key = row[:-1]
                if key not in better or best.is_better(row, better[key]):
                    better[key] = row
        for key, row in better.items():
            self._offer(best, key, row)

    def _offer(self, best: BestRows, key: Row, row: Row | None) -> None:
        """Queues the row for its turn, if it is better than the best row of its key."""
        if row is None or row in best.group.ranks:
            return
        known = best.best_of(key)
        if known is None or best.is_better(row, known):
            if self._best_first:
                self._waiting[best.members_name].put(row)
            else:
                self._coming.setdefault(best.name, {})[row] = best.levels(row)

    def _admit_best(self) -> None:
        """Inserts waiting rows with the next wave, unless their keys have got a better row in the meantime."""
        while not self._coming and any(self._waiting.values()):
            for waiting in self._waiting.values():
                best = waiting.best
                for row in waiting.take():
                    known = best.best_of(row[:-1])
                    if known is None or best.is_better(row, known):
                        self._coming.setdefault(best.name, {})[row] = best.levels(row)

    # Waves

    def _start(self, *, inserting: bool) -> None:
        """Begins RETRACT or INSERT."""
        self._inserting, self._wave = inserting, 0
        for rows in self.rows.values():
            rows.hidden_if_new = not inserting

    def _run_wave(self, changed: Callable[[RowsBelow, DeltaKind], Iterable[Row]] | None) -> None:
        """Runs the rules on the batches and, in wave 0, on the changes of lower strata."""
        for rule, kind, relation, run in self._runs:
            if relation is None:
                continue
            if relation in self.rows:
                batch = self.rows[relation].batch
                if batch:
                    self._evaluate(rule, run, [(row, rank or 1) for row, rank in batch.items()])
            elif changed is not None and not self._wave and (rows := changed(self.below[relation], kind)):
                self._evaluate(rule, run, [(row, 1) for row in rows])

    def _evaluate(self, rule: Rule, run: Run, rows: Iterable[tuple[Row, int]]) -> None:
        self._watch.look(rule)
        with self._measure(rule):
            run(rows)

    def _emit_to(self, name: str) -> Callable[[Row, int], None]:
        known = self.rows[name].numbers

        def emit(row: Row, level: int) -> None:
            self.instances += 1
            if not self._inserting:
                self._take(name, row, level)
            elif row in known:
                self._meet(name, row, level)
            else:
                self._coming.setdefault(name, {}).setdefault(row, []).append(level)

        return emit

    def _see(self, behind: int, before: int) -> None:
        for below in self.below.values():
            below.seen = (behind, before)

    def _count_round(self) -> None:
        """Counts a round if the batch has rows that users see. Raises if there are too many rounds or rows."""
        self.waves += any(self.rows[name].batch for name in self._visible)
        if self._watch.limits.max_rounds is None and self._watch.limits.max_rows is None:
            return
        if self._is_repairing and self.waves > self._watch.last_round:
            raise TooManyRoundsError
        running = next((rule for rule, _, name, _ in self._runs if name in self.rows and self.rows[name].batch), None)
        self._watch.rounds(self.waves, running)
        limit = self._watch.limits.max_rows
        for name in self._visible if self._inserting else ():
            if limit is not None and len(self.rows[name].ranks) > limit:
                # Surpassed rows do not count, and each key is there at least once.
                kept = [i for i in range(self._width[name]) if i not in self._costs.get(name, ())]
                keys = {tuple([row[i] for i in kept]) for row in self.rows[name].ranks}
                self._watch.rows(name, len(keys), running)
