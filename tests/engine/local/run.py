"""A program on the local engine, written to and read through Python rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tidelog
from tidelog.engine.interface import EpochReport, Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.maintain.limits import Limits

Rows = list[tuple[Any, ...]]
Weights = dict[tuple[Any, ...], int]


class Running:
    """`initial` and what `commit` returns are the changes of output relations: row → change of weight."""

    def __init__(self, text: str, limits: Limits | None = None, strategy: str = "elastic", **options: Any) -> None:
        self.program = tidelog.compile(text, **options)
        self.engine = LocalEngine(self.program.stages.rules, limits=limits, strategy=strategy)
        opening = self.engine.open()
        self.initial = {name: dict(change.weights()) for name, change in opening.changes.items()}
        self.report: EpochReport = opening.report

    def commit(self, insert: Mapping[str, Rows] | None = None, delete: Mapping[str, Rows] | None = None) -> Any:
        """The changes of one epoch, or None where there was none."""
        operations = [Operation(name, -1, rows) for name, rows in (delete or {}).items()]
        operations += [Operation(name, +1, rows) for name, rows in (insert or {}).items()]
        outcome = self.engine.commit(operations)
        if outcome is None:
            return None
        self.report = outcome.report
        return {name: dict(change.weights()) for name, change in outcome.changes.items()}

    def rows(self, relation: str) -> Weights:
        return dict(self.engine.rows(relation))
