"""Waves of a Bootstrap that go head by head: all instances of a wave whose heads begin alike, then the next beginning.

A head R(a, w) has a prefix a and a value w. For each prefix the rules run from the prefix to the value, and the
instances of each value are added up in a dense array of counters, which stays in the caches. So the store is touched
once for each head of a wave, not once for each instance, and no head is looked up by its hash. It is Gustavson's
row-wise product of sparse matrices. No two threads have the same prefix, so nothing is atomic but the next share.

Values are dense ids of 32 bits. Bodies read *lists*: for each id of a key column, the ids of other columns, 32 bits
each. The rows of a relation of the stratum lie in the order of their ranks, so what the last wave brought is the end of
each list. An instance belongs to this wave if one of its rows does: the last literal of the stratum reads only the
ends of lists where no row before it is new.

Each instance of wave w has level w: a row that was there gets a higher total and nothing else; a row that was not has
rank w + 1, and all its instances count (docs/decisions/0002).
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import give_place, next_size, take_place
from tidelog.engine.local.kernels.index import find_row
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
    prefetch_read,
    store32,
    store64,
)
from tidelog.engine.local.kernels.row_counts import set_numbers, set_total, total_of

# A line of L: lists of ids. It has the fields of an arrangement's pool (`layout`), because buckets move as there.
LIST_RECORDS, LIST_STRIDE, LIST_LINES = 0, 1, 2  # LIST_LINES: the line of each row beside its id, or 0
# The record of a list, places of 32 bits: where it starts, how long it is, how much of it is old, its room.
RECORD_START, RECORD_LENGTH, RECORD_OLD, RECORD_ROOM, RECORD_PLACES = 0, 1, 2, 3, 4
LARGEST_PLACE = (1 << 31) - 1

# The code of one head relation: its number of rules, where each starts; a rule; its literals.
RULE_LITERALS, RULE_PREFIX, RULE_VALUE, RULE_ENDS_IN_LIST, RULE_WIDTH = 0, 1, 2, 3, 4
LITERAL_LIST, LITERAL_KEY, LITERAL_INSIDE, LITERAL_LAST_INSIDE = 0, 1, 2, 3
LITERAL_BIND_N, LITERAL_BIND_AT, LITERAL_EQUAL_N, LITERAL_EQUAL_AT = 4, 5, 6, 7
LITERAL_CHECK_N, LITERAL_CHECK_AT, LITERAL_LEADS, LITERAL_WIDTH = 8, 9, 10, 11
CHECK_RELATION, CHECK_WANTED, CHECK_COLUMNS, CHECK_REGISTERS = 0, 1, 2, 3
PREFIX_REGISTER = 0

# A line of the stack: one literal of the rule that runs.
CURSOR, END, START, OLD, IS_NEW, STACK_WIDTH = 0, 1, 2, 3, 4, 5

# The words of a worker: one thread's part of a wave, for one head relation.
NEXT, LAST, IS_GATHERED, FOUND, WIDE = 0, 1, 2, 3, 4
INSTANCES, VISITED, LARGEST, YIELD_AT = 5, 6, 7, 8
ROWS_OUT, ROWS_ROOM, GROUPS_OUT = 9, 10, 11
OUT_VALUES, OUT_COUNTS, OUT_GROUPS = 12, 13, 14  # addresses: 32 bits, 64 bits, and groups of GROUP_WORDS words
COUNTERS, WIDE_COUNTERS, TOUCHED = 15, 16, 17  # addresses: 32 bits, 64 bits and 32 bits for each id
PREFIXES, SHARE = 18, 19  # how many there are; how many a thread takes at a time
MOST, MOST_TOTAL = 20, 21  # instances of one prefix that 32 bits can count; the largest total of a row of 32 bits
WORKER_WORDS = 24
GROUP_PREFIX, GROUP_ROWS, GROUP_WORDS = 0, 1, 2

# Results of `gather_prefixes`.
GATHERED, OUT_FULL, TOO_LARGE, GATHER_YIELDED = 0, 1, 2, 3

AHEAD = 8


@inlined
def add_list(pool, first, end, counters, touched, found):
    """Counts each id of a list; the ids that were not counted before are `touched`. Returns how many those are."""
    for at in range(first, end):
        value = load32(pool, at)
        times = load32(counters, value)
        store32(touched, found, value)
        found += 1 if times == 0 else 0
        store32(counters, value, times + 1)
    return found


@kernel
def add_list_wide(pool, first, end, counters, touched, found):
    """Does what `add_list` does, with counters of 64 bits."""
    for at in range(first, end):
        found = add_one(load32(pool, at), counters, 1, touched, found)
    return found


@kernel
def add_one(value, counters, wide, touched, found):
    """Counts one id; returns how many are touched."""
    if wide != 0:
        times = load64(counters, value)
        store64(counters, value, times + 1)
    else:
        times = load32(counters, value)
        store32(counters, value, times + 1)
    if times == 0:
        store32(touched, found, value)
        found += 1
    return found


@kernel
def passes(S, code, at, count, registers, words, scratch):
    """True if each of some rows below the stratum is there, or is not, as the rule wants it."""
    for _ in range(count):
        relation, columns = load64(code, at + CHECK_RELATION), load64(code, at + CHECK_COLUMNS)
        for i in range(columns):
            scratch[i] = load64(words, registers[load64(code, at + CHECK_REGISTERS + i)])
        line = find_row(S, relation, scratch.ctypes.data)
        is_there = 0
        if line >= 0:
            row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
            is_there = 1 if load64(row, columns + k.META) >> k.STAMP_SHIFT >= 0 else 0
        if is_there != load64(code, at + CHECK_WANTED):
            return False
        at += CHECK_REGISTERS + columns
    return True


@kernel
def gather_rule(S, L, code, rule, registers, stack, words, scratch, counters, wide, touched, found, most):
    """Counts the instances of a rule in this wave for the prefix in the registers.

    Returns how many ids are touched, how many instances there were, and how many lists were opened. It stops once there
    are more than `most` instances.
    """
    literals = load64(code, rule + RULE_LITERALS)
    ends_in_list = load64(code, rule + RULE_ENDS_IN_LIST)
    value = load64(code, rule + RULE_VALUE)
    instances = visited = depth = 0
    opens = True
    while depth >= 0 and instances <= most:
        literal = rule + RULE_WIDTH + depth * LITERAL_WIDTH
        number = load64(code, literal + LITERAL_LIST)
        if opens:
            opens = False
            visited += 1
            register = load64(code, literal + LITERAL_KEY)
            record = L[number, LIST_RECORDS] + (registers[register] if register >= 0 else 0) * RECORD_PLACES * 4
            end = load32(record, RECORD_LENGTH)
            old = load32(record, RECORD_OLD)
            low = 0
            if load64(code, literal + LITERAL_LAST_INSIDE) != 0 and (depth == 0 or stack[depth - 1, IS_NEW] == 0):
                low = old
            start = load32(record, RECORD_START)
            if low < end and depth == literals - 1 and ends_in_list != 0:
                instances += end - low
                if instances <= most:
                    if wide != 0:
                        found = add_list_wide(L[number, k.POOL], start + low, start + end, counters, touched, found)
                    else:
                        found = add_list(L[number, k.POOL], start + low, start + end, counters, touched, found)
                low = end
            elif low < end and load64(code, literal + LITERAL_LEADS) != 0 and wide == 0:
                is_new = stack[depth - 1, IS_NEW] if depth > 0 else 0
                found, met = add_lists(
                    L, code, literal, start, low, end, old, is_new, counters, touched, found, most - instances
                )
                visited += end - low
                instances += met
                low = end
            if low >= end:
                depth -= 1
                continue
            stack[depth, CURSOR], stack[depth, END] = low, end
            stack[depth, START], stack[depth, OLD] = start, old
        cursor = stack[depth, CURSOR]
        if cursor >= stack[depth, END]:
            depth -= 1
            continue
        stack[depth, CURSOR] = cursor + 1
        entry = (stack[depth, START] + cursor) * L[number, LIST_STRIDE]
        pool = L[number, k.POOL]
        binds = load64(code, literal + LITERAL_BIND_AT)
        for i in range(load64(code, literal + LITERAL_BIND_N)):
            registers[load64(code, binds + 2 * i + 1)] = load32(pool, entry + load64(code, binds + 2 * i))
        equals = load64(code, literal + LITERAL_EQUAL_AT)
        is_equal = True
        for i in range(load64(code, literal + LITERAL_EQUAL_N)):
            if registers[load64(code, equals + 2 * i + 1)] != load32(pool, entry + load64(code, equals + 2 * i)):
                is_equal = False
                break
        checks = load64(code, literal + LITERAL_CHECK_N)
        if not is_equal or (
            checks > 0
            and not passes(S, code, load64(code, literal + LITERAL_CHECK_AT), checks, registers, words, scratch)
        ):
            continue
        if depth == literals - 1:
            instances += 1
            if instances <= most:
                found = add_one(registers[value], counters, wide, touched, found)
            continue
        is_new = stack[depth - 1, IS_NEW] if depth > 0 else 0
        if load64(code, literal + LITERAL_INSIDE) != 0 and cursor >= stack[depth, OLD]:
            is_new = 1
        stack[depth, IS_NEW] = is_new
        depth += 1
        opens = True
    return found, instances, visited


@inlined
def add_lists(L, code, literal, start, low, end, old, is_new, counters, touched, found, most):
    """Counts the lists that the ids of a list lead to: the last two literals of most rules, in one loop.

    Returns how many ids are touched, and how many instances there were.
    """
    pool = L[load64(code, literal + LITERAL_LIST), k.POOL]
    is_inside = load64(code, literal + LITERAL_INSIDE)
    ending = literal + LITERAL_WIDTH
    number = load64(code, ending + LITERAL_LIST)
    is_last_inside = load64(code, ending + LITERAL_LAST_INSIDE)
    records, values = L[number, LIST_RECORDS], L[number, k.POOL]
    instances = 0
    for cursor in range(low, end):
        if cursor + 2 * AHEAD < end:
            prefetch_read(records + load32(pool, start + cursor + 2 * AHEAD) * RECORD_PLACES * 4, 0)
            ahead = records + load32(pool, start + cursor + AHEAD) * RECORD_PLACES * 4
            prefetch_read(values + load32(ahead, RECORD_START) * 4, 0)
        record = records + load32(pool, start + cursor) * RECORD_PLACES * 4
        first = load32(record, RECORD_START)
        length = load32(record, RECORD_LENGTH)
        from_ = 0
        if is_last_inside != 0 and is_new == 0 and (is_inside == 0 or cursor < old):
            from_ = load32(record, RECORD_OLD)
        instances += length - from_
        if instances > most:
            break
        found = add_list(values, first + from_, first + length, counters, touched, found)
    return found, instances


@kernel
def gather_prefix(S, L, code, worker, registers, stack, words, scratch, tally):
    """Counts all instances of this wave for the prefix in the registers; returns False if there are too many for
    counters of 32 bits (then nothing is counted). The second half of the tally is scratch."""
    wide = worker[WIDE]
    counters = worker[WIDE_COUNTERS] if wide != 0 else worker[COUNTERS]
    most = (1 << 62) if wide != 0 else worker[MOST]
    rules = load64(code, 0)
    found = instances = 0
    for rule in range(rules):
        at = load64(code, 1 + rule)
        tally[rules + rule] = 0
        wanted = load64(code, at + RULE_PREFIX)
        if wanted >= 0 and wanted != registers[PREFIX_REGISTER]:
            continue
        found, met, visited = gather_rule(
            S, L, code, at, registers, stack, words, scratch, counters, wide, worker[TOUCHED], found, most - instances
        )
        instances += met
        worker[VISITED] += visited
        if instances > most:
            for i in range(found):
                store32(counters, load32(worker[TOUCHED], i), 0)
            return False
        tally[rules + rule] = met
    for rule in range(rules):
        tally[rule] += tally[rules + rule]
    worker[FOUND] = found
    worker[INSTANCES] += instances
    return True


@kernel
def flush_prefix(S, L, relation, natural, worker, prefix):
    """Adds the counted instances to the rows that are there, and writes out the others as new rows.

    Returns GATHERED, or OUT_FULL or TOO_LARGE: then Python makes room, and the next call continues.
    """
    found = worker[FOUND]
    if worker[ROWS_OUT] + found > worker[ROWS_ROOM]:
        return OUT_FULL
    wide = worker[WIDE]
    counters = worker[WIDE_COUNTERS] if wide != 0 else worker[COUNTERS]
    columns, stride, rows = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.ROWS]
    wide_rows = S[relation, k.WIDE]
    record = L[natural, LIST_RECORDS] + prefix * RECORD_PLACES * 4
    start = load32(record, RECORD_START)
    pool, lines = L[natural, k.POOL], L[natural, LIST_LINES]
    length = load32(record, RECORD_LENGTH)
    worker[VISITED] += length >> 3
    for at in range(start, start + length):
        value = load32(pool, at)
        times = load64(counters, value) if wide != 0 else load32(counters, value)
        if times == 0:
            continue
        row = rows + load32(lines, at) * stride
        total = total_of(row, columns, wide_rows) + times
        if total > worker[MOST_TOTAL] and wide_rows == 0:
            return TOO_LARGE
        worker[LARGEST] = max(worker[LARGEST], total)
        set_total(row, columns, wide_rows, total)
        if wide != 0:
            store64(counters, value, 0)
        else:
            store32(counters, value, 0)
    out = first = worker[ROWS_OUT]
    for i in range(found):
        value = load32(worker[TOUCHED], i)
        times = load64(counters, value) if wide != 0 else load32(counters, value)
        if times == 0:
            continue
        if times > worker[MOST_TOTAL] and wide_rows == 0:
            worker[LARGEST] = times
            return TOO_LARGE
        store32(worker[OUT_VALUES], out, value)
        store64(worker[OUT_COUNTS], out, times)
        worker[LARGEST] = max(worker[LARGEST], times)
        out += 1
    for i in range(found):
        if wide != 0:
            store64(counters, load32(worker[TOUCHED], i), 0)
        else:
            store32(counters, load32(worker[TOUCHED], i), 0)
    if out > first:
        group = worker[OUT_GROUPS] + worker[GROUPS_OUT] * GROUP_WORDS * 8
        store64(group, GROUP_PREFIX, prefix)
        store64(group, GROUP_ROWS, out - first)
        worker[GROUPS_OUT] += 1
        worker[ROWS_OUT] = out
    return GATHERED


@entry_point(
    "int64(int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[::1], int64, int64, int64[::1], int64[:,::1],"
    " int64[::1], int64[::1], int64[::1])"
)
def gather_prefixes(worker, cursor, S, L, code, relation, natural, registers, stack, words, scratch, tally):
    """Gathers the instances of one head relation in this wave, for one thread's share of the prefixes."""
    worker, cursor, S, L, code = borrowed(worker), borrowed(cursor), borrowed(S), borrowed(L), borrowed(code)
    registers, stack, words = borrowed(registers), borrowed(stack), borrowed(words)
    scratch, tally = borrowed(scratch), borrowed(tally)
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
            registers[PREFIX_REGISTER] = worker[NEXT]
            worker[WIDE] = 0
            if not gather_prefix(S, L, code.ctypes.data, worker, registers, stack, words.ctypes.data, scratch, tally):
                worker[WIDE] = 1
                gather_prefix(S, L, code.ctypes.data, worker, registers, stack, words.ctypes.data, scratch, tally)
            worker[IS_GATHERED] = 1
        if worker[FOUND] > 0:
            status = flush_prefix(S, L, relation, natural, worker, worker[NEXT])
            if status != GATHERED:
                return status
        worker[IS_GATHERED] = 0
        worker[NEXT] += 1


@entry_point("int64(int64[::1], int64[:,::1], int64, int64, int64, int64, int64, int64[::1])")
def write_rows(worker, S, relation, first, prefix_column, wave, rank, words):
    """Writes the new rows of one worker into the lines of a relation from `first` on; they enter with `wave`."""
    worker, S, words = borrowed(worker), borrowed(S), borrowed(words)
    columns, stride, wide = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.WIDE]
    row = S[relation, k.ROWS] + first * stride
    meta = ((wave + 1) << k.STAMP_SHIFT) | (rank << k.RANK_SHIFT) | k.TOUCHED_BIT
    at = 0
    for group in range(worker[GROUPS_OUT]):
        address = worker[OUT_GROUPS] + group * GROUP_WORDS * 8
        prefix = words[load64(address, GROUP_PREFIX)]
        for _ in range(load64(address, GROUP_ROWS)):
            times = load64(worker[OUT_COUNTS], at)
            store64(row, prefix_column, prefix)
            store64(row, 1 - prefix_column, words[load32(worker[OUT_VALUES], at)])
            store64(row, columns + k.META, meta)
            set_numbers(row, columns, wide, times, times)
            row += stride
            at += 1
    return 0


@entry_point("int64(int64[:,::1], int64, int64)")
def make_old(L, number, keys):
    """Makes all rows of lists old."""
    record = L[number, LIST_RECORDS]
    for _ in range(keys):
        store32(record, RECORD_OLD, load32(record, RECORD_LENGTH))
        record += RECORD_PLACES * 4
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
def append_by_prefix(worker, L, number, first, done):
    """Adds the new rows of one worker, from line `first` on, to the lists by prefix.

    `done` has the groups and rows that are added. Returns 0, or 1 if the pool must grow: then the next call continues.
    """
    worker, L, done = borrowed(worker), borrowed(L), borrowed(done)
    for group in range(done[0], worker[GROUPS_OUT]):
        address = worker[OUT_GROUPS] + group * GROUP_WORDS * 8
        count = load64(address, GROUP_ROWS)
        record = L[number, LIST_RECORDS] + load64(address, GROUP_PREFIX) * RECORD_PLACES * 4
        length = load32(record, RECORD_LENGTH)
        if not make_list_room(L, number, record, length + count):
            return 1
        end = load32(record, RECORD_START) + length
        pool, lines = L[number, k.POOL], L[number, LIST_LINES]
        for i in range(count):
            store32(pool, end + i, load32(worker[OUT_VALUES], done[1] + i))
        if lines != 0:
            for i in range(count):
                store32(lines, end + i, first + done[1] + i)
        store32(record, RECORD_LENGTH, length + count)
        done[0] = group + 1
        done[1] += count
    return 0


@entry_point("int64(int64[::1], int64[:,::1], int64, int64[::1])")
def append_by_value(worker, L, number, done):
    """Adds the new rows of one worker to the lists by value; see `append_by_prefix`."""
    worker, L, done = borrowed(worker), borrowed(L), borrowed(done)
    records = L[number, LIST_RECORDS]
    for group in range(done[0], worker[GROUPS_OUT]):
        address = worker[OUT_GROUPS] + group * GROUP_WORDS * 8
        prefix, count = load64(address, GROUP_PREFIX), load64(address, GROUP_ROWS)
        for place in range(done[1] + done[2], done[1] + count):
            if place + AHEAD < worker[ROWS_OUT]:
                prefetch_read(records + load32(worker[OUT_VALUES], place + AHEAD) * RECORD_PLACES * 4, 0)
            record = records + load32(worker[OUT_VALUES], place) * RECORD_PLACES * 4
            length = load32(record, RECORD_LENGTH)
            if not make_list_room(L, number, record, length + 1):
                done[2] = place - done[1]
                return 1
            store32(L[number, k.POOL], load32(record, RECORD_START) + length, prefix)
            store32(record, RECORD_LENGTH, length + 1)
        done[0] = group + 1
        done[1] += count
        done[2] = 0
    return 0


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


@entry_point("int64(int64[:,::1], int64, int64[::1], int64[:,::1], uint8[::1], int64[::1])")
def fill_lists(L, number, keys, values, is_new, lines):
    """Fills empty lists with rows: the id of the key of each, its other ids, and whether it is new; old rows first.

    The records have the length of each list as their room.
    """
    records, stride = L[number, LIST_RECORDS], L[number, LIST_STRIDE]
    pool, beside = L[number, k.POOL], L[number, LIST_LINES]
    for turn in range(2):
        for i in range(keys.size):
            if is_new[i] != turn:
                continue
            record = records + keys[i] * RECORD_PLACES * 4
            length = load32(record, RECORD_LENGTH)
            at = load32(record, RECORD_START) + length
            for column in range(stride):
                store32(pool, at * stride + column, values[i, column])
            if beside != 0:
                store32(beside, at, lines[i])
            store32(record, RECORD_LENGTH, length + 1)
            if turn == 0:
                store32(record, RECORD_OLD, length + 1)
    return 0
