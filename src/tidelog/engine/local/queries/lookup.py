"""Look-up of rows by their values, for readers: through an index, or by a scan while an index does not pay.

A large relation that was just loaded has no index, and building one takes as long as some ten scans. So the first
look-ups scan, and the index is built when more follow, or when an epoch needs it. Only an idle engine builds one;
beside an epoch a look-up scans, and the next epoch begins with the index that it missed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from tidelog.engine.local.queries.store_at import StoreAt
from tidelog.engine.local.storage.store import Store, Words

MANY_ROWS = 1_000_000
_SCANS = 10


class Indexer(Protocol):
    """Builds indexes of an engine's stores, when no epoch runs."""

    def idle(self) -> AbstractContextManager[bool]:
        """Keeps epochs from starting in the block; yields False if one runs."""

    def want(self, store: Store, columns: tuple[int, ...]) -> None:
        """Notes an arrangement to build before the next epoch."""


def find_line(at: StoreAt, row: Words, indexer: Indexer) -> int:
    """Returns the line of a row, or -1."""
    store = at.store
    if not store.is_indexed and store.columns and not _may_scan(store):
        _build(store, indexer, store.index)
    return at.find(row)


def find_lines(at: StoreAt, columns: tuple[int, ...], key: Words, indexer: Indexer) -> Words:
    """Returns the lines of the rows with these words in these columns (at least one)."""
    found = at.bucket(columns, key)
    if found is None and at.arrangement(columns) is None and not _may_scan(at.store):
        if _build(at.store, indexer, lambda: at.store.arrange_for_readers(columns)):
            found = at.bucket(columns, key)
        else:
            indexer.want(at.store, columns)
    return at.scan(columns, key) if found is None else found


def _build(store: Store, indexer: Indexer, build: Callable[[], None]) -> bool:
    """Builds an index, if no epoch runs and the store is not one of an earlier commit."""
    with indexer.idle() as is_idle:
        if is_idle and store.is_attached:
            build()
            return True
    return False


def _may_scan(store: Store) -> bool:
    store.scans += 1
    return store.versions.live >= MANY_ROWS and store.scans <= _SCANS
