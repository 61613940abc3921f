"""Rules that kernels run from scratch, into stores that no other stratum reads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.plan_cache import IN_BOOTSTRAP
from tidelog.engine.local.kernels import entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.maintain.limits import NO_LIMIT
from tidelog.rules.ir import Rule


class DividedError(EvaluationError):
    """A rule divides by zero; only the rounds know whether they evaluate that."""


class ScratchRows(LocalStratum):
    """The rows of some relations, derived at once. After an error `roll_back` must follow."""

    def derive(self, facts: Mapping[str, Words]) -> None:
        """Derives all rows from the relations below and these facts, beside the rows that there are."""
        for relation in self._inside.tolist():
            self.replaced[relation] = self.catalog.replace(relation)
            self.catalog.stores[relation].line[k.CHANGED] = 1
        for name, rows in facts.items():
            self.insert(self.numbers[name], rows)
        self._prepare(IN_BOOTSTRAP)
        born = self._run(k.INSERT, None, logging=False)
        assert born is not None
        self.work = self.instances = born + sum(map(len, facts.values()))
        for store in self.stores():
            store.finish_alone()
            store.line[k.CHANGED] = 0

    def insert(self, relation: int, rows: Words) -> None:
        """Inserts rows with the next wave, none of which is present."""
        if len(rows):
            self.catalog.stores[relation].make_room(len(rows))
            entry_points.insert_facts(self.catalog.S, relation, np.ascontiguousarray(rows), 0)

    def forget(self) -> None:
        """Drops all rows."""
        for relation in self._inside.tolist():
            self.catalog.stores[relation] = Store(self.catalog, relation, self.catalog.stores[relation].columns)

    def division(self, rule: Rule, error: ZeroDivisionError | None = None) -> EvaluationError:
        return DividedError(str(super().division(rule, error)), code="E601")

    def _last_round(self) -> int:
        return NO_LIMIT
