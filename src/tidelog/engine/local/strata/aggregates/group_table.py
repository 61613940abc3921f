"""The memory of a stratum's groups, which kernels read and change (`kernels/group_table`): 16 bytes and 1.3 to 2.7
slots of a word for each group, and 8 bytes for each member if groups are read again.

The table is built by a Bootstrap, or from the stored rows when a database that was opened first changes. An epoch
changes sizes at once and notes each group that it touches, so that it can be rolled back. The lists of members change
when it is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from weakref import ref

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import group_table as kernels
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.aggregates.value_counts import ValueCounts

Numbers = npt.NDArray[np.int32]
_SMALLEST = 64
MANY = 1 << 14
"""From so many members on, a Bootstrap looks for dense keys."""

_SAMPLE, _WIDER, _FEW_NUMBERS = 1 << 12, 64, 1 << 16
_FIRST, _LAST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


def _nothing() -> Numbers:
    return np.empty((0, kernels.NOTED), dtype=np.int32)


def _no_lines() -> Numbers:
    return np.empty(0, dtype=np.int32)


@dataclass(slots=True)
class Touched:
    """The groups that an epoch touches, as they were before it, and the place of each changed member's group.

    `lines` are those of the changed members, inserted ones first; `is_linked`: they are in the lists of their groups.
    """

    noted: Numbers = field(default_factory=_nothing)
    codes: Numbers = field(default_factory=_no_lines)
    lines: Numbers = field(default_factory=_no_lines)
    inserted: int = 0
    is_linked: bool = False

    def __len__(self) -> int:
        return len(self.noted)

    @property
    def groups(self) -> Numbers:
        return self.noted[:, kernels.GROUP]

    @property
    def is_old(self) -> npt.NDArray[np.bool_]:
        """True for each group that had a row before the epoch."""
        return self.noted[:, kernels.OLD_LINE] >= 0


@dataclass(frozen=True, slots=True)
class DenseKeys:
    """Numbers of keys whose words lie within spans, as `kernels/dense_arrangement` makes them, and by number the group,
    from 1. A word outside its span has no number, and is looked up by its hash."""

    spans: Words
    factors: Words
    places: Numbers

    @classmethod
    def of(cls, sample: Words, members: int) -> DenseKeys | None:
        """Returns the numbers for so many members, of which some keys are given; None if they are sparse."""
        least, most = sample.min(axis=0).tolist(), sample.max(axis=0).tolist()
        spans = []
        for low, high in zip(least, most):
            # Words that the sample has missed are mostly near, and ids mostly begin with 0.
            wider = (high - low) // _WIDER
            spans.append((0 if 0 <= low <= wider else max(low - wider, _FIRST), min(high + wider, _LAST)))
        lengths = [high - low + 1 for low, high in spans]
        if prod(lengths) > max(members, _FEW_NUMBERS):
            return None
        factors = [prod(lengths[place + 1 :]) for place in range(len(lengths))]
        return cls(
            np.array(spans, dtype=np.int64), np.array(factors, dtype=np.int64), np.zeros(prod(lengths), dtype=np.int32)
        )


class GroupTable:
    """The groups of one stratum, by the first columns of their relation, which are these `columns` of the members.

    `lists`: the members of a group can be read.
    """

    def __init__(self, catalog: Catalog, members: int, groups: int, columns: Sequence[int], *, lists: bool) -> None:
        self._catalog = catalog
        self._members = members
        self._groups = groups
        self._columns: Words = np.array(columns, dtype=np.int64)
        self._lists = lists
        self._links: Growing[np.int32] = Growing(np.int32, width=kernels.LINKS)
        self._linked: ref[Store] | None = None  # the store whose lines the lists have
        self._header: Words = np.zeros(kernels.HEADER_WORDS, dtype=np.int64)
        self._slots: Growing[np.int64] = Growing(np.int64, 2 * _SMALLEST)
        self._entries: Growing[np.int32] = Growing(np.int32, _SMALLEST, width=kernels.ENTRY_NUMBERS)
        self.touched = Touched()
        self.values: ValueCounts | None = None

    def __len__(self) -> int:
        return int(self._header[kernels.GROUPS])

    def bytes(self) -> int:
        """Returns the bytes of memory in use."""
        numbers = kernels.ENTRY_NUMBERS * int(self._header[kernels.ENTRIES_USED])
        if self._lists:
            numbers += kernels.LINKS * min(len(self._links), int(self._stores[0].line[k.USED]))
        return 8 * len(self._slots) + 4 * numbers + (self.values.bytes() if self.values else 0)

    @property
    def _stores(self) -> tuple[Store, Store]:
        stores = self._catalog.stores
        return stores[self._members], stores[self._groups]

    @property
    def _where(self) -> tuple[Words, int, int, Words]:
        return self._catalog.S, self._members, self._groups, self._columns

    def adopt(self) -> None:
        """Fills the empty table from the committed rows of both relations, while an epoch runs."""
        _, groups = self._stores
        lines = groups.lines().astype(np.int32)
        self._make_room(len(lines))
        kernels.adopt_groups(*self._where, self._header, self._slots.array, self._entries.array, lines)
        self._adopt_members(1)

    def members_before(self) -> Numbers:
        """Returns the lines of all members of the last commit, while an epoch runs."""
        members, _ = self._stores
        stamps = members.rows[: int(members.line[k.USED]), members.columns + k.META] >> k.STAMP_SHIFT
        return np.flatnonzero(stamps <= 0).astype(np.int32)

    def _adopt_members(self, change: int) -> None:
        """Adds this to the sizes of groups for each member of the last commit, and makes lists of them."""
        members, _ = self._stores
        before = self.members_before()
        links = self._links_to(members)
        kernels.adopt_members(*self._where, self._slots.array, self._entries.array, links, before, change)

    def _links_to(self, members: Store) -> Numbers:
        """Returns room for the lists of all members, whose lines may have changed."""
        if self._lists:
            self._links.make_room(int(members.line[k.USED]))
            self._linked = ref(members)
        return self._links.array

    def start(self, lines: Numbers) -> Touched:
        """Inserts all members, given by their lines, into the empty table; returns the groups."""
        members, _ = self._stores
        return self._touch_all(lines, lines[:0], self._links_to(members), self._dense_keys(lines))

    def _dense_keys(self, lines: Numbers) -> DenseKeys | None:
        """Returns the numbers of keys for members in these lines, judged by some of them; None if they are sparse."""
        if len(lines) < MANY or not len(self._columns):
            return None
        members, _ = self._stores
        sample = lines[:: max(len(lines) // _SAMPLE, 1)]
        return DenseKeys.of(members.rows[sample][:, self._columns], len(lines))

    def touch(self, inserted: Numbers, deleted: Numbers) -> Touched:
        """Inserts and deletes members, given by their lines; returns the touched groups."""
        members, _ = self._stores
        if self._lists and (self._linked is None or self._linked() is not members):
            # A Bootstrap has given the members other lines.
            self._entries.array[:, kernels.FIRST] = 0
            self._adopt_members(0)
        return self._touch_all(inserted, deleted, self._links.array[:0])

    def _touch_all(
        self, inserted: Numbers, deleted: Numbers, links: Numbers, dense: DenseKeys | None = None
    ) -> Touched:
        lines = np.concatenate([inserted, deleted])
        codes = np.empty(len(lines), dtype=np.int32)
        noted = np.empty((len(lines), kernels.NOTED), dtype=np.int32)
        count = len(inserted)
        self._header[kernels.TOUCHED_COUNT] = 0
        try:
            self._touch(lines[:count], 1, codes[:count], noted, links, dense)
            self._touch(lines[count:], -1, codes[count:], noted, links)
        finally:
            noted = noted[: int(self._header[kernels.TOUCHED_COUNT])]
            self.touched = Touched(noted, codes, lines, count, is_linked=len(links) > 0)
            self._entries.array[noted[:, kernels.GROUP], kernels.TOUCHED] = 0
        return self.touched

    def _touch(
        self,
        lines: Numbers,
        change: int,
        codes: Numbers,
        noted: Numbers,
        links: Numbers,
        dense: DenseKeys | None = None,
    ) -> None:
        done = 0
        numbers: Words = np.empty(kernels.AT_ONCE, dtype=np.int64)
        while done < len(lines):
            memory = self._header, self._slots.array, self._entries.array, links
            if dense is None:
                done = kernels.touch_groups(*self._where, *memory, lines, done, change, codes, noted)
            else:
                keys = dense.spans, dense.factors, dense.places
                done = kernels.touch_dense(*self._where, *memory, lines, done, codes, noted, *keys, numbers)
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
        kernels.read_groups(*self._where, self.touched.noted, rows)
        return rows

    def members_of(self, places: npt.NDArray[np.intp], count: int) -> tuple[Numbers, Numbers]:
        """Returns the lines of the members of the touched groups at some places, so many with those of this epoch, and
        the number of each one's place."""
        touched = self.touched
        lines, codes = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
        groups = touched.groups[places]
        found = kernels.read_members(
            self._catalog.S, self._members, self._entries.array, self._links.array, groups, lines, codes
        )
        if not touched.is_linked and touched.inserted:
            number = np.full(len(touched), -1, dtype=np.int32)
            number[places] = np.arange(len(places))
            own = number[touched.codes[: touched.inserted]]
            new = np.flatnonzero(own >= 0)
            lines[found : found + len(new)] = touched.lines[new]
            codes[found : found + len(new)] = own[new]
            found += len(new)
        assert found == count, "sizes of groups and lists of members differ"
        return lines, codes

    def link(self, places: npt.NDArray[np.intp], lines: Words) -> None:
        """Sets the new rows of the touched groups at some places."""
        self._entries.array[self.touched.groups[places], kernels.LINE] = lines

    def commit(self) -> None:
        """Brings the lists of members up to date, and drops the groups that have none any more."""
        if self.values is not None:
            self.values.commit()
        touched = self.touched
        if not len(touched):
            return
        if self._lists and not touched.is_linked:
            members, _ = self._stores
            links = self._links_to(members)
            kernels.change_links(
                self._entries.array, links, touched.noted, touched.lines, touched.codes, touched.inserted
            )
        self._drop(touched.noted[self.sizes() == 0])
        self.touched = Touched()

    def roll_back(self) -> None:
        """Undoes the changes of the epoch."""
        if self.values is not None:
            self.values.roll_back()
        noted = self.touched.noted
        entries = self._entries.array
        entries[noted[:, kernels.GROUP], kernels.SIZE] = noted[:, kernels.OLD_SIZE]
        entries[noted[:, kernels.GROUP], kernels.LINE] = noted[:, kernels.OLD_LINE]
        self._drop(noted[~self.touched.is_old])
        self.touched = Touched()

    def _drop(self, noted: Numbers) -> None:
        if len(noted):
            dropped = np.ascontiguousarray(noted)
            kernels.drop_groups(self._header, self._slots.array, self._entries.array, dropped)

    def _make_room(self, groups: int) -> None:
        """Makes room for so many groups."""
        self._entries.make_room(groups)
        if 3 * len(self._slots) < 4 * (groups + 1):
            old = self._slots.array
            self._slots = Growing(np.int64, 3 * (groups + 1) // 2)
            kernels.move_groups(old, self._slots.array)
