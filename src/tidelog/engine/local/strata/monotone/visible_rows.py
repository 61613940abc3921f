"""The visible rows of a monotone stratum: those that follow from the best values alone.

`Improving` also has rows that follow from surpassed values. The visible ones are the best row of every key; all rows of
relations without costs, because a better value deletes none of them; and rows of relations with costs that have
instances over visible rows, which are counted. The latter do not depend on one another in a cycle, so they are
maintained like weights: the sum over the positions of a body of the changes for a delta there (`weighted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.storage.weighted_table import Row, Table
from tidelog.engine.local.strata.monotone.ranked_rows import RowsBelow
from tidelog.engine.local.strata.monotone.ranked_update import Facts, Improving, Measure
from tidelog.engine.local.strata.row_interpreter import Interpreter, Run, delta_rows
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, Variant, deltas, plan_variant
from tidelog.rules.analysis.monotone import Monotone


class VisibleRows:
    """`tables` has the visible rows of each relation and their changes; of a group, keys and best values."""

    def __init__(
        self,
        monotone: Monotone,
        improving: Improving,
        below: Mapping[str, Table],
        values: Values,
        functions: CompiledFunctions,
        measure: Measure,
    ) -> None:
        self.tables = {name: Table() for name in improving.rows}
        self._improving = improving
        self._measure = measure
        self._all = {**self.tables, **below}
        # How many instances over shown rows each row has.
        self._counts = {name: Table() for name in monotone.costs}
        groups = {best.relation for best in monotone.bests}
        self._plain = [name for name in self.tables if name not in groups and name not in self._counts]
        interpreter = Interpreter(self._all, values, functions)
        # Lower strata with the epoch's changes, on both sides of a delta.
        now = {name: RowsBelow(table, weighted=False) for name, table in below.items()}
        self._now = Interpreter({**now, **self.tables}, values, functions)
        self._runs: dict[str, list[tuple[Variant, Run]]] = {name: [] for name in self._counts}
        for each in monotone.rules:
            name = each.rule.head.relation
            for delta in deltas(each.rule) if name in self._counts else ():
                variant = plan_variant(each.rule, delta, FromSizes(lambda _: 1))
                self._runs[name].append((variant, interpreter.run(variant, self._emit_to(name))))

    def begin(self, facts: Facts) -> None:
        """Computes the visible rows from scratch, from the present best values."""
        for name in self._plain:
            self.tables[name].replace(dict.fromkeys(self._improving.rows[name].ranks, 1))
        if any(below.weighted for below in self._improving.below.values()):
            self._count_all(facts)
        else:
            self._leave_out_surpassed()

    def _count_all(self, facts: Facts) -> None:
        for best in self._improving.bests.values():
            self.tables[best.name].replace(dict.fromkeys(best.best_of_all(), 1))
        for name, counts in self._counts.items():
            for row in facts[name][0] if name in facts else ():
                counts.add(row, 1)
            for variant, run in self._runs[name]:
                if variant.delta.kind is DeltaKind.RULE:
                    self._evaluate(variant, run, [((), 1)])
            counts.commit()
            self.tables[name].replace({row: 1 for row, count in counts.weights.items() if count > 0})

    def _leave_out_surpassed(self) -> None:
        """Starts from all rows, whose instances are counted already, and subtracts those of surpassed rows."""
        for best in self._improving.bests.values():
            table = self.tables[best.name]
            table.replace(dict.fromkeys(best.group.ranks, 1))
            for row in best.group.ranks.keys() - best.best_of_all():
                table.add(row, -1)
        for name, counts in self._counts.items():
            rows = self._improving.rows[name]
            counts.replace({row: numbers.total for row, numbers in rows.numbers.items()})
            self.tables[name].replace(dict.fromkeys(rows.ranks, 1))
            for variant in (variant for variant, _ in self._runs[name]):
                if variant.delta.atom is None or variant.delta.atom.relation not in self.tables:
                    continue
                if changed := delta_rows(variant, self.tables):
                    self._evaluate(variant, self._now.run(variant, self._emit_to(name)), changed)
            for row in counts.presence_changes()[1]:
                self.tables[name].add(row, -1)
        self.commit()

    def update(self, facts: Facts) -> None:
        """Computes the changes of the epoch; the cost is that of the changes."""
        for name in self._plain:
            for row, was, is_ in self._improving.rows[name].noted():
                if was != is_:
                    self.tables[name].add(row, 1 if is_ else -1)
        for best in self._improving.bests.values():
            table = self.tables[best.name]
            for key in {row[:-1] for row, _, _ in best.group.noted()}:
                old = next((row for row, _ in table.find(best.keys, key, new=False)), None)
                new = best.best_of(key)
                if old != new:
                    _exchange(table, old, new)
        for name, counts in self._counts.items():
            added, removed = facts.get(name, ((), ()))
            for row in added:
                counts.add(row, 1)
            for row in removed:
                counts.add(row, -1)
            for variant, run in self._runs[name]:
                if variant.delta.kind is not DeltaKind.RULE and (rows := delta_rows(variant, self._all)):
                    self._evaluate(variant, run, rows)
            inserted, deleted = counts.presence_changes()
            for row in inserted:
                self.tables[name].add(row, 1)
            for row in deleted:
                self.tables[name].add(row, -1)

    def commit(self) -> None:
        """Commits the changes of the epoch."""
        for table in (*self.tables.values(), *self._counts.values()):
            table.commit()

    def roll_back(self) -> None:
        """Drops the changes of the epoch."""
        for table in (*self.tables.values(), *self._counts.values()):
            table.drop()

    def _evaluate(self, variant: Variant, run: Run, rows: Iterable[tuple[Row, int]]) -> None:
        with self._measure(variant.rule):
            run(rows)

    def _emit_to(self, name: str) -> Callable[[Row, int], None]:
        counts = self._counts[name]
        return counts.add

    @property
    def best_rows(self) -> int:
        """Number of best rows of all keys."""
        return sum(len(self.tables[best.name].weights) for best in self._improving.bests.values())


def _exchange(table: Table, old: Row | None, new: Row | None) -> None:
    if old is not None:
        table.add(old, -1)
    if new is not None:
        table.add(new, 1)
