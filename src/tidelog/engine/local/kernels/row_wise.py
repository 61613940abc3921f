"""Waves of a Bootstrap that go head by head: all instances of a wave whose heads begin alike, then the next beginning.

One column of a head relation is its prefix; the ids of the others are the digits of one number, the value. For each
prefix the rules run from the prefix to the value, and the instances of each value are added up in counters: a dense
array, or, where values may be too many, a small hash table; both stay in the caches. So the store is touched once for
each head of a wave, not once for each instance, and no head is looked up by its hash. It is Gustavson's row-wise
product of sparse matrices. No two threads have the same prefix, so nothing is atomic but the next share.

Bodies read lists of ids (`row_lists`), where what the last wave brought is the end of each list. An instance belongs to
this wave if one of its rows does: the last literal of the stratum reads only the ends of lists where no row before it
is new. Filters and rows that must not be there are checked as soon as their variables are known, on words; so are the
words made that rules make, each of which has an id.

Each instance of wave w has level w: a row that was there gets a higher total and nothing else; a row that was not has
rank w + 1, and all its instances count (docs/decisions/0002).
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import find_row
from tidelog.engine.local.kernels.join import run_tail
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    atomic_add,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    inlined,
    kernel,
    load32,
    load64,
    prefetch,
    prefetch_read,
    store32,
    store64,
)
from tidelog.engine.local.kernels.row_counts import set_numbers, set_total, total_of, with_rank
from tidelog.engine.local.kernels.row_lists import (
    AHEAD,
    GROUP_PREFIX,
    GROUP_ROWS,
    GROUP_WORDS,
    LIST_LINES,
    LIST_RECORDS,
    LIST_STRIDE,
    LIST_TABLE,
    RECORD_BYTES,
    RECORD_LENGTH,
    RECORD_OLD,
    RECORD_START,
    digit_of,
    find_record,
)
from tidelog.engine.local.kernels.row_words import FIND_MISSED, id_of

# The code of one head relation: its number of rules, where each starts; a rule; its literals. A number that is made of
# digits is a sum of registers times factors, given as pairs.
RULE_LITERALS, RULE_PREFIX, RULE_VALUE_N, RULE_VALUE_AT, RULE_ENDS, RULE_WIDTH = 0, 1, 2, 3, 4, 5
# RULE_ENDS: each entry of the last list is an instance with a value of its own; or all have the same value.
ENDS_ANYHOW, ENDS_IN_LIST, ENDS_IN_LENGTH = 0, 1, 2
LITERAL_LIST, LITERAL_KEY_N, LITERAL_KEY_AT, LITERAL_INSIDE, LITERAL_READS = 0, 1, 2, 3, 4
LITERAL_BIND_N, LITERAL_BIND_AT, LITERAL_EQUAL_N, LITERAL_EQUAL_AT = 5, 6, 7, 8
LITERAL_CHECK_N, LITERAL_CHECK_AT, LITERAL_LOAD_N, LITERAL_LOAD_AT, LITERAL_TAIL_N, LITERAL_TAIL_AT = (
    9,
    10,
    11,
    12,
    13,
    14,
)
LITERAL_LEADS, LITERAL_MARK_N, LITERAL_MARK_AT = 15, 16, 17
LITERAL_MAKE_N, LITERAL_MAKE_AT, LITERAL_SIEVE = 18, 19, 20
# LITERAL_PART_N: an entry is one number with so many words as its digits (`digit`).
LITERAL_PART_N, LITERAL_PART_AT = 21, 22
# LITERAL_PASSES: 1 if `passes` is asked about each entry, and ASKS_FOR_ABSENCE if `are_absent` is.
LITERAL_PASSES, LITERAL_ABSENT_N, LITERAL_ABSENT_AT, LITERAL_WIDTH = 23, 24, 25, 26
ASKS_FOR_ABSENCE = 2
ENDS_UNMARKED = 4  # and that is all that the last literal asks, for a list of single words that it binds
# Of each word: how to divide by its radix, by that of the digit above it, and its size.
PART_LOW, PART_LOW_SHIFT, PART_HIGH, PART_HIGH_SHIFT, PART_SIZE, PART_WIDTH = 0, 1, 2, 3, 4, 5
# LITERAL_READS: all rows; new ones unless a row before is new; new ones; old ones.
READS_ALL, READS_LAST, READS_NEW, READS_OLD = 0, 1, 2, 3
# What leads to the list in which a rule ends: pairs of the key and of the value from registers that are known before,
# then for each word of an entry its factor in the key and in the value.
LEAD_KEYS, LEAD_VALUES, LEAD_PAIRS = 0, 1, 2
# The next literal looks for the only word of an entry by marks: the word's factor in what is marked, and the rest of
# that, as pairs. So entries whose word is not marked are passed over at once.
SIEVE_FACTOR, SIEVE_N, SIEVE_PAIRS = 0, 1, 2
# Rows that must not be there: their list, and where the marks of its words are; then the pairs of its key and those of
# the word that is looked for. The marks are the present generation, an empty place, the key whose words have it, and
# the generation of each of so many words that there may be.
ABSENT_LIST, ABSENT_AREA, ABSENT_KEY_N, ABSENT_MARK_N, ABSENT_SPACE, ABSENT_PAIRS = 0, 1, 2, 3, 4, 5
ABSENT_MARKED_KEY, ABSENT_MARKS_AT = 1, 4  # a word of 64 bits, places of 32 bits
LAST_GENERATION = (1 << 31) - 1
CHECK_RELATION, CHECK_WANTED, CHECK_COLUMNS, CHECK_REGISTERS = 0, 1, 2, 3  # then pairs: register, domain
LOAD_TARGET, LOAD_REGISTER, LOAD_DOMAIN, LOAD_WIDTH = 0, 1, 2, 3
# A word that the tail makes: its register, the register for its id, and where the finder of its domain is
# (`row_words`), among the addresses of the words of all domains.
MAKE_SOURCE, MAKE_REGISTER, MAKE_FINDER, MAKE_WIDTH = 0, 1, 2, 3
PREFIX_REGISTER = 0

# A line of the stack: one literal of the rule that runs.
CURSOR, END, START, OLD, IS_NEW, STACK_WIDTH = 0, 1, 2, 3, 4, 5

# The words of a worker: one thread's part of a wave, for one head relation.
NEXT, LAST, IS_GATHERED, FOUND, MODE = 0, 1, 2, 3, 4
INSTANCES, VISITED, LARGEST, YIELD_AT = 5, 6, 7, 8
ROWS_OUT, ROWS_ROOM, GROUPS_OUT = 9, 10, 11
OUT_VALUES, OUT_COUNTS, OUT_GROUPS = 12, 13, 14  # addresses: 32 bits, 64 bits, and groups of GROUP_WORDS words
COUNTERS, WIDE_COUNTERS, TOUCHED = 15, 16, 17  # addresses: 32 bits, 64 bits and 32 bits for each value
PREFIXES, SHARE = 18, 19  # how many there are; how many a thread takes at a time
MOST, MOST_TOTAL = 20, 21  # instances of one prefix that 32 bits can count; the largest total of a row of 32 bits
HASH_KEYS, HASH_COUNTS, HASH_MASK, HASH_IS_FULL = 22, 23, 24, 25  # of a table: value + 1 and instances in each slot
IS_HASHED = 26
ACTIVE = 27  # address of the prefixes of the wave, or 0: all
# MARKS: address of the last generation, an empty place, then generation and place of each word, of 32 bits.
MARKS, MARKED_LIST, MARKED_KEY = 28, 29, 30
ABSENT = 31  # address of the marks of rows that must not be there
# PLACES: address of the line + 1 of each row that is there, by prefix and value, 32 bits each, or 0; PLACE_VALUES: how
# many values a prefix has there. SCANNED: rows of prefixes that were looked at to find those with instances.
PLACES, PLACE_VALUES, SCANNED = 32, 33, 34
SCAN_PART = 4  # of the rows of a prefix: if so many values were counted, all of its rows are looked at
WORKER_WORDS = 40
NARROW, WIDE, HASHED, JOBS = 0, 1, 2, 3  # MODE
# With JOBS, instances are not counted but written down: OUT_VALUES has ROWS_ROOM words of 32 bits.

FETCHED_AHEAD = 8

# Results of `gather_prefixes`.
GATHERED, OUT_FULL, TOO_LARGE, GATHER_YIELDED, COUNTERS_FULL = 0, 1, 2, 3, 4


# Counters


@inlined
def add_list(pool, first, end, offset, counters, touched, found):
    """Counts each value of a list; those that were not counted before are `touched`. Returns how many those are."""
    for at in range(first, end):
        value = load32(pool, at) + offset
        times = load32(counters, value)
        store32(touched, found, value)
        found += 1 if times == 0 else 0
        store32(counters, value, times + 1)
    return found


@kernel
def add_other_list(pool, first, end, offset, worker, mode, found):
    """Does what `add_list` does, with other counters."""
    for at in range(first, end):
        found = add_times(load32(pool, at) + offset, 1, worker, mode, found)
    return found


@kernel
def add_times(value, more, worker, mode, found):
    """Adds instances of one value; returns how many values are touched."""
    touched = worker[TOUCHED]
    if mode == HASHED:
        at = slot_of(value, worker)
        if load32(worker[HASH_KEYS], at) == 0:
            if 2 * (found + 1) > worker[HASH_MASK]:
                worker[HASH_IS_FULL] = 1
                return found
            store32(worker[HASH_KEYS], at, value + 1)
            store32(touched, found, at)
            found += 1
        store64(worker[HASH_COUNTS], at, load64(worker[HASH_COUNTS], at) + more)
        return found
    if mode == WIDE:
        times = load64(worker[WIDE_COUNTERS], value)
        store64(worker[WIDE_COUNTERS], value, times + more)
    else:
        times = load32(worker[COUNTERS], value)
        store32(worker[COUNTERS], value, times + more)
    if times == 0:
        store32(touched, found, value)
        found += 1
    return found


@kernel
def slot_of(value, worker):
    """Returns the slot of a value in the hash table, or the empty slot for it."""
    keys, mask = worker[HASH_KEYS], worker[HASH_MASK]
    at = hash_end(hash_word(HASH_START, value)) & mask
    while load32(keys, at) != 0 and load32(keys, at) != value + 1:
        at = (at + 1) & mask
    return at


@inlined
def take_times(value, worker, mode):
    """Returns how many instances of a value were counted, and makes it none."""
    if mode == NARROW:
        times = load32(worker[COUNTERS], value)
        if times != 0:
            store32(worker[COUNTERS], value, 0)
        return times
    return take_other_times(value, worker, mode)


@kernel
def take_other_times(value, worker, mode):
    """Does what `take_times` does, with other counters."""
    if mode == HASHED:
        at = slot_of(value, worker)
        if load32(worker[HASH_KEYS], at) == 0:
            return 0
        times = load64(worker[HASH_COUNTS], at)
        store64(worker[HASH_COUNTS], at, 0)
        return times
    times = load64(worker[WIDE_COUNTERS], value)
    store64(worker[WIDE_COUNTERS], value, 0)
    return times


@kernel
def clear_counters(worker, mode, found):
    """Makes all counters of touched values 0."""
    touched = worker[TOUCHED]
    for i in range(found):
        at = load32(touched, i)
        if mode == HASHED:
            store32(worker[HASH_KEYS], at, 0)
            store64(worker[HASH_COUNTS], at, 0)
        elif mode == WIDE:
            store64(worker[WIDE_COUNTERS], at, 0)
        else:
            store32(worker[COUNTERS], at, 0)


# One prefix


@inlined
def sum_of(code, at, count, registers):
    """Returns a number made of digits: registers times factors."""
    found = 0
    for i in range(count):
        found += registers[load64(code, at + 2 * i)] * load64(code, at + 2 * i + 1)
    return found


@inlined
def digit(number, code, part):
    """Returns a digit of a number below 2^31. Division is multiplication: a rule reads millions of entries."""
    low = (number * load64(code, part + PART_LOW)) >> load64(code, part + PART_LOW_SHIFT)
    high = (number * load64(code, part + PART_HIGH)) >> load64(code, part + PART_HIGH_SHIFT)
    return low - high * load64(code, part + PART_SIZE)


@kernel
def bind_digits(code, literal, number, registers):
    """Binds the words of an entry that is one number, and returns True if those that are known are equal."""
    parts = load64(code, literal + LITERAL_PART_AT)
    binds = load64(code, literal + LITERAL_BIND_AT)
    for i in range(load64(code, literal + LITERAL_BIND_N)):
        word = digit(number, code, parts + PART_WIDTH * load64(code, binds + 2 * i))
        registers[load64(code, binds + 2 * i + 1)] = word
    equals = load64(code, literal + LITERAL_EQUAL_AT)
    for i in range(load64(code, literal + LITERAL_EQUAL_N)):
        word = digit(number, code, parts + PART_WIDTH * load64(code, equals + 2 * i))
        if registers[load64(code, equals + 2 * i + 1)] != word:
            return False
    return True


@kernel
def lead_of_digits(code, parts, count, number, factors, key, value):
    """Returns the key and the value that an entry leads to, which is one number."""
    for i in range(count):
        part = digit(number, code, parts + PART_WIDTH * i)
        key += part * load64(code, factors + 2 * i)
        value += part * load64(code, factors + 2 * i + 1)
    return key, value


@kernel
def passes(S, code, literal, registers, word_registers, words, scratch):
    """True if all filters hold, and each of some rows below the stratum is there, or is not, as the rule wants it.

    The ids of words that the rule makes are in their registers then. A word without an id is a mistake, unless a row
    is missing.
    """
    at = load64(code, literal + LITERAL_LOAD_AT)
    for _ in range(load64(code, literal + LITERAL_LOAD_N)):
        column = words[load64(code, at + LOAD_DOMAIN)]
        word_registers[load64(code, at + LOAD_TARGET)] = load64(column, registers[load64(code, at + LOAD_REGISTER)])
        at += LOAD_WIDTH
    tail = load64(code, literal + LITERAL_TAIL_N)
    if (
        tail > 0
        and run_tail(S, code, load64(code, literal + LITERAL_TAIL_AT), tail, word_registers, 0, 0, scratch) != 1
    ):
        return False
    missed = 0
    at = load64(code, literal + LITERAL_MAKE_AT)
    for _ in range(load64(code, literal + LITERAL_MAKE_N)):
        finder = words.ctypes.data + load64(code, at + MAKE_FINDER) * 8
        found = id_of(finder, word_registers[load64(code, at + MAKE_SOURCE)])
        registers[load64(code, at + MAKE_REGISTER)] = found
        if found < 0:
            missed = finder
        at += MAKE_WIDTH
    at = load64(code, literal + LITERAL_CHECK_AT)
    for _ in range(load64(code, literal + LITERAL_CHECK_N)):
        relation, columns = load64(code, at + CHECK_RELATION), load64(code, at + CHECK_COLUMNS)
        least = 0
        for i in range(columns):
            pair = at + CHECK_REGISTERS + 2 * i
            found = registers[load64(code, pair)]
            least = min(least, found)
            scratch[i] = load64(words[load64(code, pair + 1)], max(found, 0))
        if least < 0:  # a made word without an id
            at += CHECK_REGISTERS + 2 * columns
            continue
        line = find_row(S, relation, scratch.ctypes.data)
        is_there = 0
        if line >= 0:
            row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
            is_there = 1 if load64(row, columns + k.META) >> k.STAMP_SHIFT >= 0 else 0
        if is_there != load64(code, at + CHECK_WANTED):
            return False
        at += CHECK_REGISTERS + 2 * columns
    if missed != 0:
        store64(missed, FIND_MISSED, 1)
        return False
    return True


@kernel
def find_mark(L, number, record, key, value, worker):
    """Returns the place of a word in a list of single words, or -1; all places of the list are marked at first."""
    marks = worker[MARKS]
    generation = load32(marks, 0)
    pool = L[number, k.POOL] + load32(record, RECORD_START) * 4
    if worker[MARKED_LIST] != number or worker[MARKED_KEY] != key:
        worker[MARKED_LIST], worker[MARKED_KEY] = number, key
        generation += 1
        store32(marks, 0, generation)
        for at in range(load32(record, RECORD_LENGTH)):
            word = load32(pool, at)
            store32(marks, 2 * word + 2, generation)
            store32(marks, 2 * word + 3, at)
    return load32(marks, 2 * value + 3) if load32(marks, 2 * value + 2) == generation else -1


@kernel
def are_absent(L, code, literal, registers, worker):
    """True if none of the rows that must not be there is there."""
    at = load64(code, literal + LITERAL_ABSENT_AT)
    for _ in range(load64(code, literal + LITERAL_ABSENT_N)):
        area = worker[ABSENT] + load64(code, at + ABSENT_AREA) * 4
        keys, marks = load64(code, at + ABSENT_KEY_N), load64(code, at + ABSENT_MARK_N)
        pairs = at + ABSENT_PAIRS
        key = sum_of(code, pairs, keys, registers)
        if load64(area, ABSENT_MARKED_KEY) != key or load32(area, 0) == 0:
            mark_list(L, load64(code, at + ABSENT_LIST), key, area, load64(code, at + ABSENT_SPACE))
        pairs += 2 * keys
        word = sum_of(code, pairs, marks, registers)
        if load32(area, ABSENT_MARKS_AT + word) == load32(area, 0):
            return False
        at = pairs + 2 * marks
    return True


@kernel
def mark_list(L, number, key, area, space):
    """Marks the words of the list of a key, which are below `space`, and no others."""
    generation = load32(area, 0) + 1
    if generation == LAST_GENERATION:
        for word in range(space):
            store32(area, ABSENT_MARKS_AT + word, 0)
        generation = 1
    store32(area, 0, generation)
    store64(area, ABSENT_MARKED_KEY, key)
    record = find_record(L, number, key)
    if record != 0:
        pool = L[number, k.POOL] + load32(record, RECORD_START) * 4
        for at in range(load32(record, RECORD_LENGTH)):
            store32(area, ABSENT_MARKS_AT + load32(pool, at), generation)


@kernel
def add_unmarked(L, code, literal, registers, pool, first, end, value_at, value_n, worker, found):
    """Counts the value of each word of a list for which the row that must not be there is not; see `ENDS_UNMARKED`.

    Returns how many values are touched, and how many instances there were.
    """
    at = load64(code, literal + LITERAL_ABSENT_AT)
    area = worker[ABSENT] + load64(code, at + ABSENT_AREA) * 4
    keys, marks = load64(code, at + ABSENT_KEY_N), load64(code, at + ABSENT_MARK_N)
    pairs = at + ABSENT_PAIRS
    key = sum_of(code, pairs, keys, registers)
    if load64(area, ABSENT_MARKED_KEY) != key or load32(area, 0) == 0:
        mark_list(L, load64(code, at + ABSENT_LIST), key, area, load64(code, at + ABSENT_SPACE))
    generation = load32(area, 0)
    # Both numbers are linear in the word.
    register = load64(code, load64(code, literal + LITERAL_BIND_AT) + 1)
    registers[register] = 0
    mark = ABSENT_MARKS_AT + sum_of(code, pairs + 2 * keys, marks, registers)
    offset = sum_of(code, value_at, value_n, registers)
    registers[register] = 1
    mark_factor = ABSENT_MARKS_AT + sum_of(code, pairs + 2 * keys, marks, registers) - mark
    factor = sum_of(code, value_at, value_n, registers) - offset
    counters, touched = worker[COUNTERS], worker[TOUCHED]
    met = 0
    for place in range(first, end):
        word = load32(pool, place)
        if load32(area, mark + word * mark_factor) == generation:
            continue
        value = offset + word * factor
        times = load32(counters, value)
        store32(touched, found, value)
        found += 1 if times == 0 else 0
        store32(counters, value, times + 1)
        met += 1
    return found, met


@kernel
def sift(L, code, literal, registers, pool, start, cursor, end, worker):
    """Returns the place of the next entry of a list whose word the next literal will find, or the end."""
    ending = literal + LITERAL_WIDTH
    number = load64(code, ending + LITERAL_LIST)
    key = sum_of(code, load64(code, ending + LITERAL_KEY_AT), load64(code, ending + LITERAL_KEY_N), registers)
    if worker[MARKED_LIST] != number or worker[MARKED_KEY] != key:
        record = find_record(L, number, key)
        if record == 0:
            return end
        find_mark(L, number, record, key, 0, worker)
    sieve = load64(code, literal + LITERAL_SIEVE)
    factor = load64(code, sieve + SIEVE_FACTOR)
    marks = worker[MARKS]
    generation = load32(marks, 0)
    base = 2 + 2 * sum_of(code, sieve + SIEVE_PAIRS, load64(code, sieve + SIEVE_N), registers)
    while cursor < end and load32(marks, base + 2 * factor * load32(pool, start + cursor)) != generation:
        cursor += 1
    return cursor


@kernel
def add_job(code, at, count, registers, worker, found):
    """Writes some registers down, if there is room for them; returns how many words are written."""
    if found + count > worker[ROWS_ROOM]:
        worker[HASH_IS_FULL] = 1
        return found
    for i in range(count):
        store32(worker[OUT_VALUES], found + i, registers[load64(code, at + 2 * i)])
    return found + count


@kernel
def gather_rule(S, L, code, rule, registers, word_registers, stack, words, scratch, worker, found, most):
    """Counts the instances of a rule in this wave for the prefix in the registers.

    Returns how many values are touched, how many instances there were, and how many lists were opened. It stops once
    there are more than `most` instances, or the hash table is full.
    """
    literals = load64(code, rule + RULE_LITERALS)
    ends = load64(code, rule + RULE_ENDS)
    value_at, value_n = load64(code, rule + RULE_VALUE_AT), load64(code, rule + RULE_VALUE_N)
    mode = worker[MODE]
    instances = visited = depth = 0
    opens = True
    while depth >= 0 and instances <= most and worker[HASH_IS_FULL] == 0:
        literal = rule + RULE_WIDTH + depth * LITERAL_WIDTH
        number = load64(code, literal + LITERAL_LIST)
        stride = L[number, LIST_STRIDE]
        pool = L[number, k.POOL]
        if opens:
            opens = False
            visited += 1
            key = sum_of(code, load64(code, literal + LITERAL_KEY_AT), load64(code, literal + LITERAL_KEY_N), registers)
            record = find_record(L, number, key)
            if record == 0:
                depth -= 1
                continue
            end = load32(record, RECORD_LENGTH)
            old = load32(record, RECORD_OLD)
            low = 0
            reads = load64(code, literal + LITERAL_READS)
            if reads == READS_NEW or (reads == READS_LAST and (depth == 0 or stack[depth - 1, IS_NEW] == 0)):
                low = old
            elif reads == READS_OLD:
                end = old
            start = load32(record, RECORD_START)
            marks = load64(code, literal + LITERAL_MARK_N)
            if marks > 0 and low < end:
                value = sum_of(code, load64(code, literal + LITERAL_MARK_AT), marks, registers)
                place = find_mark(L, number, record, key, value, worker)
                low = end if place < low or place >= end else place
                end = min(end, low + stride)
            if low < end and depth == literals - 1 and ends != ENDS_ANYHOW:
                met = (end - low) // stride
                instances += met
                if instances <= most:
                    offset = sum_of(code, value_at, value_n, registers)
                    if ends == ENDS_IN_LENGTH:
                        found = add_times(offset, met, worker, mode, found)
                    elif mode == NARROW:
                        found = add_list(
                            pool, start + low, start + end, offset, worker[COUNTERS], worker[TOUCHED], found
                        )
                    else:
                        found = add_other_list(pool, start + low, start + end, offset, worker, mode, found)
                low = end
            elif (
                low < end
                and mode == NARROW
                and load64(code, literal + LITERAL_PASSES) == ASKS_FOR_ABSENCE + ENDS_UNMARKED
                and instances + end - low <= most
            ):
                found, met = add_unmarked(
                    L, code, literal, registers, pool, start + low, start + end, value_at, value_n, worker, found
                )
                visited += end - low - met
                instances += met
                low = end
            elif low < end and load64(code, literal + LITERAL_LEADS) != 0:
                is_new = stack[depth - 1, IS_NEW] if depth > 0 else 0
                found, met = add_lists(
                    L, code, literal, registers, start, low, end, old, is_new, worker, mode, found, most - instances
                )
                visited += (end - low) // stride
                instances += met
                low = end
            if low >= end:
                depth -= 1
                continue
            stack[depth, CURSOR], stack[depth, END] = low, end
            stack[depth, START], stack[depth, OLD] = start, old
        cursor = stack[depth, CURSOR]
        if load64(code, literal + LITERAL_SIEVE) != 0 and cursor < stack[depth, END]:
            first = cursor
            cursor = sift(L, code, literal, registers, pool, stack[depth, START], cursor, stack[depth, END], worker)
            visited += (cursor - first) >> 2
        if cursor >= stack[depth, END]:
            depth -= 1
            continue
        stack[depth, CURSOR] = cursor + stride
        entry = stack[depth, START] + cursor
        is_equal = True
        if load64(code, literal + LITERAL_PART_AT) != 0:
            is_equal = bind_digits(code, literal, load32(pool, entry), registers)
        else:
            binds = load64(code, literal + LITERAL_BIND_AT)
            for i in range(load64(code, literal + LITERAL_BIND_N)):
                registers[load64(code, binds + 2 * i + 1)] = load32(pool, entry + load64(code, binds + 2 * i))
            equals = load64(code, literal + LITERAL_EQUAL_AT)
            for i in range(load64(code, literal + LITERAL_EQUAL_N)):
                if registers[load64(code, equals + 2 * i + 1)] != load32(pool, entry + load64(code, equals + 2 * i)):
                    is_equal = False
                    break
        asks = load64(code, literal + LITERAL_PASSES)
        if (
            not is_equal
            or (asks >= ASKS_FOR_ABSENCE and not are_absent(L, code, literal, registers, worker))
            or (asks & 1 != 0 and not passes(S, code, literal, registers, word_registers, words, scratch))
        ):
            visited += 1
            continue
        if depth == literals - 1:
            instances += 1
            if mode == JOBS:
                found = add_job(code, value_at, value_n, registers, worker, found)
            elif instances <= most:
                found = add_times(sum_of(code, value_at, value_n, registers), 1, worker, mode, found)
            continue
        is_new = stack[depth - 1, IS_NEW] if depth > 0 else 0
        if load64(code, literal + LITERAL_INSIDE) != 0 and cursor >= stack[depth, OLD]:
            is_new = 1
        stack[depth, IS_NEW] = is_new
        depth += 1
        opens = True
    return found, instances, visited


@inlined
def add_lists(L, code, literal, registers, start, low, end, old, is_new, worker, mode, found, most):
    """Counts the lists that the entries of a list lead to: the last two literals of most rules, in one loop.

    Returns how many values are touched, and how many instances there were.
    """
    lead = load64(code, literal + LITERAL_LEADS)
    keys, values = load64(code, lead + LEAD_KEYS), load64(code, lead + LEAD_VALUES)
    base = sum_of(code, lead + LEAD_PAIRS, keys, registers)
    offset = sum_of(code, lead + LEAD_PAIRS + 2 * keys, values, registers)
    factors = lead + LEAD_PAIRS + 2 * (keys + values)
    key_factor, value_factor = load64(code, factors), load64(code, factors + 1)
    number = load64(code, literal + LITERAL_LIST)
    pool, stride = L[number, k.POOL], L[number, LIST_STRIDE]
    is_inside = load64(code, literal + LITERAL_INSIDE)
    ending = literal + LITERAL_WIDTH
    number = load64(code, ending + LITERAL_LIST)
    reads = load64(code, ending + LITERAL_READS)
    parts, part_count = load64(code, literal + LITERAL_PART_AT), load64(code, literal + LITERAL_PART_N)
    is_far = L[number, LIST_TABLE] == 0 and stride == 1 and part_count == 0
    records, lists = L[number, LIST_RECORDS], L[number, k.POOL]
    counters, touched = worker[COUNTERS], worker[TOUCHED]
    instances = 0
    for cursor in range(low, end, stride):
        if is_far and cursor + 2 * AHEAD < end:
            far = base + load32(pool, start + cursor + 2 * AHEAD) * key_factor
            prefetch_read(records + far * RECORD_BYTES, 0)
            near = base + load32(pool, start + cursor + AHEAD) * key_factor
            prefetch_read(lists + load32(records + near * RECORD_BYTES, RECORD_START) * 4, 0)
        word = load32(pool, start + cursor)
        key, value = base + word * key_factor, offset + word * value_factor
        if part_count > 0:
            key, value = lead_of_digits(code, parts, part_count, word, factors, base, offset)
        for i in range(1, stride):
            word = load32(pool, start + cursor + i)
            key += word * load64(code, factors + 2 * i)
            value += word * load64(code, factors + 2 * i + 1)
        record = find_record(L, number, key)
        if record == 0:
            continue
        first = load32(record, RECORD_START)
        length = load32(record, RECORD_LENGTH)
        from_ = 0
        if reads == READS_NEW or (reads == READS_LAST and is_new == 0 and (is_inside == 0 or cursor < old)):
            from_ = load32(record, RECORD_OLD)
        elif reads == READS_OLD:
            length = load32(record, RECORD_OLD)
        instances += length - from_
        if instances > most:
            break
        if mode == NARROW:
            found = add_list(lists, first + from_, first + length, value, counters, touched, found)
        else:
            found = add_other_list(lists, first + from_, first + length, value, worker, mode, found)
    return found, instances


@kernel
def gather_prefix(S, L, code, worker, registers, word_registers, stack, words, scratch, tally):
    """Counts all instances of this wave for the prefix in the registers; returns False if there are too many for
    the counters (then nothing is counted). The tally has the instances of each rule, scratch, and the lists opened."""
    mode = worker[MODE]
    most = worker[MOST] if mode == NARROW else (1 << 62)
    rules = load64(code, 0)
    found = instances = 0
    for rule in range(rules):
        at = load64(code, 1 + rule)
        tally[rules + rule] = 0
        wanted = load64(code, at + RULE_PREFIX)
        if wanted >= 0 and wanted != registers[PREFIX_REGISTER]:
            continue
        found, met, visited = gather_rule(
            S, L, code, at, registers, word_registers, stack, words, scratch, worker, found, most - instances
        )
        instances += met
        worker[VISITED] += visited
        tally[2 * rules + rule] += visited
        if instances > most or worker[HASH_IS_FULL] != 0:
            clear_counters(worker, mode, found)
            return False
        tally[rules + rule] = met
    for rule in range(rules):
        tally[rule] += tally[rules + rule]
    worker[FOUND] = found
    worker[INSTANCES] += instances
    return True


@inlined
def add_to_total(row, columns, wide, times, most_total, worker):
    """Adds instances to the total of a row that is there; returns False if there are too many for it."""
    total = total_of(row, columns, wide) + times
    if total > most_total:
        return False
    worker[LARGEST] = max(worker[LARGEST], total)
    set_total(row, columns, wide, total)
    return True


@kernel
def add_to_placed(rows, stride, columns, wide, most_total, worker, mode, places):
    """Adds the counted instances to the rows that are there, which `places` has by value; returns False if there are
    too many for one of them: the next call continues."""
    found, touched = worker[FOUND], worker[TOUCHED]
    for i in range(found):
        if i + FETCHED_AHEAD < found:
            ahead = load32(places, load32(touched, i + FETCHED_AHEAD))
            if ahead != 0:
                prefetch(rows + (ahead - 1) * stride + columns * 8, 0)
        value = load32(touched, i)
        line = load32(places, value) - 1
        if line < 0:
            continue
        times = take_times(value, worker, mode)
        if times != 0 and not add_to_total(rows + line * stride, columns, wide, times, most_total, worker):
            add_times(value, times, worker, mode, found)
            return False
    return True


@kernel
def add_to_listed(rows, stride, columns, wide, most_total, worker, mode, pool, lines, start, end):
    """Does what `add_to_placed` does, for all rows of the prefix, whose values and lines are in lists."""
    for at in range(start, end):
        value = load32(pool, at)
        times = take_times(value, worker, mode)
        if times == 0:
            continue
        row = rows + load32(lines, at) * stride
        if not add_to_total(row, columns, wide, times, most_total, worker):
            add_times(value, times, worker, mode, worker[FOUND])
            return False
    return True


@kernel
def flush_prefix(S, L, relation, natural, worker, prefix):
    """Adds the counted instances to the rows that are there, and writes out the others as new rows.

    Returns GATHERED, or OUT_FULL or TOO_LARGE: then Python makes room, and the next call continues.
    """
    found = worker[FOUND]
    if worker[ROWS_OUT] + found > worker[ROWS_ROOM]:
        return OUT_FULL
    mode = worker[MODE]
    columns, stride, rows = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.ROWS]
    wide_rows = S[relation, k.WIDE]
    most_total = k.WIDEN if wide_rows == k.IS_WIDE else worker[MOST_TOTAL]
    if wide_rows == k.IS_SLIM:
        most_total = min(most_total, k.LARGEST_SLIM)
    record = L[natural, LIST_RECORDS] + prefix * RECORD_BYTES
    start = load32(record, RECORD_START)
    pool, lines = L[natural, k.POOL], L[natural, LIST_LINES]
    length = load32(record, RECORD_LENGTH)
    if worker[PLACES] != 0 and found * SCAN_PART < length:
        places = worker[PLACES] + prefix * worker[PLACE_VALUES] * 4
        if not add_to_placed(rows, stride, columns, wide_rows, most_total, worker, mode, places):
            return TOO_LARGE
    else:
        worker[VISITED] += length >> 3
        worker[SCANNED] += max(length - SCAN_PART * found, 0)
        if not add_to_listed(
            rows, stride, columns, wide_rows, most_total, worker, mode, pool, lines, start, start + length
        ):
            return TOO_LARGE
    out = first = worker[ROWS_OUT]
    for i in range(found):
        value = load32(worker[TOUCHED], i)
        if mode == HASHED:
            times = load64(worker[HASH_COUNTS], value)
            value = load32(worker[HASH_KEYS], value) - 1
        else:
            times = load64(worker[WIDE_COUNTERS], value) if mode == WIDE else load32(worker[COUNTERS], value)
        if times == 0:
            continue
        if times > most_total:
            worker[LARGEST] = times
            return TOO_LARGE
        store32(worker[OUT_VALUES], out, value)
        store64(worker[OUT_COUNTS], out, times)
        worker[LARGEST] = max(worker[LARGEST], times)
        out += 1
    clear_counters(worker, mode, found)
    if out > first:
        group = worker[OUT_GROUPS] + worker[GROUPS_OUT] * GROUP_WORDS * 8
        store64(group, GROUP_PREFIX, prefix)
        store64(group, GROUP_ROWS, out - first)
        worker[GROUPS_OUT] += 1
        worker[ROWS_OUT] = out
    return GATHERED


# All prefixes


@entry_point(
    "int64(int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[::1], int64, int64, int64[::1], int64[::1],"
    " int64[:,::1], int64[::1], int64[::1], int64[::1])"
)
def gather_prefixes(
    worker, cursor, S, L, code, relation, natural, registers, word_registers, stack, words, scratch, tally
):
    """Gathers the instances of one head relation in this wave, for one thread's share of the prefixes."""
    worker, cursor, S, L, code = borrowed(worker), borrowed(cursor), borrowed(S), borrowed(L), borrowed(code)
    registers, word_registers, stack = borrowed(registers), borrowed(word_registers), borrowed(stack)
    words, scratch, tally = borrowed(words), borrowed(scratch), borrowed(tally)
    while True:
        if worker[IS_GATHERED] == 0:
            if worker[NEXT] == worker[LAST]:
                start = atomic_add(cursor.ctypes.data, 0, worker[SHARE])
                if start >= worker[PREFIXES]:
                    return GATHERED
                worker[NEXT] = start
                worker[LAST] = min(start + worker[SHARE], worker[PREFIXES])
            if worker[INSTANCES] + worker[VISITED] > worker[YIELD_AT]:
                return GATHER_YIELDED
            prefix = worker[NEXT] if worker[ACTIVE] == 0 else load32(worker[ACTIVE], worker[NEXT])
            registers[PREFIX_REGISTER] = prefix
            worker[MODE] = HASHED if worker[IS_HASHED] != 0 else NARROW
            at = code.ctypes.data
            if not gather_prefix(S, L, at, worker, registers, word_registers, stack, words, scratch, tally):
                if worker[IS_HASHED] != 0:
                    return COUNTERS_FULL
                worker[MODE] = WIDE
                gather_prefix(S, L, at, worker, registers, word_registers, stack, words, scratch, tally)
            worker[IS_GATHERED] = 1
        if worker[FOUND] > 0:
            status = flush_prefix(S, L, relation, natural, worker, registers[PREFIX_REGISTER])
            if status != GATHERED:
                return status
        worker[IS_GATHERED] = 0
        worker[NEXT] += 1


@entry_point("int64(int64[::1], int64[:,::1], int64, int64, int64, int64, int64[::1], int64[::1])")
def write_rows(worker, S, relation, first, wave, rank, shape, words):
    """Writes the new rows of one worker into the lines of a relation from `first` on; they enter with `wave`.

    `words` has for each column the address of its words by id.
    """
    worker, S, shape, words = borrowed(worker), borrowed(S), borrowed(shape), borrowed(words)
    columns, stride, wide = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.WIDE]
    row = S[relation, k.ROWS] + first * stride
    meta = with_rank(((wave + 1) << k.STAMP_SHIFT) | k.TOUCHED_BIT, rank, wide)
    places, values = worker[PLACES], worker[PLACE_VALUES]
    at = 0
    for group in range(worker[GROUPS_OUT]):
        address = worker[OUT_GROUPS] + group * GROUP_WORDS * 8
        prefix = load64(address, GROUP_PREFIX)
        for _ in range(load64(address, GROUP_ROWS)):
            value = load32(worker[OUT_VALUES], at)
            times = load64(worker[OUT_COUNTS], at)
            for column in range(columns):
                store64(row, column, load64(words[column], digit_of(shape.ctypes.data, column, prefix, value)))
            store64(row, columns + k.META, meta)
            set_numbers(row, columns, wide, times, times)
            if places != 0:
                store32(places, prefix * values + value, first + at + 1)
            row += stride
            at += 1
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64, int64)")
def note_places(L, natural, prefixes, places, values):
    """Writes down where each row is that is in the lists by prefix (`PLACES`)."""
    L = borrowed(L)
    pool, lines = L[natural, k.POOL], L[natural, LIST_LINES]
    for prefix in range(prefixes):
        record = L[natural, LIST_RECORDS] + prefix * RECORD_BYTES
        start = load32(record, RECORD_START)
        for at in range(start, start + load32(record, RECORD_LENGTH)):
            store32(places, prefix * values + load32(pool, at), load32(lines, at) + 1)
    return 0
