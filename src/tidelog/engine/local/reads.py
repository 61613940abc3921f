"""The state of a local engine as of one commit, for readers in any thread, beside epochs and after later commits.

Nothing is copied: rows are read where they lie (`queries.store_at`). While a reader holds the commit, later commits
keep what it needs (`storage.versions`), a Bootstrap leaves the old stores to it, and no interned value is freed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.engine.interface import Row
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.epoch.changes import no_session
from tidelog.engine.local.epoch.net_operations import bag_to_rows
from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.lookup import Indexer, find_line, find_lines
from tidelog.engine.local.queries.queries import LocalQueries
from tidelog.engine.local.queries.store_at import StoreAt
from tidelog.engine.local.runtime import Runtime
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.versions import Pins
from tidelog.rules.ir import Kind, RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet


class LocalReads:
    """See `engine.interface.Reads`. Made in a turn; all readers of the commit share it."""

    def __init__(
        self,
        epoch: int,
        runtime: Runtime,
        rules: RuleSet | None,
        stores: Mapping[int, Store],
        pins: Pins,
        values: Values,
        indexer: Indexer,
    ) -> None:
        self.epoch = epoch
        self.program: RuleProgram = runtime.program
        self.rules = rules
        self._runtime = runtime
        self._stores = stores
        self._pins = pins
        self._commit = pins.commits
        self._values = values
        self._indexer = indexer
        self._at: dict[str, StoreAt] = {}
        self._lock = Lock()
        self._queries: LocalQueries | None = None
        self._is_retired = False

    def hold(self) -> LocalReads:
        """Pins the commit, once more; the caller has the turn, or has pinned it."""
        self._pins.hold(self._commit)
        return self

    def release(self) -> None:
        """Ends one pin."""
        if self._pins.release(self._commit) and self._is_retired and not self._pins.is_held(self._commit):
            # Between the two, somebody may have pinned the commit, and another commit may have followed.
            self._let_go()
        if self._pins.keeping:
            with self._indexer.idle() as is_idle:
                if is_idle:
                    self._pins.forget()

    def retire(self) -> None:
        """Notes that this state is the last one no more: with its last pin, stores go that a Bootstrap has replaced,
        and copies for queries."""
        self._is_retired = True
        if not self._pins.is_held(self._commit):
            self._let_go()

    def _let_go(self) -> None:
        """Breaks the cycle of this object and its queries, which would keep the memory until Python looks for it."""
        with self._lock:
            self._stores, self._at, self._queries = {}, {}, None

    def table(self, relation: str) -> pa.Table:
        return self._values.words_to_table(
            self.at(relation).all_words(), self.program.relations[relation], may_keep=True
        )

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        declared = self.program.relations[relation]
        if declared.kind is not Kind.SET and relation in self._runtime.weighted:
            return bag_to_rows(self._view.bag(relation), declared, self._values)
        return [(row, 1) for row in self._values.words_to_rows(self.at(relation).all_words(), declared)]

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        at, declared = self.at(relation), self.program.relations[relation]
        words = [self._values.find(value, declared.columns[i].type) for i, value in zip(columns, key, strict=True)]
        if any(word is None for word in words):
            return []
        if not columns:
            return [row for row, _ in self.rows(relation)]
        lines = find_lines(at, columns, np.array(words, dtype=np.int64), self._indexer)
        return self._values.words_to_rows(at.words(lines), declared)

    def frame(self, relation: str) -> Any:
        raise no_session()

    def count(self, relation: str) -> int:
        return len(self.at(relation))

    def contains(self, relation: str, row: Row) -> bool:
        columns = self.program.relations[relation].columns
        words = [self._values.find(value, column.type) for value, column in zip(row, columns, strict=True)]
        if any(word is None for word in words):
            return False
        return find_line(self.at(relation), np.array([*words, 0], dtype=np.int64), self._indexer) >= 0

    def queries(self) -> LocalQueries:
        with self._lock:
            if self._queries is None:
                self._queries = self._made_queries()
            return self._queries

    def at(self, relation: str) -> StoreAt:
        """Returns the store of a relation as of the commit."""
        found = self._at.get(relation)
        if found is None:
            found = self._at.setdefault(relation, StoreAt(self._stores[self._runtime.numbers[relation]], self._commit))
        return found

    def stores(self) -> Iterable[Store]:
        """Returns the stores of the commit."""
        return self._stores.values()

    def copied_bytes(self) -> int:
        """Returns the bytes of copies for queries."""
        queries = self._queries
        return 0 if queries is None else queries.bytes()

    @property
    def _view(self) -> CommittedView:
        return self.queries().committed

    def _made_queries(self) -> LocalQueries:
        runtime = self._runtime
        view = CommittedView(
            runtime.program,
            self._commit,
            self._pins,
            runtime.numbers,
            self.at,
            self._values,
            {name: runtime.tables[name] for name in runtime.weighted},
            runtime.copies,
            self._indexer,
            frozenset(name for stratum in runtime.strata for name in stratum.on_demand),
        )
        return LocalQueries(view, runtime.strata)
