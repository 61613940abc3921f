"""The rows of a store as of one commit, read beside running epochs and after later commits; see `storage.versions`.

Nothing here waits for an epoch. A look-up uses the store's own index and arrangements where they can be read at the
moment, and scans the rows where they cannot: both give the same lines.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import committed_reads, entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.queries.later_lines import LaterLines
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.storage.store import FEW, Lines, Store, Words
from tidelog.engine.local.storage.versions import Change

_NO_LINES: Words = np.empty(0, dtype=np.int64)
_BUCKET = 256
_ROWS_AT_ONCE = 1 << 16
_TRIES = 3


class StoreAt:
    """One store as of a commit, which is the last one or pinned. Lines are 64-bit numbers."""

    def __init__(self, store: Store, commit: int) -> None:
        self.store = store
        self.columns = store.columns
        self._versions = store.versions
        self._pins = store.catalog.pins
        self._lock = Lock()
        self._seen = commit  # the changes up to this commit are in the next fields
        self._after: tuple[Change, ...] = ()
        self._later = LaterLines()
        self._back: Words = _NO_LINES  # lines deleted later
        self._back_words: Words | None = None
        self._numbers: tuple[Words, Words] | None = None

    def __len__(self) -> int:
        return self._pins.steady(self._count)

    def _count(self) -> int:
        after = self._catch_up()
        return self._versions.live - sum(len(change.inserted) - len(change.deleted) for change in after)

    def lines(self) -> Words:
        """Returns the lines of all rows."""
        return np.flatnonzero(self._present())

    def all_words(self) -> Words:
        """Returns a copy of the columns of all rows, each column in one piece, without more memory than that."""
        present, rows = self._present(), self.store.held_rows()
        copied: Words = np.empty((np.count_nonzero(present), self.columns), dtype=np.int64, order="F")
        block: Words = np.empty((_ROWS_AT_ONCE, self.columns), dtype=np.int64)
        end = 0
        for first in range(0, len(present), _ROWS_AT_ONCE):
            lines = np.flatnonzero(present[first : first + _ROWS_AT_ONCE]).astype(np.int32)
            lines += first
            part = block[: len(lines)]
            entry_points.gather(rows, lines, part)
            copied[end : end + len(lines)] = part
            end += len(lines)
        return copied

    def _present(self) -> npt.NDArray[np.bool_]:
        """Returns a byte for each line, 1 for those of the rows."""
        # The copy may have some rows of later commits. Whatever it has of them, what they changed is undone below, so
        # no turn has to wait until it is made.
        present = self._versions.settle(self.store).array[: self._versions.used].view(np.bool_).copy()
        back = self._pins.steady(self._lines_back)
        present[back] = True
        self._later.remove_from(present)
        return present

    def _lines_back(self) -> Words:
        self._catch_up()
        return self._back

    def words(self, lines: Words) -> Words:
        """Returns a copy of the columns of some rows."""
        rows = self.store.held_rows()
        if len(lines) <= FEW or not self.columns:
            few: Words = rows[lines, : self.columns]
            return few
        copied: Words = np.empty((len(lines), self.columns), dtype=np.int64)
        entry_points.gather(rows, np.ascontiguousarray(lines, dtype=np.int32), copied)
        return copied

    # Look-ups

    def find(self, row: Words) -> int:
        """Returns the line of a row, or -1; `row` may have more words than the columns."""
        found = self._pins.steady(lambda: self._find(row))
        if found is None:
            lines = self.scan(tuple(range(self.columns)), row[: self.columns])
            return int(lines[0]) if len(lines) else -1
        return found

    def _find(self, row: Words) -> int | None:
        """Returns the line of a row, or -1; None if the index cannot tell."""
        self._catch_up()
        store, moves = self.store, self._versions.index_moves
        if not store.is_indexed or moves & 1:
            return None
        line = int(committed_reads.find_line(store.slots, store.held_rows(), self.columns, row))
        if self._versions.index_moves != moves or not store.is_indexed:
            return None
        if line >= 0 and self._are_here(np.array([line]))[0]:
            return line
        return self._find_back(row)

    def _find_back(self, row: Words) -> int:
        lines = self._matching_back(tuple(range(self.columns)), row)
        return int(lines[0]) if len(lines) else -1

    def bucket(self, columns: tuple[int, ...], key: Words) -> Words | None:
        """Returns the lines of the rows with these words in these columns; None if no arrangement can tell."""
        for _ in range(_TRIES):
            found = self._pins.steady(lambda: self._bucket(columns, key))
            if found is not None:
                return found
            if self.arrangement(columns) is None:
                break
        return None

    def arrangement(self, columns: tuple[int, ...]) -> Arrangement | None:
        """Returns the store's arrangement by these columns, if there is one."""
        found = self.store.arrangements.get(self.store.catalog.known_arrangement(self.store.relation, columns))
        return found if isinstance(found, Arrangement) else None

    def _bucket(self, columns: tuple[int, ...], key: Words) -> Words | None:
        self._catch_up()
        arrangement = self.arrangement(columns)
        if arrangement is None or (moves := arrangement.moves) & 1:
            return None
        arrays = arrangement.table.array, arrangement.entries.array, arrangement.pool.array
        read, room = committed_reads.read_bucket, _BUCKET
        while True:
            lines: Lines = np.empty(room, dtype=np.int32)
            count = int(read(*arrays, key, lines))
            if count >= committed_reads.MOVED:
                break
            read, room = committed_reads.read_large_bucket, committed_reads.MOVED - count + _BUCKET
        if count == committed_reads.MOVED or arrangement.moves != moves:
            return None
        found = lines[: max(count, 0)].astype(np.int64)
        found = found[self._are_here(found)]
        back = self._matching_back(columns, key)
        return np.concatenate([found, back]) if len(back) else found

    def scan(self, columns: tuple[int, ...], key: Words) -> Words:
        """Returns the lines of the rows with these words in these columns, by reading all rows."""
        if not columns:
            return self.lines()
        used = self.store.held_rows()[: self._versions.used]
        (first, *others), (word, *words) = columns, key.tolist()
        lines: Words = np.flatnonzero(used[:, first] == word)
        for column, word in zip(others, words, strict=True):
            lines = lines[used[lines, column] == word]
        return self._pins.steady(lambda: self._of_these(lines))

    def _of_these(self, lines: Words) -> Words:
        self._catch_up()
        here = self._are_here(lines)
        if len(self._back):
            here |= np.isin(lines, self._back)
        found: Words = lines[here]
        return found

    def _are_here(self, lines: Words) -> npt.NDArray[np.bool_]:
        """Tells which of the lines are present now and were at the commit."""
        present = self._versions.settle(self.store).array
        within = lines < len(present)
        here: npt.NDArray[np.bool_] = within & (present[np.where(within, lines, 0)] != 0)
        return here & ~self._later.has(lines) if self._later else here

    def _matching_back(self, columns: tuple[int, ...], key: Words) -> Words:
        """Returns the lines of rows that were deleted after the commit and have these words in these columns."""
        if not len(self._back):
            return _NO_LINES
        words = self._back_words
        if words is None:
            words = self._back_words = self.words(self._back)
        matching = np.ones(len(words), dtype=np.bool_)
        for column, word in zip(columns, key.tolist()):
            matching &= words[:, column] == word
        return self._back[matching]

    def _catch_up(self) -> tuple[Change, ...]:
        """Takes note of the changes of later commits; returns all of them."""
        history = self._versions.history
        if not history or history[-1].commit <= self._seen:
            return self._after
        with self._lock:
            new = tuple(change for change in history if change.commit > self._seen)
            if new:
                self._later.add(new)
                deleted = np.concatenate([change.deleted for change in new]).astype(np.int64)
                deleted = deleted[~self._later.has(deleted)]
                self._back, words = np.concatenate([self._back, deleted]), self._back_words
                if words is not None:
                    self._back_words = np.concatenate([words, self.words(deleted)])
                self._numbers = None
                self._after = (*self._after, *new)
                self._seen = new[-1].commit
            return self._after

    # Numbers

    def ranks(self, lines: Words) -> Words:
        """Returns the ranks of some rows."""
        _, metas = self.numbers(lines)
        ranks: Words = (metas >> k.RANK_SHIFT) & k.RANK_MASK
        return ranks

    def numbers(self, lines: Words) -> tuple[Words, Words]:
        """Returns the totals and meta words of some rows, as they were at the commit."""
        return self._pins.steady(lambda: self._numbers_of(lines))

    def _numbers_of(self, lines: Words) -> tuple[Words, Words]:
        after = self._catch_up()
        block = self.store.held_rows()[lines]
        totals, metas = row_counts.totals(block, self.columns).copy(), row_counts.metas(block, self.columns).copy()
        touched = np.flatnonzero(metas & k.TOUCHED_BIT)
        if len(touched) and self.store.is_attached:
            log = self.store.held_log()  # of the epoch that runs: it may be long
            log = log[np.isin(log[:, k.LOGGED_LINE], lines[touched])]
            order = np.argsort(log[:, k.LOGGED_LINE], kind="stable")
            _take_logged(lines, totals, metas, log[order], touched)
        if after:
            if self._numbers is None:
                logs = np.concatenate([change.log for change in after])
                known, first = np.unique(logs[:, k.LOGGED_LINE], return_index=True)
                self._numbers = known, logs[first]
            _take_logged(lines, totals, metas, self._numbers[1], np.arange(len(lines)))
        return totals, metas


def _take_logged(lines: Words, totals: Words, metas: Words, log: Words, places: Words) -> None:
    """Sets the numbers at some places to those in a log that is sorted by line, where it has them."""
    if not len(log):
        return
    at = np.minimum(np.searchsorted(log[:, k.LOGGED_LINE], lines[places]), len(log) - 1)
    known = log[at, k.LOGGED_LINE] == lines[places]
    totals[places[known]] = log[at[known], k.LOGGED_TOTAL]
    metas[places[known]] = log[at[known], k.LOGGED_META]
