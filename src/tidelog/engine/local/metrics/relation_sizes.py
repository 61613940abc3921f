"""Rows and bytes of every relation after each epoch, at the cost of the relations that it changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.strata.joins import LocalStratum


class RelationSizes:
    """`rows` and `bytes` are copies: a report holds those of its epoch."""

    def __init__(self, shown: Mapping[int, str], catalog: Catalog, known: RelationSizes | None = None) -> None:
        """Starts from `known`, the sizes under the rules before."""
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
        """Returns rows and bytes per relation after an epoch that visited these strata."""
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
