r"""Negation in a leapfrog join: the words that a negated literal covers are skipped run by run (003, 3.1.2).

The paper iterates T \ S, S being a subset of T, by counts: an interval with as many keys of S as of T has nothing of
the complement. Here T is the interval itself, all words in it, so that no relation has to be contained in another: a
run of the negated relation's trie is covered if it has as many rows as there are words from its first to its last. A
search gallops for the end of a run, in a page by its words, over pages by the scan tree of counts. So k uncovered words
of n cost about k log n where the covered words are close together, as numbers and interned values are. Where they are
not, each word is sought by itself, which costs as much as a look-up.

Rows that the overlay hides from a pass end a run. If there are many of them, runs are not looked for.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import kernel, load32, load64
from tidelog.engine.local.leapfrog.iterators import (
    END,
    LARGEST,
    OFFSET,
    PLACE,
    key,
    line_at,
    parent_end,
    same_prefix,
    seek_lub,
)
from tidelog.engine.local.leapfrog.page_counts import rows_before
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, page_at, rows_at

# The rows that a pass does not see: none, the inserted ones, the deleted ones.
ALL_SEEN, INSERTED_HIDDEN, DELETED_HIDDEN = 0, 1, 2
# A field of a place: 1 if the negated relation has rows from here on.
IS_OPEN = 3
# Runs are looked for only while at most so many rows are hidden.
FEW_HIDDEN = 64


@kernel
def is_seen(S, relation, line, hidden):
    """True if a pass sees the row at a line."""
    if hidden == ALL_SEEN or S[relation, k.CHANGED] == 0:
        return True
    meta = load64(S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8, S[relation, k.COLUMNS] + k.META)
    return meta >> k.STAMP_SHIFT != (1 if hidden == INSERTED_HIDDEN else -1)


@kernel
def run_in_page(column, offset, end):
    """Returns the last offset before `end` up to which the words have no gap."""
    word = load64(column, offset)
    low = offset
    step = 1
    while low + step < end and load64(column, low + step) - word == low + step - offset:
        low += step
        step += step
    high = min(low + step, end)
    while high - low > 1:
        middle = (low + high) >> 1
        if load64(column, middle) - word == middle - offset:
            low = middle
        else:
            high = middle
    return low


@kernel
def is_reached(A, trie, level, page, offset, before, place):
    """True if a run from a row, with `before` rows before it, covers all words up to the first row of a page."""
    first = page_at(A, trie, place)
    if not same_prefix(page, offset, first, 0, level):
        return False
    words = load64(first + level * COLUMN_BYTES, 0) - load64(page + level * COLUMN_BYTES, offset)
    return words == rows_before(A, trie, place) - before


@kernel
def end_of_run(A, trie, level, places, slot):
    """Returns the last word of the run without a gap that begins at an iterator of the last level."""
    place = places[slot, PLACE]
    offset = places[slot, OFFSET]
    end = places[slot, END]
    page = page_at(A, trie, place)
    column = page + level * COLUMN_BYTES
    at = run_in_page(column, offset, end)
    if at < end - 1 or end < rows_at(A, trie, place):
        return load64(column, at)
    count = A[trie, k.PAGE_COUNT]
    before = rows_before(A, trie, place) + offset
    low = place
    step = 1
    while low + step < count and is_reached(A, trie, level, page, offset, before, low + step):
        low += step
        step += step
    high = min(low + step, count)
    while high - low > 1:
        middle = (low + high) >> 1
        if is_reached(A, trie, level, page, offset, before, middle):
            low = middle
        else:
            high = middle
    if low == place:
        return load64(column, at)
    there = page_at(A, trie, low)
    column = there + level * COLUMN_BYTES
    return load64(column, run_in_page(column, 0, parent_end(there, rows_at(A, trie, low), level)))


@kernel
def covered_until(S, A, trie, relation, level, places, slot, hidden):
    """Returns the last word up to which the iterator's row and those behind it cover all words that a pass sees."""
    word = key(A, trie, level, places, slot)
    lines = changes = 0
    if hidden != ALL_SEEN and S[relation, k.CHANGED] != 0:
        lines = S[relation, k.INSERTED] if hidden == INSERTED_HIDDEN else S[relation, k.DELETED]
        changes = S[relation, k.INSERTED_COUNT] if hidden == INSERTED_HIDDEN else S[relation, k.DELETED_COUNT]
    if changes > FEW_HIDDEN:
        return word
    last = end_of_run(A, trie, level, places, slot)
    page = page_at(A, trie, places[slot, PLACE])
    keys = A[trie, k.KEYS]
    for i in range(changes):
        row = S[relation, k.ROWS] + load32(lines, i) * S[relation, k.WIDTH] * 8
        found = load64(row, load64(keys, level))
        if word < found <= last:
            below = True
            for column in range(level):
                if load64(row, load64(keys, column)) != load64(page + column * COLUMN_BYTES, places[slot, OFFSET]):
                    below = False
                    break
            if below:
                last = found - 1
    return last


@kernel
def past_covered(S, A, code, parts, count, places, word, phase, wave):
    """Returns the first word from `word` on that no negated part of a leapfrog join covers, and True; or False: all
    are.

    A part hides the same rows from a pass as `join.absent`.
    """
    i = 0
    while i < count:
        part = parts + i * k.PART_WIDTH
        i += 1
        trie = load64(code, part + k.PART_TRIE)
        level = load64(code, part + k.PART_LEVEL)
        slot = load64(code, part + k.PART_SLOT)
        relation = load64(code, part + k.PART_RELATION)
        is_before = load64(code, part + k.PART_CHECK) == k.CHECK_BEFORE
        if places[slot, IS_OPEN] == 0:
            continue
        if not seek_lub(A, trie, level, places, slot, word):
            places[slot, IS_OPEN] = 0
            continue
        if key(A, trie, level, places, slot) != word:
            continue
        hidden = ALL_SEEN
        if phase == k.RETRACT:
            if wave == 0 and not is_before:
                hidden = INSERTED_HIDDEN
        elif wave > 0 or is_before:
            hidden = DELETED_HIDDEN
        if not is_seen(S, relation, line_at(A, trie, places, slot), hidden):
            continue
        last = covered_until(S, A, trie, relation, level, places, slot, hidden)
        if last == LARGEST:
            return LARGEST, False
        word = last + 1
        # The parts before this one have not seen the new word.
        i = 0
    return word, True
