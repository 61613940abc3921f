"""Versions of a relation's rows by commit: what readers of the last commit, and of earlier ones, need beside the rows.

Columns of a row never change: they are written when a line is taken, and a line is taken again only after it was freed.
So a version of a relation is a set of lines. `present` has a byte for each line, 1 if the last commit has a row there;
only a commit changes it. While an earlier commit is pinned, each later one leaves a `Change`: the lines that it
inserted and deleted, and the numbers that rows had before it. Deleted lines are not freed until no pin needs them.

    rows at a pinned commit  =  present lines  -  lines inserted after it  +  lines deleted after it

A commit and its readers share one moment, the *turn*: stamps become 0, deleted rows leave the index, `present` changes.
Readers do not lock the turn out. They read, and read again if a turn has begun meanwhile (`Pins.steady`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, RLock
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels.layout import (
    CAPACITY,
    FREED,
    LIVE,
    META,
    PRESENT,
    STAMP_SHIFT,
    USED,
)
from tidelog.engine.local.storage.growable_array import Growing

if TYPE_CHECKING:
    from tidelog.engine.local.storage.store import Store

Words = npt.NDArray[np.int64]
Lines = npt.NDArray[np.int32]
Result = TypeVar("Result")
_TRIES = 4
_NO_ROWS = Growing(np.uint8, 1)


@dataclass(frozen=True)
class Change:
    """The effect of one commit on a relation. `log` has lines with their numbers before it (`layout.LOGGED_LINE` …).

    `used` is the number of lines before it: rows in lines from there on are of this commit or of later ones.
    """

    commit: int
    used: int
    inserted: Lines
    deleted: Lines
    log: Words

    @cached_property
    def reused(self) -> Lines:
        """The lines of inserted rows that other rows had before: few, where a commit inserts many rows."""
        return self.inserted[self.inserted < self.used]

    @property
    def bytes(self) -> int:
        return self.inserted.nbytes + self.deleted.nbytes + self.log.nbytes


class Versions:
    """The committed lines of one store. `used` and `live` are its numbers of lines and of rows at the last commit.

    `history` has the changes of later commits than the oldest pinned one, in their order; the list itself never
    changes, another one replaces it. `index_moves` is odd while slots of the index move outside a turn.
    """

    __slots__ = ("history", "index_moves", "is_published", "live", "present", "used")

    def __init__(self) -> None:
        self.present: Growing[np.uint8] | None = None
        self.used = self.live = self.index_moves = 0
        self.history: tuple[Change, ...] = ()
        self.is_published = False

    def adopt(self, used: int, live: int) -> None:
        """Takes loaded rows for committed; which lines they are is looked up when somebody needs it (`settle`)."""
        self.used, self.live, self.is_published, self.present = used, live, True, None

    def settle(self, store: Store) -> Growing[np.uint8]:
        """Returns the bytes of the lines. Those of loaded rows are read from stamps, before an epoch changes any."""
        present = self.present
        if not self.is_published:
            return _NO_ROWS
        if present is None:
            with store.catalog.pins.turn:
                present = self.present
                if present is None:
                    present = Growing(np.uint8, max(int(store.line[CAPACITY]), self.used, 1))
                    stamps = store.rows[: self.used, store.columns + META] >> STAMP_SHIFT
                    present.array[: self.used] = stamps != FREED
                    store.line[PRESENT] = present.address
                    self.present = present
        return present

    def publish(self, store: Store) -> None:
        """Takes all rows of a store without changes under way for committed."""
        line = store.line
        used = int(line[USED])
        self.present = Growing(np.uint8, max(int(line[CAPACITY]), 1))
        self.present.array[:used] = 1
        self.present.array[store.free_lines()] = 0
        line[PRESENT] = self.present.address
        self.used, self.live, self.is_published = used, int(line[LIVE]), True

    def make_room(self, store: Store) -> None:
        """Makes room for a byte of each line of a published store: in other memory, since readers may be here."""
        line = store.line
        before = self.settle(store) if self.present is None else self.present
        capacity = line.item(CAPACITY)
        if len(before.array) < capacity:
            fresh = Growing(np.uint8, max(capacity, 2 * len(before.array)))
            fresh.array[: self.used] = before.array[: self.used]
            fresh.array[self.used : line.item(USED)] = 0  # written in the turn: it is not to wait for memory
            line[PRESENT] = fresh.address
            self.present = fresh

    def before_commit(self, store: Store) -> Change | None:
        """Prepares a commit of a published store; returns the change to keep, if a pin needs it."""
        if self.present is None or len(self.present.array) < store.line.item(CAPACITY):
            self.make_room(store)
        pins = store.catalog.pins
        if not pins.is_pinned:
            return None
        arrays = store.inserted_lines(), store.deleted_lines(), store.logged()
        if not store.gives_overlay_away:
            inserted, deleted, log = arrays
            arrays = inserted.copy(), deleted.copy(), log.copy()
        return Change(pins.commits + 1, self.used, *arrays)

    def after_commit(self, store: Store, change: Change | None) -> None:
        line = store.line
        self.used, self.live = line.item(USED), line.item(LIVE)
        if change is not None:
            self.history = (*self.history, change)
            store.catalog.pins.keeping.add(store)

    def held_lines(self) -> Words:
        """Returns the lines without rows that are not free, because a pin may need them."""
        if not self.history:
            return np.empty(0, dtype=np.int64)
        return np.concatenate([change.deleted for change in self.history]).astype(np.int64)

    def forget(self, store: Store, oldest: int | None) -> None:
        """Drops the changes that no pin needs, and frees their lines; see `Keeper.forget`."""
        stay = () if oldest is None else tuple(change for change in self.history if change.commit > oldest)
        dropped = self.history[: len(self.history) - len(stay)]
        self.history = stay
        for change in dropped:
            if len(change.deleted) and store.is_attached:
                store.give_lines_back(change.deleted.astype(np.int64))

    def kept_bytes(self, row_bytes: int) -> int:
        """Returns the bytes of the changes, and of the rows in the lines that are not free because of them."""
        return sum(change.bytes + len(change.deleted) * row_bytes for change in self.history)


class Keeper(Protocol):
    """A relation with changes that pins need."""

    def forget(self, oldest: int | None) -> bool:
        """Drops the changes that are not later than the oldest pinned commit; returns False if some are left. Not while
        an epoch runs.
        """

    def kept_bytes(self) -> int:
        """Returns the bytes of the changes."""


class Pins:
    """The pinned commits of an engine, and the turn. `commits` counts the commits of the engine so far.

    Two locks, always taken in this order: `still` keeps turns waiting, `turn` is the turn itself. A long read that
    turns have disturbed again and again takes the first one alone: the next commit waits for it, but no other reader.
    """

    def __init__(self) -> None:
        self.still = RLock()
        self.turn = RLock()
        self.sequence = 0  # odd while the turn lasts
        self.commits = 0
        self.made = 0
        self.is_pinned = False
        self.keeping: set[Keeper] = set()
        self._lock = Lock()
        self._held: dict[int, int] = {}
        self._depth = 0

    def hold(self, commit: int) -> None:
        """Pins a commit, once more; the caller has the turn, or the commit is pinned already."""
        with self._lock:
            self._held[commit] = self._held.get(commit, 0) + 1
            self.made += 1
            self.is_pinned = True

    def release(self, commit: int) -> bool:
        """Ends one pin of a commit; returns True if that was the last one."""
        with self._lock:
            left = self._held[commit] - 1
            if left:
                self._held[commit] = left
            else:
                del self._held[commit]
                self.is_pinned = bool(self._held)
            return not left

    def is_held(self, commit: int) -> bool:
        """True if a commit is pinned."""
        return commit in self._held

    def oldest(self) -> int | None:
        """Returns the oldest pinned commit."""
        with self._lock:
            return min(self._held, default=None)

    def forget(self) -> None:
        """Frees what no pin needs any more. Not while an epoch runs."""
        if self.keeping:
            oldest = self.oldest()
            self.keeping = {each for each in self.keeping if not each.forget(oldest)}

    def kept_bytes(self) -> int:
        """Returns the bytes of all changes that are kept."""
        return sum(each.kept_bytes() for each in list(self.keeping))

    def turning(self) -> Pins:
        """Returns the block in which the committed state changes; nested blocks are one."""
        return self

    def __enter__(self) -> None:
        self.still.acquire()
        self.turn.acquire()
        self._depth += 1
        if self._depth == 1:
            self.sequence += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.sequence += 1
        self.turn.release()
        self.still.release()

    def steady(self, read: Callable[[], Result]) -> Result:
        """Returns the result of a read during which no turn began: reads again, and at last keeps turns waiting."""
        for _ in range(_TRIES):
            sequence = self.sequence
            if sequence & 1:
                with self.turn:
                    continue
            try:
                found = read()
            except IndexError:
                if self.sequence == sequence:
                    raise
                continue
            if self.sequence == sequence:
                return found
        with self.still:
            return read()
