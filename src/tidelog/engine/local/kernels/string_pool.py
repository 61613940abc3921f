"""Interned strings: UTF-8 bytes in an arena, and an index from bytes to ids.

    arena   the bytes of all strings, one after the other
    spans   two words for each id: where its bytes start, and how many there are; of a free id: the next free id + 1, -1
    slots   open addressing with linear probing, in the order of the hash: hash << 32 | id + 1

A pool is a line of words with sizes and addresses (`HEADER_…`), so that one signature serves every pool. Python owns
the memory: a kernel that finds no room stops, says how far it got, and is called again. Strings to intern are given by
addresses and lengths, so they may lie in Arrow's memory, in results of other kernels, or in the arena itself.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.index import home_slot, slot_after
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    copy_bytes,
    entry_point,
    hash_end,
    hash_word,
    kernel,
    load8,
    load64,
    load_eight,
    load_four,
    prefetch_read,
    short_entry_point,
    store64,
)

ARENA, ARENA_SIZE, ARENA_USED, ARENA_LIVE = 0, 1, 2, 3
SPANS, SPAN_ROOM, USED, LIVE, FREE = 4, 5, 6, 7, 8
SLOTS, SLOT_COUNT = 9, 10
HEADER_FIELDS = 11
BLOCK = 32
LOW_MASK = 0xFFFFFFFF


@kernel
def hash_text(address, length):
    """Returns the 32-bit hash of some bytes. It reads no byte beyond them."""
    state = HASH_START ^ length
    if length >= 8:
        at = 0
        while at + 8 <= length:
            state = hash_word(state, load_eight(address + at))
            at += 8
        if at < length:
            state = hash_word(state, load_eight(address + length - 8))
    elif length >= 4:
        state = hash_word(state, load_four(address) | (load_four(address + length - 4) << 32))
    elif length > 0:
        middle = load8(address + (length >> 1))
        state = hash_word(state, load8(address) | (middle << 8) | (load8(address + length - 1) << 16))
    return hash_end(state)


@kernel
def same_bytes(left, right, length):
    """True if two stretches of bytes are equal."""
    if length >= 8:
        at = 0
        while at + 8 <= length:
            if load_eight(left + at) != load_eight(right + at):
                return False
            at += 8
        return load_eight(left + length - 8) == load_eight(right + length - 8)
    for at in range(length):
        if load8(left + at) != load8(right + at):
            return False
    return True


@kernel
def find_text(H, address, length, hashed):
    """Returns the slot of the string at the address, or the empty slot where it belongs."""
    slots, size, spans, arena = H[SLOTS], H[SLOT_COUNT], H[SPANS], H[ARENA]
    at = home_slot(hashed, size)
    while True:
        slot = load64(slots, at)
        if slot == 0:
            return at
        if (slot >> 32) & LOW_MASK == hashed:
            span = 2 * ((slot & LOW_MASK) - 1)
            if load64(spans, span + 1) == length and same_bytes(arena + load64(spans, span), address, length):
                return at
        at = slot_after(at, size)


@kernel
def has_room(H, length):
    """True if another string of so many bytes fits into the pool."""
    if H[ARENA_USED] + length > H[ARENA_SIZE] or 4 * (H[LIVE] + 1) > 3 * H[SLOT_COUNT]:
        return False
    return H[FREE] != 0 or H[USED] < H[SPAN_ROOM]


@kernel
def add_text(H, address, length, hashed, at):
    """Adds a string to an empty slot; returns its id. There is room."""
    spans = H[SPANS]
    if H[FREE] != 0:
        number = H[FREE] - 1
        H[FREE] = load64(spans, 2 * number)
    else:
        number = H[USED]
        H[USED] = number + 1
    start = H[ARENA_USED]
    copy_bytes(H[ARENA] + start, address, length)
    H[ARENA_USED] = start + length
    H[ARENA_LIVE] += length
    H[LIVE] += 1
    store64(spans, 2 * number, start)
    store64(spans, 2 * number + 1, length)
    store64(H[SLOTS], at, (hashed << 32) | (number + 1))
    return number


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64, int64[::1])")
def intern_texts(H, addresses, lengths, first, ids):
    """Writes the id of each string, from number `first` on; returns the number of the first that has no room."""
    count = lengths.size
    hashes = np.empty(BLOCK, np.int64)
    at = first
    while at < count:
        some = min(BLOCK, count - at)
        for i in range(some):
            hashes[i] = hash_text(addresses[at + i], lengths[at + i])
            prefetch_read(H[SLOTS], home_slot(hashes[i], H[SLOT_COUNT]))
        for i in range(some):
            slot = load64(H[SLOTS], home_slot(hashes[i], H[SLOT_COUNT]))
            if slot != 0 and (slot >> 32) & LOW_MASK == hashes[i]:
                prefetch_read(H[SPANS], 2 * ((slot & LOW_MASK) - 1))
        for i in range(some):
            address, length = addresses[at + i], lengths[at + i]
            place = find_text(H, address, length, hashes[i])
            slot = load64(H[SLOTS], place)
            if slot != 0:
                ids[at + i] = (slot & LOW_MASK) - 1
            elif has_room(H, length):
                ids[at + i] = add_text(H, address, length, hashes[i], place)
            else:
                return at + i
        at += some
    return count


@entry_point("int64(int64[::1], int64, int64)")
def intern_text(H, address, length):
    """Returns the id of one string; -1 if it is new and has no room."""
    hashed = hash_text(address, length)
    place = find_text(H, address, length, hashed)
    slot = load64(H[SLOTS], place)
    if slot != 0:
        return (slot & LOW_MASK) - 1
    return add_text(H, address, length, hashed, place) if has_room(H, length) else -1


@short_entry_point("int64(int64[::1], int64, int64)")
def look_up_text(H, address, length):
    """Returns the id of a string, or -1."""
    slot = load64(H[SLOTS], find_text(H, address, length, hash_text(address, length)))
    return (slot & LOW_MASK) - 1


@entry_point("int64(int64[::1], int64[::1], uint8[::1])")
def refill_texts(H, old, marked):
    """Fills the empty slots from the old ones, which are almost in the order of the hash; returns how many there are.

    With marks, only the marked ids are taken; one that is interned meanwhile has no mark.
    """
    slots, size = H[SLOTS], H[SLOT_COUNT]
    moved = 0
    for i in range(old.size):
        slot = old[i]
        number = (slot & LOW_MASK) - 1
        if slot == 0 or (marked.size != 0 and (number >= marked.size or marked[number] == 0)):
            continue
        at = home_slot((slot >> 32) & LOW_MASK, size)
        while load64(slots, at) != 0:
            at = slot_after(at, size)
        store64(slots, at, slot)
        moved += 1
    return moved


@entry_point("int64(int64[::1], uint8[::1])")
def free_texts(H, marked):
    """Frees the spans of all ids that are not marked, cuts the last ones off, and links the others, lowest first."""
    spans = H[SPANS]
    end = marked.size
    while end > 0 and marked[end - 1] == 0:
        end -= 1
    H[USED], H[FREE], H[LIVE], H[ARENA_LIVE] = end, 0, 0, 0
    for step in range(end):
        number = end - 1 - step
        if marked[number] == 0:
            store64(spans, 2 * number, H[FREE])
            store64(spans, 2 * number + 1, -1)
            H[FREE] = number + 1
        else:
            H[LIVE] += 1
            H[ARENA_LIVE] += load64(spans, 2 * number + 1)
    return end


@entry_point("int64(int64[::1], int64)")
def compact_arena(H, arena):
    """Copies the bytes of all strings to another arena, in the order of their ids; returns how many bytes."""
    spans = H[SPANS]
    end = 0
    for number in range(H[USED]):
        length = load64(spans, 2 * number + 1)
        if length >= 0:
            copy_bytes(arena + end, H[ARENA] + load64(spans, 2 * number), length)
            store64(spans, 2 * number, end)
            end += length
    H[ARENA], H[ARENA_USED], H[ARENA_LIVE] = arena, end, end
    return end


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1])")
def locate_texts(H, ids, addresses, lengths):
    """Writes where the bytes of each string lie, and how many there are (-1 for a free id)."""
    spans, arena = H[SPANS], H[ARENA]
    for i in range(ids.size):
        addresses[i] = arena + load64(spans, 2 * ids[i])
        lengths[i] = load64(spans, 2 * ids[i] + 1)
    return 0


@entry_point("int64(int64[::1], int64[::1], int64)")
def gather_texts(addresses, lengths, target):
    """Copies strings to one place, one after the other; returns the number of bytes."""
    end = 0
    for i in range(lengths.size):
        copy_bytes(target + end, addresses[i], lengths[i])
        end += lengths[i]
    return end


@entry_point("int64(int64[::1], int64[::1], int64[::1])")
def count_characters(addresses, lengths, counts):
    """Writes the number of characters of each string."""
    for i in range(lengths.size):
        count = 0
        for at in range(lengths[i]):
            count += load8(addresses[i] + at) & 0xC0 != 0x80
        counts[i] = count
    return 0


@entry_point("int64(int64[::1], int64, int64[::1])")
def read_words(addresses, place, words):
    """Writes the word at a place behind each address."""
    for i in range(words.size):
        words[i] = load64(addresses[i], place)
    return 0
