"""The trace of a leapfrog triejoin: evaluated, recorded, and maintained where it changes (paper 003, section 4).

The body is evaluated key variable by key variable. At a node (values of the variables before) the parts of a level leap
in rounds; each seek, next and open leaves the interval to which the trace is sensitive. A look-up of a row whose
variables are all known leaves a point, and a negated part the interval of values that it covers (`leapfrog/negation`).
The changes of an epoch in the tries are matched with these intervals: that gives regions of nodes, and only there the
old and the new body are evaluated and compared.

Both versions are read from the same tries, by the overlay's stamps: OLD has the deleted rows, NEW the inserted ones.

Invariant, for each node that is reached and each value at it: if all parts have the value, it is covered by an interval
of every part that has an index; if a part has not, it is covered by an interval of such a part, or that part has no
index. A part has no index if the variables before it are all its own: then a change itself names its node.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import find_row
from tidelog.engine.local.kernels.join import run_tail
from tidelog.engine.local.kernels.memory import HASH_START, entry_point, hash_end, hash_word, kernel, load64
from tidelog.engine.local.leapfrog.iterators import (
    LARGEST,
    OFFSET,
    PLACE,
    key,
    line_at,
    open_below,
    open_root,
    same_prefix,
    seek_lub,
)
from tidelog.engine.local.leapfrog.negation import DELETED_HIDDEN, INSERTED_HIDDEN, covered_until, is_seen
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, page_at, rows_at
from tidelog.engine.local.strategies.trace.sensitivity import SMALLEST_WORD

OLD, NEW = 0, 1
# A line of `levels`: a key variable.
PARTS_AT, PARTS_N, TAIL_AT, TAIL_N, LOOKS_AT, LOOKS_N, KEY_REGISTER = 0, 1, 2, 3, 4, 5, 6
# A line of `parts`: first those of tries, then look-ups, which have no TRIE (-1), and negated tries. KNOWN: registers
# of the columns before (of a look-up: of all columns). OTHERS: registers of the other known variables. COLUMNS: without
# an index, the columns of the variables before.
TRIE, TRIE_LEVEL, PART_RELATION, KNOWN_AT, KNOWN_N, INDEX, OTHERS_AT, OTHERS_N = 0, 1, 2, 3, 4, 5, 6, 7
PART_LEVEL, NEGATED, COLUMNS_AT, ORDER_AT = 8, 9, 10, 11
PART_FIELDS = 12
# The control words of an evaluation.
VERSION, RECORDING, WHOLE, LEVEL, REGION, STARTED, OUT_COUNT, RECORD_COUNT = 0, 1, 2, 3, 4, 5, 6, 7
OPERATIONS, VISITED, COVERED = 8, 9, 10  # COVERED: the last of the values that a negated part is known to have
PAUSE_AT = 11  # after so many operations Python checks the deadline
CONTROL_FIELDS = 12
# The state of a level while it is evaluated: the candidate, the end of the region, the next step.
CANDIDATE, UP_TO, TURN = 0, 1, 2
OPENING, LEAPING, MET = 0, 1, 2  # steps
NO_MATCH, MATCH, CROWDED = 0, 1, 2
DONE, FULL = 0, 1
REGION_LEVEL, REGION_VALUES = 0, 1  # behind the values of all key variables: from, to
RECORD_INDEX, RECORD_SIGN, RECORD_WORDS = 0, 1, 2


@kernel
def is_visible(S, relation, line, version):
    """True if the version has the row at a line."""
    meta = load64(S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8, S[relation, k.COLUMNS] + k.META)
    stamp = meta >> k.STAMP_SHIFT
    return stamp == 0 or stamp == (1 if version == NEW else -1)


@kernel
def has_vertex(S, A, parts, part, places, slot, version):
    """True if the version has a row below the vertex of an iterator."""
    relation = parts[part, PART_RELATION]
    if S[relation, k.CHANGED] == 0:
        return True
    trie = parts[part, TRIE]
    columns = A[trie, k.KEY_COUNT]
    place = places[slot, PLACE]
    offset = places[slot, OFFSET]
    first = page_at(A, trie, place)
    first_offset = offset
    while place < A[trie, k.PAGE_COUNT]:
        page = page_at(A, trie, place)
        for at in range(offset, rows_at(A, trie, place)):
            if not same_prefix(first, first_offset, page, at, parts[part, TRIE_LEVEL] + 1):
                return False
            if is_visible(S, relation, load64(page + columns * COLUMN_BYTES, at), version):
                return True
        place += 1
        offset = 0
    return False


@kernel
def seek(S, A, parts, part, places, slot, word, version):
    """Moves to the first vertex of the version that is not below a word; returns it and True, or LARGEST and False."""
    trie = parts[part, TRIE]
    level = parts[part, TRIE_LEVEL]
    while seek_lub(A, trie, level, places, slot, word):
        found = key(A, trie, level, places, slot)
        if has_vertex(S, A, parts, part, places, slot, version):
            return found, True
        if found == LARGEST:
            break
        word = found + 1
    return LARGEST, False


@kernel
def open_at(A, parts, part, words, registers, places, slot):
    """Opens a part below the known words; returns False if nothing is there."""
    trie = parts[part, TRIE]
    if not open_root(A, trie, places, slot):
        return False
    for level in range(parts[part, KNOWN_N]):
        word = registers[load64(words, parts[part, KNOWN_AT] + level)]
        if not seek_lub(A, trie, level, places, slot, word) or key(A, trie, level, places, slot) != word:
            return False
        open_below(A, trie, level + 1, places, slot, slot)
    return True


@kernel
def record(control, parts, part, words, registers, first, last, records):
    """Records an interval: the index, the sign, and the record behind them."""
    index = parts[part, INDEX]
    if control[RECORDING] == 0 or index < 0:
        return
    at = control[RECORD_COUNT]
    records[at, RECORD_INDEX] = index
    records[at, RECORD_SIGN] = control[RECORDING]
    place = RECORD_WORDS
    for i in range(parts[part, KNOWN_N]):
        records[at, place] = registers[load64(words, parts[part, KNOWN_AT] + i)]
        place += 1
    records[at, place] = first
    place += 1
    for i in range(parts[part, OTHERS_N]):
        records[at, place] = registers[load64(words, parts[part, OTHERS_AT] + i)]
        place += 1
    records[at, place] = last
    control[RECORD_COUNT] = at + 1


@kernel
def is_covered(S, A, parts, look, words, registers, places, word, version, control, records):
    """True if a version has the value in a negated part: then it has all values up to COVERED too, and one interval is
    recorded. That is enough for these values: each of them fails because of this part.
    """
    control[OPERATIONS] += 1
    trie = parts[look, TRIE]
    level = parts[look, TRIE_LEVEL]
    relation = parts[look, PART_RELATION]
    hidden = INSERTED_HIDDEN if version == OLD else DELETED_HIDDEN
    last = word
    covered = False
    if (
        open_at(A, parts, look, words, registers, places, look)
        and seek_lub(A, trie, level, places, look, word)
        and key(A, trie, level, places, look) == word
        and is_seen(S, relation, line_at(A, trie, places, look), hidden)
    ):
        covered = True
        last = covered_until(S, A, trie, relation, level, places, look, hidden)
        control[COVERED] = last
    record(control, parts, look, words, registers, word, last, records)
    return covered


@kernel
def passes(S, A, levels, parts, words, level, registers, places, version, control, records, scratch):
    """True if conditions and look-ups of a level hold in a version, once its variable has a value. If they do not, they
    do not up to COVERED either."""
    control[COVERED] = registers[levels[level, KEY_REGISTER]]
    tail, count = levels[level, TAIL_AT], levels[level, TAIL_N]
    if count > 0 and run_tail(S, words, tail, count, registers, k.INSERT, 0, scratch) != 1:
        return False
    word = registers[levels[level, KEY_REGISTER]]
    for i in range(levels[level, LOOKS_N]):
        look = levels[level, LOOKS_AT] + i
        if parts[look, TRIE] >= 0:
            if is_covered(S, A, parts, look, words, registers, places, word, version, control, records):
                return False
            continue
        relation = parts[look, PART_RELATION]
        for column in range(parts[look, KNOWN_N]):
            scratch[column] = registers[load64(words, parts[look, KNOWN_AT] + column)]
        control[OPERATIONS] += 1
        line = find_row(S, relation, scratch.ctypes.data)
        there = line >= 0 and (S[relation, k.CHANGED] == 0 or is_visible(S, relation, line, version))
        record(control, parts, look, words, registers, word, word, records)
        if there == (parts[look, NEGATED] != 0):
            return False
    return True


@kernel
def matches(S, A, levels, parts, words, level, word, registers, places, version, control, records, scratch):
    """True if all parts of a level meet at a value in a version, and its conditions hold. Records nothing."""
    recording = control[RECORDING]
    control[RECORDING] = 0
    slot = places.shape[0] - 1
    registers[levels[level, KEY_REGISTER]] = word
    holds = True
    for i in range(levels[level, PARTS_N]):
        part = levels[level, PARTS_AT] + i
        control[OPERATIONS] += 1
        if not open_at(A, parts, part, words, registers, places, slot):
            holds = False
            break
        found, there = seek(S, A, parts, part, places, slot, word, version)
        if not there or found != word:
            holds = False
            break
    holds = holds and passes(S, A, levels, parts, words, level, registers, places, version, control, records, scratch)
    control[RECORDING] = recording
    return holds


@kernel
def start_level(A, levels, parts, words, level, registers, places, states, lowest, up_to, control, records):
    """Starts to evaluate a level at a node, from a value on. Returns False if a part has nothing there, and records its
    interval: it is sensitive to everything below the prefix that it has not, the certificate that nothing is there."""
    states[level, CANDIDATE] = lowest
    states[level, UP_TO] = up_to
    states[level, TURN] = OPENING
    for i in range(levels[level, PARTS_N]):
        part = levels[level, PARTS_AT] + i
        if not open_at(A, parts, part, words, registers, places, part):
            control[OPERATIONS] += i + 1
            record(control, parts, part, words, registers, lowest, LARGEST, records)
            return False
    return True


@kernel
def next_match(S, A, levels, parts, words, level, registers, places, states, control, records):
    """Moves to the next value of a level at which its parts meet. Returns MATCH; NO_MATCH if there is none up to the
    region's end; CROWDED if the records must be emptied first, or a pause is due.

    The rounds of the paper: in the first, each part is opened, or seeks the beginning of the region; then those that
    are behind the candidate seek it, in turn, until one lands behind it. When all are at it they have met, and the
    first part continues.
    """
    version = control[VERSION]
    first = levels[level, PARTS_AT]
    count = levels[level, PARTS_N]
    candidate = states[level, CANDIDATE]
    up_to = states[level, UP_TO]
    turn = states[level, TURN]
    states[level, TURN] = LEAPING
    if turn == OPENING:
        lowest = candidate
        for i in range(count):
            control[OPERATIONS] += 1
            word, there = seek(S, A, parts, first + i, places, first + i, lowest, version)
            record(control, parts, first + i, words, registers, lowest, word, records)
            if not there:
                return NO_MATCH
            candidate = max(candidate, word)
    elif turn == MET:
        control[OPERATIONS] += 1
        if candidate == LARGEST:
            return NO_MATCH
        word, there = seek(S, A, parts, first, places, first, candidate + 1, version)
        record(control, parts, first, words, registers, candidate, word, records)
        if not there:
            return NO_MATCH
        candidate = word
    i = 0
    while i < count:
        if candidate > up_to:
            return NO_MATCH
        if control[RECORD_COUNT] + 1 >= records.shape[0] or control[OPERATIONS] >= control[PAUSE_AT]:
            states[level, CANDIDATE] = candidate
            return CROWDED
        part = first + i
        i += 1
        if key(A, parts[part, TRIE], parts[part, TRIE_LEVEL], places, part) == candidate:
            continue
        control[OPERATIONS] += 1
        word, there = seek(S, A, parts, part, places, part, candidate, version)
        record(control, parts, part, words, registers, candidate, word, records)
        if not there:
            return NO_MATCH
        if word != candidate:
            candidate = word
            i = 0
    if candidate > up_to:
        return NO_MATCH
    states[level, CANDIDATE] = candidate
    states[level, TURN] = MET
    registers[levels[level, KEY_REGISTER]] = candidate
    return MATCH


@kernel
def emit(words, head_at, columns, registers, out, control):
    """Writes an instance of the head."""
    at = control[OUT_COUNT] * (columns + k.INSTANCE_EXTRA)
    state = HASH_START
    for i in range(columns):
        word = registers[load64(words, head_at + i)]
        out[at + i] = word
        state = hash_word(state, word)
    out[at + columns + k.INSTANCE_LEVEL] = 0
    out[at + columns + k.INSTANCE_HASH] = hash_end(state)
    control[OUT_COUNT] += 1


@kernel
def is_live(S, A, levels, parts, words, depth, registers, places, version, control, records, scratch):
    """True if a version reaches the node whose values are in the registers of the first `depth` levels."""
    for level in range(depth):
        word = registers[levels[level, KEY_REGISTER]]
        if not matches(S, A, levels, parts, words, level, word, registers, places, version, control, records, scratch):
            return False
    return True


@entry_point(
    "int64(int64[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1],"
    " int64[:,::1], int64[:,::1], int64[::1], int64, int64, int64[:,::1], int64[::1])"
)
def evaluate(
    control, S, A, levels, parts, code, registers, places, states, regions, out, head_at, columns, records, scratch
):
    """Evaluates the regions (level, values before it, from, to) in one version; returns DONE, or FULL: the caller
    empties the buffers, which may be empty if a pause was due, and calls again.

    Values of a region's own level that the other version has too are not evaluated further: they have regions of their
    own. With RECORDING the intervals are recorded with that sign; those of a region's own level only if it is positive.
    """
    words = code.ctypes.data
    version = control[VERSION]
    sign = control[RECORDING]
    depth = levels.shape[0]
    room = out.size // (columns + k.INSTANCE_EXTRA)
    spare = parts.shape[0] + 2
    while control[REGION] < regions.shape[0]:
        if control[OPERATIONS] >= control[PAUSE_AT]:
            return FULL
        region = control[REGION]
        first = regions[region, REGION_LEVEL]
        if control[STARTED] == 0:
            for level in range(first):
                registers[levels[level, KEY_REGISTER]] = regions[region, REGION_VALUES + level]
            if control[WHOLE] == 0:
                control[RECORDING] = 0
                live = is_live(S, A, levels, parts, words, first, registers, places, OLD, control, records, scratch)
                live = live and is_live(
                    S, A, levels, parts, words, first, registers, places, NEW, control, records, scratch
                )
                control[RECORDING] = sign
                if not live:
                    control[REGION] += 1
                    continue
            control[VISITED] += 1
            lowest = regions[region, REGION_VALUES + depth]
            up_to = regions[region, REGION_VALUES + depth + 1]
            if not start_level(
                A, levels, parts, words, first, registers, places, states, lowest, up_to, control, records
            ):
                control[REGION] += 1
                continue
            control[STARTED] = 1
            control[LEVEL] = first
        while control[LEVEL] >= first:
            if control[OUT_COUNT] >= room or control[RECORD_COUNT] + spare + 4 * depth >= records.shape[0]:
                return FULL
            if control[OPERATIONS] >= control[PAUSE_AT]:
                return FULL
            level = control[LEVEL]
            control[RECORDING] = sign if sign > 0 or level > first else 0
            found = next_match(S, A, levels, parts, words, level, registers, places, states, control, records)
            if found == CROWDED:
                control[RECORDING] = sign
                return FULL
            if found == NO_MATCH:
                control[LEVEL] = level - 1
                control[RECORDING] = sign
                continue
            holds = passes(S, A, levels, parts, words, level, registers, places, version, control, records, scratch)
            control[RECORDING] = sign
            if not holds:
                states[level, CANDIDATE] = control[COVERED]
                continue
            if level == first and control[WHOLE] == 0:
                word = states[level, CANDIDATE]
                if matches(
                    S, A, levels, parts, words, level, word, registers, places, 1 - version, control, records, scratch
                ):
                    continue
            if level == depth - 1:
                emit(words, head_at, columns, registers, out, control)
                continue
            lowest, up_to, below = SMALLEST_WORD, LARGEST, level + 1
            if start_level(A, levels, parts, words, below, registers, places, states, lowest, up_to, control, records):
                control[LEVEL] = below
        control[STARTED] = 0
        control[REGION] += 1
    return DONE
