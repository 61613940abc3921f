"""The memory of a stratum's groups, which kernels read and change (`kernels/group_table`): 16 bytes and 1.3 to 2.7
slots of a word for each group.

The table is built by a Bootstrap, or from the stored rows when a database that was opened first changes. An epoch
changes sizes at once and notes each group that it touches, so that it can be rolled back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import group_table as kernels
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.engine.local.storage.store import Store

Numbers = npt.NDArray[np.int32]
_SMALLEST = 64


def _nothing() -> Numbers:
    return np.empty((0, kernels.NOTED), dtype=np.int32)


@dataclass(slots=True)
class Touched:
    """The groups that an epoch touches, as they were before it, and the place of each changed member's group."""

    noted: Numbers = field(default_factory=_nothing)
    codes: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.noted)

    @property
    def groups(self) -> Numbers:
        return self.noted[:, kernels.GROUP]

    @property
    def is_old(self) -> npt.NDArray[np.bool_]:
        """True for each group that had a row before the epoch."""
        return self.noted[:, kernels.OLD_LINE] >= 0


class GroupTable:
    """The groups of one stratum, by the first `keys` columns of both relations."""

    def __init__(self, catalog: Catalog, members: int, groups: int, keys: int) -> None:
        self._catalog = catalog
        self._members = members
        self._groups = groups
        self._keys = keys
        self._header: Words = np.zeros(kernels.HEADER_WORDS, dtype=np.int64)
        self._slots: Growing[np.int64] = Growing(np.int64, 2 * _SMALLEST)
        self._entries: Growing[np.int32] = Growing(np.int32, _SMALLEST, width=kernels.ENTRY_NUMBERS)
        self.touched = Touched()

    def __len__(self) -> int:
        return int(self._header[kernels.GROUPS])

    def bytes(self) -> int:
        """Returns the bytes of memory in use."""
        return 8 * len(self._slots) + 4 * kernels.ENTRY_NUMBERS * int(self._header[kernels.ENTRIES_USED])

    @property
    def _stores(self) -> tuple[Store, Store]:
        stores = self._catalog.stores
        return stores[self._members], stores[self._groups]

    def adopt(self) -> None:
        """Fills the empty table from the committed rows of both relations, while an epoch runs."""
        members, groups = self._stores
        lines = groups.lines().astype(np.int32)
        self._make_room(len(lines))
        where = self._catalog.S, self._members, self._groups, self._keys
        kernels.adopt_groups(*where, self._header, self._slots.array, self._entries.array, lines)
        stamps = members.rows[: int(members.line[k.USED]), members.columns + k.META] >> k.STAMP_SHIFT
        before = np.flatnonzero(stamps <= 0).astype(np.int32)
        kernels.count_members(*where, self._slots.array, self._entries.array, before)

    def touch(self, inserted: Numbers, deleted: Numbers) -> Touched:
        """Inserts and deletes members, given by their lines; returns the touched groups."""
        codes = np.empty(len(inserted) + len(deleted), dtype=np.int32)
        noted = np.empty((len(codes), kernels.NOTED), dtype=np.int32)
        self._header[kernels.TOUCHED_COUNT] = 0
        try:
            self._touch(inserted, 1, codes[: len(inserted)], noted)
            self._touch(deleted, -1, codes[len(inserted) :], noted)
        finally:
            noted = noted[: int(self._header[kernels.TOUCHED_COUNT])]
            self.touched = Touched(noted, codes)
            self._entries.array[noted[:, kernels.GROUP], kernels.TOUCHED] = 0
        return self.touched

    def _touch(self, lines: Numbers, change: int, codes: Numbers, noted: Numbers) -> None:
        done = 0
        while done < len(lines):
            slots, entries = self._slots.array, self._entries.array
            where = self._catalog.S, self._members, self._groups, self._keys
            done = kernels.touch_groups(*where, self._header, slots, entries, lines, done, change, codes, noted)
            if done < len(lines):
                # As many as there will be if it goes on like this, but not too many at a time.
                expected = len(self) * len(lines) // max(done, 1)
                self._make_room(min(max(expected, 2 * len(self)), 8 * len(self)))

    def sizes(self) -> Numbers:
        """Returns the members of each touched group, with those of this epoch."""
        sizes: Numbers = self._entries.array[self.touched.groups, kernels.SIZE]
        return sizes

    def read(self, columns: int) -> Words:
        """Returns the row of each touched group before the epoch; of a new one, its key and zeros."""
        rows = np.empty((len(self.touched), columns), dtype=np.int64)
        kernels.read_groups(self._catalog.S, self._members, self._groups, self._keys, self.touched.noted, rows)
        return rows

    def link(self, places: npt.NDArray[np.intp], lines: Words) -> None:
        """Sets the new rows of the touched groups at some places."""
        self._entries.array[self.touched.groups[places], kernels.LINE] = lines

    def commit(self) -> None:
        """Drops the groups that have no members any more."""
        if len(self.touched):
            self._drop(self.touched.groups[self.sizes() == 0])
            self.touched = Touched()

    def roll_back(self) -> None:
        """Undoes the changes of the epoch."""
        noted = self.touched.noted
        entries = self._entries.array
        entries[noted[:, kernels.GROUP], kernels.SIZE] = noted[:, kernels.OLD_SIZE]
        entries[noted[:, kernels.GROUP], kernels.LINE] = noted[:, kernels.OLD_LINE]
        self._drop(noted[~self.touched.is_old, kernels.GROUP])
        self.touched = Touched()

    def _drop(self, groups: Numbers) -> None:
        dropped = np.ascontiguousarray(groups)
        kernels.drop_groups(self._header, self._slots.array, self._entries.array, dropped)

    def _make_room(self, groups: int) -> None:
        """Makes room for so many groups."""
        self._entries.make_room(groups)
        if 3 * len(self._slots) < 4 * (groups + 1):
            old = self._slots.array
            self._slots = Growing(np.int64, 3 * (groups + 1) // 2)
            kernels.move_groups(old, self._slots.array)
