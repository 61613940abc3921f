"""The values of a group whose members have columns of a finer key: each counts once, however many members have it.

The words of all members lie in one scan tree, equal ones side by side; a value may be several words. Words are enough,
ids among them: an id belongs to its value while a member has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.strata.aggregates.scan_tree import ScanTree


class Turnover(NamedTuple):
    """The values that got their first member, and those that lost their last."""

    inserted: Words
    deleted: Words


class Distinct:
    """The values of one group, a line each."""

    __slots__ = ("_tree",)

    def __init__(self, words: Words) -> None:
        self._tree = ScanTree(words)

    def change(self, inserted: Words, deleted: Words) -> Turnover | None:
        """Inserts and deletes members; None if a deleted one was absent."""
        touched = np.unique(np.concatenate([inserted, deleted]), axis=0)
        before = self._tree.has(touched)
        self._tree.insert(inserted)
        if not self._tree.remove(deleted):
            return None
        after = self._tree.has(touched)
        return Turnover(touched[after & ~before], touched[before & ~after])
