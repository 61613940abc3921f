"""One history on two engines: the same changes and the same relations after every epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.engine.spark.programs import rules_of

import tidelog
from tidelog.database.database import Database
from tidelog.database.locked_engine import declared
from tidelog.engine.interface import EpochReport
from tidelog.engine.spark.engine import SparkEngine
from tidelog.rules.ir import Role

Rows = Sequence[Any]
Step = tuple[Mapping[str, Rows], Mapping[str, Rows]]
"""What to insert and what to delete, by relation; deletes come first."""


def open_on_spark(text: str, spark: Any, **options: Any) -> Database:
    rules = rules_of(text)
    return Database(rules, SparkEngine(rules, spark=spark, **options))


def write(database: Database, step: Step) -> tidelog.Transaction:
    inserts, deletes = step
    with database.transaction() as tx:
        for name, rows in deletes.items():
            tx.delete(name, rows)
        for name, rows in inserts.items():
            tx.insert(name, rows)
    return tx


def parity(text: str, steps: Sequence[Step], spark: Any, **options: Any) -> list[EpochReport]:
    """Runs the steps on both engines and returns the reports of the Spark engine, that of opening first."""
    rules = rules_of(text)
    outputs = list(declared(rules, Role.OUTPUT))
    with tidelog.compile(text).open() as local, open_on_spark(text, spark, **options) as remote:
        assert [list(local.initial[name]) for name in outputs] == [list(remote.initial[name]) for name in outputs]
        reports = [remote.report]
        for number, step in enumerate(steps):
            expected, found = write(local, step), write(remote, step)
            for name in outputs:
                assert list(expected.changes[name]) == list(found.changes[name]), f"{name} in step {number}"
            for name in declared(rules):
                assert local.relation(name).rows() == remote.relation(name).rows(), f"{name} after step {number}"
                assert len(local.relation(name)) == len(remote.relation(name))
            assert (expected.report is None) == (found.report is None)
            if found.report is not None:
                reports.append(found.report)
        return reports
