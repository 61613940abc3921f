"""The leapfrog join of one variable, as an iterator of the join kernel: a triejoin is one such iterator below another.

The parts are tries, each at the level of the variable. They leap in rounds: the word at which the last one landed is
the candidate; in turn, each part that is not there seeks it, until one lands behind it, which is the next candidate.
Where all parts meet, the word is bound, and the iterators below continue. The first part then moves to its next vertex.

Negated parts are read where all others have met: the words that they cover are skipped, run by run (`negation`).

A part at the last level of its trie is at a row: the overlay's stamp is checked there, and the row's rank counts for
the level of the instance. A vertex whose rows are all hidden by the overlay finds no instances, which does no harm.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import kernel, load64
from tidelog.engine.local.kernels.row_counts import rank_of
from tidelog.engine.local.leapfrog.iterators import (
    END,
    LARGEST,
    OFFSET,
    PLACE,
    key,
    line_at,
    next_vertex,
    open_below,
    open_root,
    seek_lub,
)
from tidelog.engine.local.leapfrog.negation import IS_OPEN, past_covered
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, first_word, page_at

# Ranges are merged word by word, unless one is at least so many times as long as the other.
MUCH_LONGER = 8


@kernel
def open_part(A, code, part, registers, places):
    """Opens a part at its level, through the known words above it; returns False if nothing is there."""
    trie = load64(code, part + k.PART_TRIE)
    level = load64(code, part + k.PART_LEVEL)
    slot = load64(code, part + k.PART_SLOT)
    parent = load64(code, part + k.PART_PARENT)
    known = load64(code, part + k.PART_KNOWN_N)
    known_at = load64(code, part + k.PART_KNOWN_AT)
    at = level - known
    if parent >= 0:
        open_below(A, trie, at, places, parent, slot)
    elif not open_root(A, trie, places, slot):
        return False
    for i in range(known):
        word = registers[load64(code, known_at + i)]
        if not seek_lub(A, trie, at, places, slot, word) or key(A, trie, at, places, slot) != word:
            return False
        at += 1
        open_below(A, trie, at, places, slot, slot)
    return True


@kernel
def open_leap(A, code, block, registers, iterators, node):
    """Opens all parts for a share of the first one's pages; returns the first candidate and True, or LARGEST and False.

    Where the first part starts at its root, a share is a range of its pages: the words from the first page's first row
    up to that of the page behind them.
    """
    parts = load64(code, block + k.KEY_AT)
    count = load64(code, block + k.KEY_N)
    iterators[node, k.LEAP_OPEN] = 1
    candidate = -LARGEST - 1
    trie = load64(code, parts + k.PART_TRIE)
    if load64(code, parts + k.PART_LEVEL) == 0:
        if iterators[node, k.ITER_CURSOR] > 0:
            candidate = first_word(A, trie, iterators[node, k.ITER_CURSOR])
        if iterators[node, k.ITER_END] < A[trie, k.PAGE_COUNT]:
            iterators[node, k.LEAP_OPEN] = 2
            iterators[node, k.LEAP_BOUND] = first_word(A, trie, iterators[node, k.ITER_END])
    for i in range(count):
        part = parts + i * k.PART_WIDTH
        if not open_part(A, code, part, registers, iterators):
            return LARGEST, False
        word = key(
            A, load64(code, part + k.PART_TRIE), load64(code, part + k.PART_LEVEL), iterators,
            load64(code, part + k.PART_SLOT),
        )  # fmt: skip
        candidate = max(candidate, word)
    for i in range(count, count + load64(code, block + k.TARGET)):
        part = parts + i * k.PART_WIDTH
        is_open = open_part(A, code, part, registers, iterators)
        iterators[load64(code, part + k.PART_SLOT), IS_OPEN] = 1 if is_open else 0
    return candidate, True


@kernel
def shares(A, code, block):
    """Returns how many shares a leapfrog join has."""
    part = load64(code, block + k.KEY_AT)
    return A[load64(code, part + k.PART_TRIE), k.PAGE_COUNT] if load64(code, part + k.PART_LEVEL) == 0 else 1


@kernel
def meet_two(A, code, parts, places, candidate):
    """Returns the next word from the candidate on at which two parts meet, and True; or LARGEST and False.

    Makes the same leaps as `meet`, without reading the code in between.
    """
    left = load64(code, parts + k.PART_TRIE)
    left_level = load64(code, parts + k.PART_LEVEL)
    left_slot = load64(code, parts + k.PART_SLOT)
    parts += k.PART_WIDTH
    right = load64(code, parts + k.PART_TRIE)
    right_level = load64(code, parts + k.PART_LEVEL)
    right_slot = load64(code, parts + k.PART_SLOT)
    while True:
        # Within the present pages of both parts.
        column = page_at(A, left, places[left_slot, PLACE]) + left_level * COLUMN_BYTES
        end = places[left_slot, END]
        at = places[left_slot, OFFSET]
        other_column = page_at(A, right, places[right_slot, PLACE]) + right_level * COLUMN_BYTES
        other_end = places[right_slot, END]
        other = places[right_slot, OFFSET]
        word = load64(column, at)
        other_word = load64(other_column, other)
        if (
            (word >= candidate or other_word >= candidate)
            and MUCH_LONGER * (end - at) > other_end - other
            and MUCH_LONGER * (other_end - other) > end - at
        ):
            while word != other_word:
                # Without a branch: no processor can predict which word is smaller.
                at += 1 if word < other_word else 0
                other += 1 if other_word < word else 0
                if at == end or other == other_end:
                    break
                word = load64(column, at)
                other_word = load64(other_column, other)
            else:
                places[left_slot, OFFSET] = at
                places[right_slot, OFFSET] = other
                return word, True
            candidate = max(candidate, other_word if at == end else word)
            at = min(at, end - 1)
            other = min(other, other_end - 1)
        else:
            while load64(column, end - 1) >= candidate:
                at = leap(column, at, end, candidate)
                candidate = load64(column, at)
                if load64(other_column, other_end - 1) < candidate:
                    break
                other = leap(other_column, other, other_end, candidate)
                word = load64(other_column, other)
                if word == candidate:
                    places[left_slot, OFFSET] = at
                    places[right_slot, OFFSET] = other
                    return candidate, True
                candidate = word
        places[left_slot, OFFSET] = at
        places[right_slot, OFFSET] = other
        if not seek_lub(A, left, left_level, places, left_slot, candidate):
            return LARGEST, False
        candidate = key(A, left, left_level, places, left_slot)
        if not seek_lub(A, right, right_level, places, right_slot, candidate):
            return LARGEST, False
        word = key(A, right, right_level, places, right_slot)
        if word == candidate:
            return candidate, True
        candidate = word


@kernel
def leap(column, offset, end, word):
    """Gallops to the first word that is not below `word`; the last word of the range is not below it."""
    if load64(column, offset) >= word:
        return offset
    step = 1
    while offset + step < end and load64(column, offset + step) < word:
        offset += step
        step += step
    high = min(offset + step, end - 1)
    offset += 1
    while offset < high:
        middle = (offset + high) >> 1
        if load64(column, middle) < word:
            offset = middle + 1
        else:
            high = middle
    return offset


@kernel
def meet(A, code, parts, count, places, candidate):
    """Returns the next word from the candidate on at which all parts meet, and True; or LARGEST and False."""
    i = 0
    while i < count:
        part = parts + i * k.PART_WIDTH
        trie = load64(code, part + k.PART_TRIE)
        level = load64(code, part + k.PART_LEVEL)
        slot = load64(code, part + k.PART_SLOT)
        if not seek_lub(A, trie, level, places, slot, candidate):
            return LARGEST, False
        word = key(A, trie, level, places, slot)
        i += 1
        if word != candidate:
            candidate = word
            # This part is at the candidate, the others are not. (To seek the present word costs a comparison.)
            i = 0
    return candidate, True


@kernel
def sees_all(S, code, part, phase, wave):
    """True if the overlay hides no row of a part from this pass: then its rows need not be read."""
    relation = load64(code, part + k.PART_RELATION)
    if S[relation, k.CHANGED] == 0:
        return True
    if phase == k.RETRACT or load64(code, part + k.PART_INSIDE) != 0 or S[relation, k.DELETED_COUNT] > 0:
        return False
    return wave > 0 or load64(code, part + k.PART_CHECK) == k.CHECK_BEFORE


@kernel
def rows_level(S, A, code, parts, count, places, level, phase, wave):
    """Returns the level of the instance with the rows of the parts at their last level; -1 if one is hidden."""
    for i in range(count):
        part = parts + i * k.PART_WIDTH
        if load64(code, part + k.PART_LAST) == 0:
            continue
        relation = load64(code, part + k.PART_RELATION)
        inside = load64(code, part + k.PART_INSIDE)
        is_changed = not sees_all(S, code, part, phase, wave)
        if not is_changed and inside == 0:
            continue
        line = line_at(A, load64(code, part + k.PART_TRIE), places, load64(code, part + k.PART_SLOT))
        meta = load64(S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8, S[relation, k.COLUMNS] + k.META)
        stamp = meta >> k.STAMP_SHIFT
        if is_changed:
            before = 1 if load64(code, part + k.PART_CHECK) == k.CHECK_BEFORE else 0
            if phase == k.RETRACT:
                if stamp > 0 or (stamp < 0 and stamp > -(wave + 1 + before)):
                    return -1
            elif stamp < 0 or stamp > wave + before:
                return -1
        if inside != 0:
            level = max(level, rank_of(meta, S[relation, k.WIDE]))
    return level


@kernel
def leapfrog(S, A, code, block, registers, iterators, node, level, phase, wave):
    """Moves to the next word at which all parts meet; returns its level, or -1 if there is none, and how many leaps it
    took."""
    parts = load64(code, block + k.KEY_AT)
    count = load64(code, block + k.KEY_N)
    trie = load64(code, parts + k.PART_TRIE)
    first_level = load64(code, parts + k.PART_LEVEL)
    slot = load64(code, parts + k.PART_SLOT)
    met = 0
    if iterators[node, k.LEAP_OPEN] == 0:
        candidate, found = open_leap(A, code, block, registers, iterators, node)
        if not found:
            return -1, 1
    else:
        if not next_vertex(A, trie, first_level, iterators, slot):
            return -1, 1
        candidate = key(A, trie, first_level, iterators, slot)
    while True:
        met += 1
        if count == 2:
            candidate, found = meet_two(A, code, parts, iterators, candidate)
        else:
            candidate, found = meet(A, code, parts, count, iterators, candidate)
        if not found or (iterators[node, k.LEAP_OPEN] == 2 and candidate >= iterators[node, k.LEAP_BOUND]):
            return -1, met
        if load64(code, block + k.TARGET) > 0:
            covering = parts + count * k.PART_WIDTH
            left, found = past_covered(
                S, A, code, covering, load64(code, block + k.TARGET), iterators, candidate, phase, wave
            )
            if not found:
                return -1, met
            if left != candidate:
                candidate = left
                continue
        found_level = rows_level(S, A, code, parts, count, iterators, level, phase, wave)
        if found_level >= 0:
            if load64(code, block + k.BIND_N) > 0:
                registers[load64(code, load64(code, block + k.BIND_AT) + 1)] = candidate
            return found_level, met
        if not next_vertex(A, trie, first_level, iterators, slot):
            return -1, met
        candidate = key(A, trie, first_level, iterators, slot)
