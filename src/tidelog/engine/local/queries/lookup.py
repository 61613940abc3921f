"""Look-up of rows by their values, for readers: through an index, or by a scan while an index does not pay.

A large relation that was just loaded has no index, and building one takes as long as some ten scans. So the first
look-ups scan, and the index is built when more follow, or when an epoch needs it.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.layout import FREED, META, STAMP_SHIFT, USED
from tidelog.engine.local.storage.store import Store, Words

MANY_ROWS = 1_000_000
_SCANS = 10


def find_line(store: Store, row: Words) -> int:
    """Returns the line of a row, or -1."""
    if store.is_indexed or not store.columns or not _may_scan(store):
        return store.find(row)
    lines = scan(store, tuple(range(store.columns)), row[: store.columns])
    return int(lines[0]) if len(lines) else -1


def find_lines(store: Store, columns: tuple[int, ...], key: Words) -> Words:
    """Returns the lines of the rows with these words in these columns."""
    if not columns or store.catalog.arrangement(store.relation, columns) in store.arrangements or not _may_scan(store):
        return store.bucket(columns, key)
    return scan(store, columns, key)


def scan(store: Store, columns: tuple[int, ...], key: Words) -> Words:
    """Returns the lines of the rows with these words in these columns (at least one), by reading all rows."""
    used = store.rows[: int(store.line[USED])]
    (first, *others), (word, *words) = columns, key.tolist()
    lines: Words = np.flatnonzero(used[:, first] == word)
    for column, word in zip(others, words, strict=True):
        lines = lines[used[lines, column] == word]
    present: Words = lines[used[lines, store.columns + META] >> STAMP_SHIFT != FREED]
    return present


def _may_scan(store: Store) -> bool:
    store.scans += 1
    return len(store) >= MANY_ROWS and store.scans <= _SCANS
