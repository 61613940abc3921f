"""How many members have each value of a group, where several finer keys may have it: a hash table of words.

A slot is a word, hash << 32 | entry + 1, in the order of the hash as in `index`. An entry has the words of a group's
key and of a value, then the number of members. An entry whose number is 0 stays until the table grows.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row, home_slot, slot_after
from tidelog.engine.local.kernels.memory import entry_point, kernel, prefetch_read

# The header: entries in use.
ENTRIES_USED, HEADER_WORDS = 0, 1
AT_ONCE = 64


@kernel
def find_value(slots, entries, words, line, hashed):
    """Returns the slot of the words of a line, or the empty slot where they belong."""
    at = home_slot(hashed, slots.size)
    while slots[at] != 0:
        if (slots[at] >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            entry = (slots[at] & k.LOW_MASK) - 1
            same = True
            for i in range(words.shape[1]):
                same = same and entries[entry, i] == words[line, i]
            if same:
                return at
        at = slot_after(at, slots.size)
    return at


@entry_point("int64(int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64, int64, int8[::1])")
def count_values(words, header, slots, entries, first, change, turned):
    """Adds `change` to the numbers of some values, from the line `first` on; `turned` is 1 where a number was 0 before,
    -1 where it is 0 now, else 0. Returns the line at which the table must grow, or the number of lines."""
    width = words.shape[1]
    stride = width * 8
    for line in range(first, words.shape[0]):
        if line % AT_ONCE == 0 or line == first:
            for ahead in range(line, min(line + AT_ONCE, words.shape[0])):
                prefetch_read(
                    slots.ctypes.data, home_slot(hash_row(words.ctypes.data + ahead * stride, width), slots.size)
                )
        hashed = hash_row(words.ctypes.data + line * stride, width)
        at = find_value(slots, entries, words, line, hashed)
        if slots[at] == 0:
            entry = header[ENTRIES_USED]
            if entry == entries.shape[0] or 4 * (entry + 1) > 3 * slots.size:
                return line
            header[ENTRIES_USED] = entry + 1
            for i in range(width):
                entries[entry, i] = words[line, i]
            entries[entry, width] = 0
            slots[at] = (hashed << k.HASH_SHIFT) | (entry + 1)
        else:
            entry = (slots[at] & k.LOW_MASK) - 1
        before = entries[entry, width]
        entries[entry, width] = before + change
        turned[line] = 1 if before == 0 else (-1 if before + change == 0 else 0)
    return words.shape[0]


@entry_point("int64(int64[:,::1], int64, int64[::1], int64[::1], int64[:,::1])")
def move_values(old, used, header, slots, entries):
    """Fills an empty table, which has room, from the first entries of another one, without those whose number is 0."""
    width = entries.shape[1] - 1
    count = 0
    for i in range(used):
        if old[i, width] == 0:
            continue
        for place in range(width + 1):
            entries[count, place] = old[i, place]
        hashed = hash_row(entries.ctypes.data + count * (width + 1) * 8, width)
        at = home_slot(hashed, slots.size)
        while slots[at] != 0:
            at = slot_after(at, slots.size)
        slots[at] = (hashed << k.HASH_SHIFT) | (count + 1)
        count += 1
    header[ENTRIES_USED] = count
    return count
