"""The end of most triejoins: two tries meet at their last level, and each word is an instance.

`triejoin.leapfrog` finds the first word. From there on the words of the two pages are merged and emitted without
reading registers and code for each word; at the end of one of the pages, the iterators are set so that the next step of
`leapfrog` continues there.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import HASH_START, hash_end, hash_word, kernel, load64, store64
from tidelog.engine.local.leapfrog.iterators import END, OFFSET, PLACE
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, page_at
from tidelog.engine.local.leapfrog.triejoin import MUCH_LONGER, leap, sees_all


@kernel
def is_plain(S, code, block, phase, wave):
    """True if a leap is the end of a rule where only the words of two tries count."""
    parts = load64(code, block + k.KEY_AT)
    if (
        load64(code, block + k.KEY_N) != 2
        or load64(code, block + k.TARGET) != 0
        or load64(code, block + k.TAIL_N) != 0
        or load64(code, block + k.CHILD) >= 0
        or load64(code, block + k.EMIT_N) != 1
        or load64(code, block + k.BIND_N) == 0
        or not 0 < load64(code, load64(code, block + k.EMIT_AT) + k.EMIT_COUNT) <= 3
    ):
        return False
    for part in (parts, parts + k.PART_WIDTH):
        if load64(code, part + k.PART_LAST) == 0 or load64(code, part + k.PART_INSIDE) != 0:
            return False
        if not sees_all(S, code, part, phase, wave):
            return False
    return True


@kernel
def emit_meets(A, code, block, registers, places, level, threads, buffers, counts, tally):
    """Emits the word at which both parts are and the common words that follow in their pages.

    Returns how many words there were, and whether a buffer is full.
    """
    emit = load64(code, block + k.EMIT_AT)
    n = load64(code, emit + k.EMIT_COUNT)
    first = load64(code, emit + k.EMIT_SLOT) * threads
    bound = load64(code, load64(code, block + k.BIND_AT) + 1)
    register_0 = load64(code, emit + k.EMIT_REGISTERS)
    register_1 = load64(code, emit + k.EMIT_REGISTERS + 1) if n > 1 else -1
    register_2 = load64(code, emit + k.EMIT_REGISTERS + 2) if n > 2 else -1
    word_0 = registers[register_0]
    word_1 = registers[register_1] if n > 1 else 0
    word_2 = registers[register_2] if n > 2 else 0
    parts = load64(code, block + k.KEY_AT)
    left_slot = load64(code, parts + k.PART_SLOT)
    left_page = page_at(A, load64(code, parts + k.PART_TRIE), places[left_slot, PLACE])
    left = left_page + load64(code, parts + k.PART_LEVEL) * COLUMN_BYTES
    parts += k.PART_WIDTH
    right_slot = load64(code, parts + k.PART_SLOT)
    right_page = page_at(A, load64(code, parts + k.PART_TRIE), places[right_slot, PLACE])
    right = right_page + load64(code, parts + k.PART_LEVEL) * COLUMN_BYTES
    at = places[left_slot, OFFSET]
    end = places[left_slot, END]
    other = places[right_slot, OFFSET]
    other_end = places[right_slot, END]
    word = load64(left, at)
    found = 0
    while True:
        if register_0 == bound:
            word_0 = word
        if register_1 == bound:
            word_1 = word
        if register_2 == bound:
            word_2 = word
        state = hash_word(HASH_START, word_0)
        if n > 1:
            state = hash_word(state, word_1)
        if n > 2:
            state = hash_word(state, word_2)
        hashed = hash_end(state)
        buffer = first + ((hashed * threads) >> k.HASH_SHIFT)
        line = buffers[buffer] + counts[buffer] * (n + k.INSTANCE_EXTRA) * 8
        store64(line, 0, word_0)
        if n > 1:
            store64(line, 1, word_1)
        if n > 2:
            store64(line, 2, word_2)
        store64(line, n + k.INSTANCE_LEVEL, level)
        store64(line, n + k.INSTANCE_HASH, hashed)
        counts[buffer] += 1
        found += 1
        at += 1
        other += 1
        if counts[buffer] >= k.OUT_ROWS or at == end or other == other_end:
            break
        word = load64(left, at)
        other_word = load64(right, other)
        if MUCH_LONGER * (end - at) > other_end - other and MUCH_LONGER * (other_end - other) > end - at:
            while word != other_word:
                # Without a branch: no processor can predict which word is smaller.
                at += 1 if word < other_word else 0
                other += 1 if other_word < word else 0
                if at == end or other == other_end:
                    break
                word = load64(left, at)
                other_word = load64(right, other)
        else:
            while word != other_word:
                if word < other_word:
                    if load64(left, end - 1) < other_word:
                        at = end
                        break
                    at = leap(left, at, end, other_word)
                    word = load64(left, at)
                else:
                    if load64(right, other_end - 1) < word:
                        other = other_end
                        break
                    other = leap(right, other, other_end, word)
                    other_word = load64(right, other)
        if at == end or other == other_end:
            break
    # The next step of `leapfrog` moves the first part to its next vertex, and seeks that in the other.
    places[left_slot, OFFSET] = at - 1
    places[right_slot, OFFSET] = min(other, other_end - 1)
    tally[load64(code, emit + k.EMIT_TALLY)] += found
    return found, counts[buffer] >= k.OUT_ROWS
