"""The groups of a stratum of aggregates: a hash table from keys to groups, whose keys are in rows of the stores.

A slot is a word, hash << 32 | group + 1, in the order of the hash as in `index`. A group has an entry of four numbers:

    LINE     its row in the relation of groups; -1 - line of one of its members, while the epoch that made it runs;
             of an unused entry the next unused one
    SIZE     its members, with those of this epoch
    TOUCHED  its place among the groups that this epoch touches, from 1; 0 while none runs
    FIRST    the line of its first member, from 1; 0: none, or nobody asks

Groups have the key in their first columns, members in the given `columns`, so the table itself has no keys.

The members of a group are a list: `links` has the lines of the next and of the previous one, from 1, for each line of
the relation of members. The lists are those of the last commit. They are there only if some aggregate reads groups
again.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row, home_slot, slot_after, slots_between
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    entry_point,
    hash_end,
    hash_word,
    inlined,
    kernel,
    load64,
    prefetch,
    prefetch_read,
)

LINE, SIZE, TOUCHED, FIRST, ENTRY_NUMBERS = 0, 1, 2, 3, 4
NEXT, PREVIOUS, LINKS = 0, 1, 2
# The header: entries ever used, the first unused one among them (from 1), groups, groups touched by this epoch.
ENTRIES_USED, FREE_ENTRY, GROUPS, TOUCHED_COUNT, HEADER_WORDS = 0, 1, 2, 3, 4
# What is noted of a touched group.
GROUP, OLD_SIZE, OLD_LINE, KEY_HASH, NOTED = 0, 1, 2, 3, 4
AT_ONCE = 64


@kernel
def row_of_group(S, members, groups, line):
    """Returns the address of a row that has the key of the group with this LINE."""
    if line >= 0:
        return S[groups, k.ROWS] + line * S[groups, k.WIDTH] * 8
    return S[members, k.ROWS] + (-1 - line) * S[members, k.WIDTH] * 8


@kernel
def hash_key(row, columns):
    """Returns the hash of the key of a member."""
    state = HASH_START
    for i in range(columns.size):
        state = hash_word(state, load64(row, columns[i]))
    return hash_end(state)


@kernel
def has_key(S, members, groups, columns, line, row):
    """True if the group with this LINE has the key of a member."""
    own = row_of_group(S, members, groups, line)
    for i in range(columns.size):
        if load64(own, i if line >= 0 else columns[i]) != load64(row, columns[i]):
            return False
    return True


@kernel
def find_group(S, members, groups, columns, slots, entries, row, hashed):
    """Returns the slot of the group with the key of a member, or the empty slot where it belongs."""
    at = home_slot(hashed, slots.size)
    while True:
        slot = slots[at]
        if slot == 0:
            return at
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            line = entries[(slot & k.LOW_MASK) - 1, LINE]
            if has_key(S, members, groups, columns, line, row):
                return at
        at = slot_after(at, slots.size)


@kernel
def add_group(header, slots, entries, at, hashed, line):
    """Adds an empty group in an empty slot; returns its number."""
    group = header[FREE_ENTRY] - 1
    if group >= 0:
        header[FREE_ENTRY] = entries[group, LINE]
    else:
        group = header[ENTRIES_USED]
        header[ENTRIES_USED] += 1
    entries[group, LINE] = line
    entries[group, SIZE] = 0
    entries[group, TOUCHED] = 0
    entries[group, FIRST] = 0
    slots[at] = (hashed << k.HASH_SHIFT) | (group + 1)
    header[GROUPS] += 1
    return group


@kernel
def is_full(header, slots, entries):
    """True if the table must grow before another group is added."""
    if 4 * (header[GROUPS] + 1) > 3 * slots.size:
        return True
    return header[FREE_ENTRY] == 0 and header[ENTRIES_USED] == entries.shape[0]


@kernel
def link(entries, links, group, line):
    """Puts a member in front of the list of its group."""
    first = entries[group, FIRST]
    links[line, NEXT] = first
    links[line, PREVIOUS] = 0
    if first > 0:
        links[first - 1, PREVIOUS] = line + 1
    entries[group, FIRST] = line + 1


@kernel
def unlink(entries, links, group, line):
    """Takes a member out of the list of its group."""
    after = links[line, NEXT]
    before = links[line, PREVIOUS]
    if before > 0:
        links[before - 1, NEXT] = after
    else:
        entries[group, FIRST] = after
    if after > 0:
        links[after - 1, PREVIOUS] = before


@inlined
def touch_one(S, members, groups, columns, header, slots, entries, row, line, hashed, touched):
    """Returns the place of a member's group among the touched ones, noted there if it is new; -1 if the table must grow
    first."""
    at = find_group(S, members, groups, columns, slots, entries, row, hashed)
    if slots[at] == 0:
        if is_full(header, slots, entries):
            return -1
        group = add_group(header, slots, entries, at, hashed, -1 - line)
    else:
        group = (slots[at] & k.LOW_MASK) - 1
    place = entries[group, TOUCHED] - 1
    if place < 0:
        place = header[TOUCHED_COUNT]
        header[TOUCHED_COUNT] = place + 1
        entries[group, TOUCHED] = place + 1
        touched[place, GROUP] = group
        touched[place, OLD_SIZE] = entries[group, SIZE]
        touched[place, OLD_LINE] = entries[group, LINE]
        touched[place, KEY_HASH] = hashed
    return place


@inlined
def number_of(row, columns, spans, factors):
    """Returns the number of the key of a member (`dense_arrangement`), or -1 if a word is outside its span."""
    number = 0
    for i in range(columns.size):
        word = load64(row, columns[i])
        if word < spans[i, 0] or word > spans[i, 1]:
            return -1
        number += (word - spans[i, 0]) * factors[i]
    return number


@entry_point(
    "int64(int64[:,::1], int64, int64, int64[::1], int64[::1], int64[::1], int32[:,::1], int32[:,::1], int32[::1],"
    " int64, int64, int32[::1], int32[:,::1])"
)
def touch_groups(S, members, groups, columns, header, slots, entries, links, lines, first, change, codes, touched):
    """Changes the sizes of the groups of some members, given by their lines, from the line at place `first` on.

    Writes the place of each member's group among the touched groups into `codes`, and notes each group before its
    first change in `touched`. If `links` are given, puts the members into the lists of their groups. Returns the place
    at which the table must grow, or the number of lines.
    """
    rows = S[members, k.ROWS]
    stride = S[members, k.WIDTH] * 8
    while first < lines.size:
        end = min(first + AT_ONCE, lines.size)
        for i in range(first, end):
            prefetch_read(rows + lines[i] * stride, 0)
        for i in range(first, end):
            hashed = hash_key(rows + lines[i] * stride, columns)
            codes[i] = hashed
            prefetch_read(slots.ctypes.data, home_slot(hashed, slots.size))
        for i in range(first, end):
            slot = slots[home_slot(codes[i] & k.LOW_MASK, slots.size)]
            if slot != 0:
                prefetch_read(entries.ctypes.data, ((slot & k.LOW_MASK) - 1) * 2)
        for i in range(first, end):
            slot = slots[home_slot(codes[i] & k.LOW_MASK, slots.size)]
            if slot != 0:
                line = entries[(slot & k.LOW_MASK) - 1, LINE]
                prefetch_read(row_of_group(S, members, groups, line), 0)
                if links.shape[0] > 0:
                    prefetch_read(links.ctypes.data, entries[(slot & k.LOW_MASK) - 1, FIRST] - 1)
        for i in range(first, end):
            row = rows + lines[i] * stride
            place = touch_one(
                S, members, groups, columns, header, slots, entries, row, lines[i], codes[i] & k.LOW_MASK, touched
            )
            if place < 0:
                return i
            group = touched[place, GROUP]
            entries[group, SIZE] += change
            codes[i] = place
            if links.shape[0] > 0:
                link(entries, links, group, lines[i])
        first = end
    return first


@entry_point(
    "int64(int64[:,::1], int64, int64, int64[::1], int64[::1], int64[::1], int32[:,::1], int32[:,::1], int32[::1],"
    " int64, int32[::1], int32[:,::1], int64[:,::1], int64[::1], int32[::1], int64[::1])"
)
def touch_dense(
    S, members, groups, columns, header, slots, entries, links, lines, first, codes, touched, spans, factors, places,
    numbers,
):  # fmt: skip
    """Does what `touch_groups` does for inserted members, and looks most keys up by their numbers.

    Keys within the spans have a number; `places` has the group of each number, from 1, or 0 if it was not met yet.
    `numbers` is scratch for AT_ONCE words.
    """
    rows = S[members, k.ROWS]
    stride = S[members, k.WIDTH] * 8
    known, links_at = places.ctypes.data, links.ctypes.data
    while first < lines.size:
        end = min(first + AT_ONCE, lines.size)
        for i in range(first, end):
            number = number_of(rows + lines[i] * stride, columns, spans, factors)
            numbers[i - first] = number
            if number >= 0:
                prefetch(known, number >> 1)
        for i in range(first, end):
            number = numbers[i - first]
            if number >= 0 and places[number] > 0:
                prefetch(entries.ctypes.data, (places[number] - 1) * 2)
            else:
                hashed = hash_key(rows + lines[i] * stride, columns)
                prefetch_read(slots.ctypes.data, home_slot(hashed, slots.size))
        if links.shape[0] > 0:
            for i in range(first, end):
                number = numbers[i - first]
                if number >= 0 and places[number] > 0:
                    prefetch(links_at, max(entries[places[number] - 1, FIRST] - 1, 0))
        for i in range(first, end):
            number = numbers[i - first]
            group = places[number] - 1 if number >= 0 else -1
            if group < 0:
                row = rows + lines[i] * stride
                hashed = hash_key(row, columns)
                place = touch_one(S, members, groups, columns, header, slots, entries, row, lines[i], hashed, touched)
                if place < 0:
                    return i
                group = touched[place, GROUP]
                if number >= 0:
                    places[number] = group + 1
            entries[group, SIZE] += 1
            codes[i] = entries[group, TOUCHED] - 1
            if links.shape[0] > 0:
                link(entries, links, group, lines[i])
        first = end
    return first


@entry_point("int64(int64[:,::1], int64, int64, int64[::1], int64[::1], int64[::1], int32[:,::1], int32[::1])")
def adopt_groups(S, members, groups, columns, header, slots, entries, lines):
    """Fills an empty table, which has room, from rows of the relation of groups, given by their lines."""
    for i in range(lines.size):
        hashed = hash_row(row_of_group(S, members, groups, lines[i]), columns.size)
        at = home_slot(hashed, slots.size)
        while slots[at] != 0:
            at = slot_after(at, slots.size)
        add_group(header, slots, entries, at, hashed, lines[i])
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64[::1], int64[::1], int32[:,::1], int32[:,::1], int32[::1], int64)")
def adopt_members(S, members, groups, columns, slots, entries, links, lines, change):
    """Adds `change` to the sizes of the groups of members, given by their lines, and puts them into the lists of their
    groups, if `links` are given; returns how many have no group."""
    rows = S[members, k.ROWS]
    stride = S[members, k.WIDTH] * 8
    missing = 0
    for i in range(lines.size):
        row = rows + lines[i] * stride
        slot = slots[find_group(S, members, groups, columns, slots, entries, row, hash_key(row, columns))]
        if slot == 0:
            missing += 1
            continue
        group = (slot & k.LOW_MASK) - 1
        entries[group, SIZE] += change
        if links.shape[0] > 0:
            link(entries, links, group, lines[i])
    return missing


@entry_point("int64(int32[:,::1], int32[:,::1], int32[:,::1], int32[::1], int32[::1], int64)")
def change_links(entries, links, touched, lines, codes, inserted):
    """Takes deleted members out of the lists of their groups, and puts inserted ones, the first so many, into them."""
    for i in range(inserted, lines.size):
        unlink(entries, links, touched[codes[i], GROUP], lines[i])
    for i in range(inserted):
        link(entries, links, touched[codes[i], GROUP], lines[i])
    return 0


@entry_point("int64(int64[:,::1], int64, int32[:,::1], int32[:,::1], int32[::1], int32[::1], int32[::1])")
def read_members(S, members, entries, links, groups, lines, codes):
    """Writes the lines of all members in the lists of some groups that are not deleted, and each one's place among the
    groups, as far as there is room; returns how many there are."""
    columns = S[members, k.COLUMNS]
    rows = S[members, k.ROWS]
    stride = S[members, k.WIDTH] * 8
    count = 0
    for i in range(groups.size):
        line = entries[groups[i], FIRST] - 1
        while line >= 0:
            if load64(rows + line * stride, columns + k.META) >> k.STAMP_SHIFT >= 0:
                if count < lines.size:
                    lines[count] = line
                    codes[count] = i
                count += 1
            line = links[line, NEXT] - 1
    return count


@entry_point("int64(int64[::1], int64[::1])")
def move_groups(old, slots):
    """Fills empty slots from the slots of a smaller table."""
    for i in range(old.size):
        slot = old[i]
        if slot != 0:
            at = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, slots.size)
            while slots[at] != 0:
                at = slot_after(at, slots.size)
            slots[at] = slot
    return 0


@entry_point("int64(int64[::1], int64[::1], int32[:,::1], int32[:,::1])")
def drop_groups(header, slots, entries, dropped):
    """Removes groups, as they were noted, from the table; their entries are used again."""
    size = slots.size
    for i in range(dropped.shape[0]):
        group = dropped[i, GROUP]
        at = home_slot(dropped[i, KEY_HASH] & k.LOW_MASK, size)
        while (slots[at] & k.LOW_MASK) - 1 != group:
            at = slot_after(at, size)
        hole = at
        while True:
            at = slot_after(at, size)
            slot = slots[at]
            if slot == 0:
                break
            home = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, size)
            if slots_between(home, at, size) >= slots_between(hole, at, size):
                slots[hole] = slot
                hole = at
        slots[hole] = 0
        entries[group, LINE] = header[FREE_ENTRY]
        header[FREE_ENTRY] = group + 1
        header[GROUPS] -= 1
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64[::1], int32[:,::1], int64[:,::1])")
def read_groups(S, members, groups, columns, touched, rows):
    """Writes the row that each touched group had before the epoch; of a new group, its key and zeros behind it."""
    for i in range(touched.shape[0]):
        if i + AT_ONCE < touched.shape[0]:
            prefetch_read(row_of_group(S, members, groups, touched[i + AT_ONCE, OLD_LINE]), 0)
        line = touched[i, OLD_LINE]
        row = row_of_group(S, members, groups, line)
        for place in range(columns.size):
            rows[i, place] = load64(row, place if line >= 0 else columns[place])
        for column in range(columns.size, rows.shape[1]):
            rows[i, column] = load64(row, column) if line >= 0 else 0
    return 0
