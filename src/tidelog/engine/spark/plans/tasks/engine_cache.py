"""Cache of the local engines that a Python process of Spark keeps between jobs.

Spark reuses its Python processes. To load a bucket's state costs many times as much as a small epoch, so a process
keeps the engines of the buckets that it ran last. An engine is returned only for the very state it is in, named by
the label of the attempt that made that state; the label of a failed or repeated attempt is never used again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

CACHED_ROWS = 8_000_000
"""The most rows that the engines of one process may have together, at about 100 bytes a row."""

Key = tuple[str | int, ...]


class EngineCache:
    """Engines by bucket, the last used last."""

    def __init__(self) -> None:
        self._engines: OrderedDict[Key, tuple[str, LocalEngine, int]] = OrderedDict()

    def has(self, key: Key, label: str) -> bool:
        """True if `take` would find an engine."""
        return key in self._engines and self._engines[key][0] == label

    def take(self, key: Key, label: str) -> LocalEngine | None:
        """Removes and returns the engine of a bucket if it is in the state of that label; `put` it back later."""
        found = self._engines.pop(key, None)
        return found[1] if found is not None and found[0] == label else None

    def put(self, key: Key, label: str, engine: LocalEngine) -> None:
        """Keeps an engine; removes those unused for longest when there are too many rows."""
        rows = sum(engine.count(name) for name in engine.program.relations)
        self._engines[key] = (label, engine, rows)
        while len(self._engines) > 1 and sum(kept[2] for kept in self._engines.values()) > CACHED_ROWS:
            self._engines.popitem(last=False)


ENGINES = EngineCache()
