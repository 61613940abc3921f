"""Lists of rows as dense ids, which bodies read when waves go head by head (`row_wise`).

A list has the rows of a relation with one key. The key is one number, made of the ids of some columns as of digits;
each entry is `stride` words of 32 bits, made of the ids of other columns in the same way, or of one id each. The record
of a list says where it lies. Where the keys that may occur are few, records are in the order of keys; else a table
finds the record of a key.

The rows of a relation of the stratum lie in the order of their ranks, so what the last wave brought is the end of each
list. All lengths and places count words.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import give_place, next_size, take_place
from tidelog.engine.local.kernels.index import home_slot, slot_after
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    inlined,
    kernel,
    load32,
    load64,
    prefetch_read,
    store32,
    store64,
)

# A line of L: lists of ids. It has the fields of an arrangement's pool (`layout`), because buckets move as there.
LIST_RECORDS, LIST_STRIDE, LIST_LINES = 0, 1, 2  # LIST_LINES: the line of each row beside its entry, or 0
# A table of slots: the low half of a key << 32 | the number of its record + 1; or LIST_TABLE is 0: records by key.
# LIST_KEYS: the key of each record, or 0 if all keys have 32 bits.
LIST_TABLE, LIST_SLOTS, LIST_KEYS = 3, 4, 6
LIST_COUNT = 5  # records in use
LIST_CHANGED, LIST_CHANGES = 7, 12  # the numbers of records with new rows, 32 bits each, and how many there are
# The record of a list, places of 32 bits: where it starts, how long it is, how much of it is old, its room.
RECORD_START, RECORD_LENGTH, RECORD_OLD, RECORD_ROOM, RECORD_PLACES = 0, 1, 2, 3, 4
RECORD_BYTES = 4 * RECORD_PLACES
LARGEST_PLACE = (1 << 31) - 1

# New rows of one thread, for one head relation: groups with the same prefix.
GROUP_PREFIX, GROUP_ROWS, GROUP_WORDS = 0, 1, 2
# Results of the kernels that add rows.
ADDED, POOL_FULL, TABLE_FULL = 0, 1, 2
# The shape of a relation's rows as ids: how many columns, the prefix's, then radix and size of each column's digit in
# the value of a row. The shape of a list: how many words, then for the key and each word a factor for each column.
SHAPE_COLUMNS, SHAPE_PREFIX, SHAPE_DIGITS = 0, 1, 2

# How lists are filled: which rows there are, then the key's digits, or NOTED and the address of 64-bit record numbers.
FILL_ROWS, FILL_KEY = 0, 1
FILL_OLD, FILL_NEW = 1, 2
NOTED = -1

AHEAD = 8


@inlined
def find_record(L, number, key):
    """Returns the address of the record of a key, or 0."""
    table = L[number, LIST_TABLE]
    if table == 0:
        return L[number, LIST_RECORDS] + key * RECORD_BYTES
    return find_hashed_record(L, number, key)


@kernel
def find_hashed_record(L, number, key):
    """Returns the address of the record of a key that a table finds, or 0."""
    found = load64(L[number, LIST_TABLE], slot_of_key(L, number, key)) & k.LOW_MASK
    return 0 if found == 0 else L[number, LIST_RECORDS] + (found - 1) * RECORD_BYTES


@kernel
def home_of(key, slots):
    """Returns the slot where the search for a key starts.

    No product overflows: a compiler may take signed overflow for impossible, and here it knows how large a key is.
    """
    mixed = (((key ^ (key >> 32)) & k.LOW_MASK) * 0x61C88647) & k.LOW_MASK
    return home_slot(((mixed ^ (mixed >> 15)) * 0x2C1B3C6D) & k.LOW_MASK, slots)


@kernel
def slot_of_key(L, number, key):
    """Returns the slot of a key, or the empty slot where it belongs."""
    table, slots, keys = L[number, LIST_TABLE], L[number, LIST_SLOTS], L[number, LIST_KEYS]
    at = home_of(key, slots)
    while True:
        found = load64(table, at)
        if found == 0:
            return at
        is_same = (found >> k.HASH_SHIFT) & k.LOW_MASK == key & k.LOW_MASK
        if is_same and (keys == 0 or load64(keys, (found & k.LOW_MASK) - 1) == key):
            return at
        at = slot_after(at, slots)


@kernel
def take_record(L, number, key):
    """Returns the address of the record of a key, a new one if it has none; 0 if the table must grow first."""
    if L[number, LIST_TABLE] == 0:
        return L[number, LIST_RECORDS] + key * RECORD_BYTES
    at = slot_of_key(L, number, key)
    found = load64(L[number, LIST_TABLE], at) & k.LOW_MASK
    if found != 0:
        return L[number, LIST_RECORDS] + (found - 1) * RECORD_BYTES
    count = L[number, LIST_COUNT]
    # At most two thirds are full: probes stay short.
    if 3 * (count + 1) > 2 * L[number, LIST_SLOTS]:
        return 0
    store64(L[number, LIST_TABLE], at, (key << k.HASH_SHIFT) | (count + 1))
    if L[number, LIST_KEYS] != 0:
        store64(L[number, LIST_KEYS], count, key)
    L[number, LIST_COUNT] = count + 1
    return L[number, LIST_RECORDS] + count * RECORD_BYTES


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def refill_table(L, number, before):
    """Fills the larger, empty table of lists with the slots of a smaller one."""
    table, keys = L[number, LIST_TABLE], L[number, LIST_KEYS]
    for i in range(before.size):
        slot = before[i]
        if slot == 0:
            continue
        if keys == 0:
            store64(table, slot_of_key(L, number, (slot >> k.HASH_SHIFT) & k.LOW_MASK), slot)
        else:
            store64(table, slot_of_key(L, number, load64(keys, (slot & k.LOW_MASK) - 1)), slot)
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def number_keys(L, number, keys):
    """Replaces each key by the number of its record, which is made if need be; the table has room for all."""
    for i in range(keys.size):
        keys[i] = (take_record(L, number, keys[i]) - L[number, LIST_RECORDS]) // RECORD_BYTES
    return 0


@inlined
def number_at(numbers, at, row):
    """Returns a number of a row: how many digits, then the address of the ids in a column, and a factor, for each."""
    found = load32(load64(numbers, at + 1), row) * load64(numbers, at + 2)
    for i in range(1, load64(numbers, at)):
        found += load32(load64(numbers, at + 1 + 2 * i), row) * load64(numbers, at + 2 + 2 * i)
    return found


@inlined
def record_at(numbers, records, row):
    """Returns the address of a row's record, whose number may be noted already."""
    if load64(numbers, FILL_KEY) == NOTED:
        return records + load64(load64(numbers, FILL_KEY + 1), row) * RECORD_BYTES
    if load64(numbers, FILL_KEY) == 0:
        return records
    return records + number_at(numbers, FILL_KEY, row) * RECORD_BYTES


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, uint8[::1], int64[::1])")
def fill_lists(L, number, numbers, count, is_new, lines):
    """Fills empty lists with so many rows, in their order, old rows first; the pool has room for all.

    `numbers` says which rows there are (FILL_OLD, FILL_NEW or both), how the key of a row is found, and how each of its
    words is (`number_at`). `is_new` counts if there are both, `lines` if the lists have them.
    """
    L, numbers, is_new, lines = borrowed(L), borrowed(numbers), borrowed(is_new), borrowed(lines)
    how = numbers.ctypes.data
    records, stride = L[number, LIST_RECORDS], L[number, LIST_STRIDE]
    pool, beside = L[number, k.POOL], L[number, LIST_LINES]
    for row in range(count):
        record = record_at(how, records, row)
        store32(record, RECORD_ROOM, load32(record, RECORD_ROOM) + stride)
    place = k.POOL_LISTS
    for i in range(L[number, LIST_COUNT]):
        record = records + i * RECORD_BYTES
        store32(record, RECORD_START, place)
        place += load32(record, RECORD_ROOM)
    L[number, k.POOL_USED] = place
    words = FILL_KEY + 1 + (1 if numbers[FILL_KEY] == NOTED else 2 * numbers[FILL_KEY])
    for turn in range(2):
        if numbers[FILL_ROWS] & (FILL_OLD << turn) == 0:
            continue
        for row in range(count):
            if numbers[FILL_ROWS] == FILL_OLD | FILL_NEW and is_new[row] != turn:
                continue
            record = record_at(how, records, row)
            length = load32(record, RECORD_LENGTH)
            at = load32(record, RECORD_START) + length
            word = words
            for i in range(stride):
                digits = load64(how, word)
                store32(pool, at + i, number_at(how, word, row) if digits > 0 else 0)
                word += 1 + 2 * digits
            if beside != 0:
                store32(beside, at, lines[row])
            if turn == 0:
                store32(record, RECORD_OLD, length + stride)
            else:
                note_change(L, number, record, length)
            store32(record, RECORD_LENGTH, length + stride)
    return 0


@inlined
def note_change(L, number, record, length):
    """Notes the record of a list that gets its first new rows; `length` is that without them."""
    if length == load32(record, RECORD_OLD):
        changes = L[number, LIST_CHANGES]
        store32(L[number, LIST_CHANGED], changes, (record - L[number, LIST_RECORDS]) // RECORD_BYTES)
        L[number, LIST_CHANGES] = changes + 1


@entry_point("int64(int64[:,::1], int64)")
def make_old(L, number):
    """Makes all rows of lists old."""
    L = borrowed(L)
    records, changed = L[number, LIST_RECORDS], L[number, LIST_CHANGED]
    for i in range(L[number, LIST_CHANGES]):
        record = records + load32(changed, i) * RECORD_BYTES
        store32(record, RECORD_OLD, load32(record, RECORD_LENGTH))
    L[number, LIST_CHANGES] = 0
    return 0


@kernel
def make_list_room(L, number, record, wanted):
    """Makes room for a longer list; returns False, and changes nothing, if the pool must grow first."""
    room = load32(record, RECORD_ROOM)
    if wanted <= room:
        return True
    start, length = load32(record, RECORD_START), load32(record, RECORD_LENGTH)
    size, larger = next_size(wanted - 1)
    moved = take_place(L, number, size, larger)
    if moved < 0:
        return False
    pool, lines = L[number, k.POOL], L[number, LIST_LINES]
    for i in range(length):
        store32(pool, moved + i, load32(pool, start + i))
    if lines != 0:
        for i in range(length):
            store32(lines, moved + i, load32(lines, start + i))
    if room > 0:
        give_place(L, number, start, room)
    store32(record, RECORD_START, moved)
    store32(record, RECORD_ROOM, larger)
    return True


@entry_point("int64(int64[::1], int64[:,::1], int64, int64, int64[::1])")
def append_by_prefix(rows, L, number, first, done):
    """Adds the new rows of one thread, from line `first` on, to the lists by prefix, whose words are the rows' values.

    `rows` has the addresses of groups and values, and how many groups there are; `done` has the groups and rows that
    are added. Returns ADDED, or POOL_FULL: then the next call continues.
    """
    rows, L, done = borrowed(rows), borrowed(L), borrowed(done)
    groups, values = rows[0], rows[1]
    for group in range(done[0], rows[2]):
        address = groups + group * GROUP_WORDS * 8
        count = load64(address, GROUP_ROWS)
        record = L[number, LIST_RECORDS] + load64(address, GROUP_PREFIX) * RECORD_BYTES
        length = load32(record, RECORD_LENGTH)
        if not make_list_room(L, number, record, length + count):
            return POOL_FULL
        end = load32(record, RECORD_START) + length
        pool, lines = L[number, k.POOL], L[number, LIST_LINES]
        for i in range(count):
            store32(pool, end + i, load32(values, done[1] + i))
        if lines != 0:
            for i in range(count):
                store32(lines, end + i, first + done[1] + i)
        note_change(L, number, record, length)
        store32(record, RECORD_LENGTH, length + count)
        done[0] = group + 1
        done[1] += count
    return ADDED


@entry_point("int64(int64[::1], int64[:,::1], int64, int64[::1])")
def append_by_value(rows, L, number, done):
    """Adds the new rows of one thread to the lists of prefixes by value; see `append_by_prefix`."""
    rows, L, done = borrowed(rows), borrowed(L), borrowed(done)
    groups, values = rows[0], rows[1]
    records = L[number, LIST_RECORDS]
    for group in range(done[0], rows[2]):
        address = groups + group * GROUP_WORDS * 8
        prefix, count = load64(address, GROUP_PREFIX), load64(address, GROUP_ROWS)
        for place in range(done[1] + done[2], done[1] + count):
            if place + AHEAD < rows[3]:
                prefetch_read(records + load32(values, place + AHEAD) * RECORD_BYTES, 0)
            record = records + load32(values, place) * RECORD_BYTES
            length = load32(record, RECORD_LENGTH)
            if not make_list_room(L, number, record, length + 1):
                done[2] = place - done[1]
                return POOL_FULL
            store32(L[number, k.POOL], load32(record, RECORD_START) + length, prefix)
            note_change(L, number, record, length)
            store32(record, RECORD_LENGTH, length + 1)
        done[0] = group + 1
        done[1] += count
        done[2] = 0
    return ADDED


@entry_point("int64(int64[::1], int64[:,::1], int64, int64[::1], int64[::1], int64[::1], int64[::1])")
def append_by_columns(rows, L, number, shape, factors, ids, done):
    """Adds the new rows of one thread to lists of any kind; see `append_by_prefix`. `ids` is scratch."""
    rows, L, done, ids = borrowed(rows), borrowed(L), borrowed(done), borrowed(ids)
    shape, factors = borrowed(shape), borrowed(factors)
    groups, values = rows[0], rows[1]
    columns, stride = shape[SHAPE_COLUMNS], L[number, LIST_STRIDE]
    for group in range(done[0], rows[2]):
        address = groups + group * GROUP_WORDS * 8
        prefix, count = load64(address, GROUP_PREFIX), load64(address, GROUP_ROWS)
        for place in range(done[1] + done[2], done[1] + count):
            value = load32(values, place)
            key = 0
            for column in range(columns):
                ids[column] = digit_of(shape.ctypes.data, column, prefix, value)
                key += ids[column] * factors[column]
            record = take_record(L, number, key)
            if record == 0:
                done[2] = place - done[1]
                return TABLE_FULL
            length = load32(record, RECORD_LENGTH)
            if not make_list_room(L, number, record, length + stride):
                done[2] = place - done[1]
                return POOL_FULL
            at = load32(record, RECORD_START) + length
            for i in range(stride):
                word = 0
                for column in range(columns):
                    word += ids[column] * factors[(i + 1) * columns + column]
                store32(L[number, k.POOL], at + i, word)
            note_change(L, number, record, length)
            store32(record, RECORD_LENGTH, length + stride)
        done[0] = group + 1
        done[1] += count
        done[2] = 0
    return ADDED


@inlined
def digit_of(shape, column, prefix, value):
    """Returns the id in one column of a row, given its prefix and its value."""
    if column == load64(shape, SHAPE_PREFIX):
        return prefix
    if load64(shape, SHAPE_COLUMNS) == 2:
        return value
    return (value // load64(shape, SHAPE_DIGITS + 2 * column)) % load64(shape, SHAPE_DIGITS + 2 * column + 1)


@entry_point("int64(int64[::1], int64, int64[::1], int64[::1], int64)")
def number_words(given, count, table, words, known):
    """Gives each distinct word an id, the next one for a new word; returns how many there are, or -1 if the table is
    half full. `table` has id + 1 or 0 in each slot, `words` the word of each id; the ids are written over `given`."""
    mask = table.size - 1
    for i in range(count):
        word = given[i]
        at = hash_end(hash_word(HASH_START, word)) & mask
        while table[at] != 0 and words[table[at] - 1] != word:
            at = (at + 1) & mask
        if table[at] == 0:
            if 2 * known >= table.size:
                return -1
            words[known] = word
            known += 1
            table[at] = known
        given[i] = table[at] - 1
    return known
