"""The parts of a stratum in threads of this process, without Spark: what its tasks do, in a hundredth of the time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from tests.engine.spark.programs import rules_of

from tidelog.engine.interface import Operation, Outcome
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.spark.plans.partitioned.exchange import Exchange, MessageFiles
from tidelog.engine.spark.plans.partitioned.partition_program import partition_program
from tidelog.engine.spark.plans.partitioned.routing import Routing, copy_name, find_routing
from tidelog.engine.spark.plans.partitioned.stratum import Link, PartitionEngine
from tidelog.engine.spark.plans.split_inputs import split_inputs
from tidelog.engine.spark.plans.tasks.subprogram import TaskProgram
from tidelog.engine.spark.storage.bucket import rows_of_bucket
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import NUMBERS, positional
from tidelog.io.rows import to_table
from tidelog.maintain.options import Maintenance

Numbers = dict[tuple[Any, ...], tuple[int, int, int]]


class Parts:
    """The only recursive stratum of a program: in `count` parts, and whole in a local engine, both with the same rows
    of the relations below."""

    def __init__(self, text: str, count: int, strategy: str = "update", whole: str = "update") -> None:
        self.rules = split_inputs(rules_of(text)).rules
        (self.stratum,) = [stratum for stratum in self.rules.strata if stratum.recursive]
        routing = find_routing(self.stratum, self.rules.relations)
        assert isinstance(routing, Routing), routing
        self.routing, self.count = routing, count
        self.options = Maintenance(strategy=strategy)
        self.whole = LocalEngine(self.rules, strategy=whole, track_state=True)
        self.whole.open()
        self.directory = StateDirectory.temporary()
        self.directory.make(0)
        self.tasks: list[TaskProgram] = [
            partition_program(self.stratum, routing, self.rules.relations, count, part) for part in range(count)
        ]
        self.engines = [PartitionEngine(task, routing, self.options) for task in self.tasks]
        self.is_new = True
        self._below: dict[str, set[tuple[Any, ...]]] = {}

    def commit(self, operations: Sequence[tuple[int, str, Sequence[tuple[Any, ...]]]]) -> set[str]:
        """Commits the changes to both and compares all numbers. Returns how the parts were maintained."""
        self.whole.commit(
            [Operation(name, sign, to_table(rows, self.rules.relations[name])) for sign, name, rows in operations]
        )
        changed = self._changes_below()
        name = uuid.uuid4().hex[:12]
        with ThreadPoolExecutor(self.count) as pool:
            outcomes = list(pool.map(lambda part: self._step(part, name, changed), range(self.count)))
        self.is_new = False
        self.check()
        return {report.strategy for outcome in outcomes for report in outcome.report.strata}

    def load(self) -> None:
        """Replaces all engines by new ones that load the state of the old ones; nobody knows their highest ranks."""
        whole = LocalEngine(self.rules, strategy="update", track_state=True)
        whole.load({name: self.whole.state_table(name) for name in self.rules.relations})
        self.whole = whole
        fresh = [PartitionEngine(task, self.routing, self.options) for task in self.tasks]
        for part, (task, engine) in enumerate(zip(self.tasks, fresh)):
            states = {share.name: self._share(share.relation, share.cut) for share in task.shares}
            for name, columns in self.routing.copies.items():
                rows = pa.concat_tables(each.state_table(name) for each in self.engines)
                for column in columns:
                    states[copy_name(name, columns, column)] = rows_of_bucket(rows, column, self.count, part)
            engine.load(states)
        self.engines = fresh

    def check(self) -> None:
        for name, columns in self.routing.copies.items():
            expected = _numbers(self.whole.state_table(name))
            for column in columns:
                copy = copy_name(name, columns, column)
                parts = [_numbers(engine.state_table(copy)) for engine in self.engines]
                assert sum(map(len, parts)) == len(expected), copy
                assert {row: numbers for part in parts for row, numbers in part.items()} == expected, copy
                for part, engine in enumerate(self.engines):
                    table = engine.state_table(copy)
                    assert len(rows_of_bucket(table, column, self.count, part)) == len(table), "rows of another part"

    def close(self) -> None:
        for engine in (self.whole, *self.engines):
            engine.close()
        assert self.directory.remove is not None
        self.directory.remove()

    def _changes_below(self) -> dict[str, list[tuple[int, pa.Table]]]:
        """The committed changes of the relations below."""
        found = {}
        for name in {share.relation for task in self.tasks for share in task.shares}:
            table = self.whole.state_table(name)
            rows = set(_numbers(table))
            before = self._below.get(name, set())
            self._below[name] = rows
            relation = positional(self.rules.relations[name])
            found[name] = [
                (-1, to_table(sorted(before - rows), relation)),
                (+1, to_table(sorted(rows - before), relation)),
            ]
        return found

    def _step(self, part: int, name: str, changed: dict[str, list[tuple[int, pa.Table]]]) -> Outcome:
        engine = self.engines[part]
        exchange = Exchange(MessageFiles(self.directory, 0, name), self.count, part)
        exchange.begin()
        how = "bootstrap" if self.is_new else "update"
        engine.holder.link = Link(exchange, how, may_give_up=self.options.strategy != "update")
        operations = []
        for share in self.tasks[part].shares:
            for sign, table in changed[share.relation]:
                rows = table
                if share.cut is not None:
                    rows = rows_of_bucket(table, share.cut.column, share.cut.buckets, share.cut.bucket)
                if rows.num_rows:
                    operations.append(Operation(share.name, sign, rows))
        try:
            return engine.step(operations)
        except BaseException:
            exchange.stop("error")
            raise

    def _share(self, relation: str, cut: Any) -> pa.Table:
        table = self.whole.state_table(relation)
        table = table.rename_columns([f"c{i}" for i in range(table.num_columns - 4)] + table.column_names[-4:])
        return table if cut is None else rows_of_bucket(table, cut.column, cut.buckets, cut.bucket)


def _numbers(table: pa.Table) -> Numbers:
    columns = table.num_columns - 4
    rows = zip(*(table.column(place).to_pylist() for place in range(columns)), strict=True)
    numbers = zip(*(table.column(name).to_pylist() for name in NUMBERS), strict=True)
    return dict(zip(rows, numbers, strict=True))
