"""Rows and bytes of every relation, as each epoch leaves them, for the cost of what it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.strata.joins import LocalStratum


class RelationSizes:
    """`rows` and `bytes` are copies: a report keeps those of its epoch."""

    def __init__(self, shown: Mapping[int, str], catalog: Catalog, known: RelationSizes | None = None) -> None:
        """`known` are those of the program before other rules."""
        self._shown = shown
        self._catalog = catalog
        self._rows: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        for number, name in shown.items():
            if known is not None and known._shown.get(number) == name:
                self._rows[name], self._bytes[name] = known._rows[name], known._bytes[name]
            else:
                self._measure(number)

    def after(self, visited: Iterable[LocalStratum]) -> tuple[dict[str, int], dict[str, int]]:
        """Rows and bytes per relation after an epoch that has come to these strata."""
        for stratum in visited:
            for number in stratum.relation_numbers:
                self._measure(number)
        # Rules arrange what they read, look-ups what they look at, and failed epochs leave room behind.
        for number in self._catalog.resized:
            self._measure(number)
        self._catalog.resized.clear()
        return dict(self._rows), dict(self._bytes)

    def _measure(self, number: int) -> None:
        name = self._shown.get(number)
        if name is not None:
            store = self._catalog.stores[number]
            self._rows[name], self._bytes[name] = len(store), store.bytes()
