"""Jobs: from the new rows of a wave to the prefixes of the heads that they lead to (`row_wise`).

Where a literal of a rule has new rows but no column of the head's prefix, the rows lead to the prefix through other
literals: for `P(x, z) :- P(x, y), P(y, z)` and new rows of the second literal, from each such `y` to every `x`. A job
is the prefix with the registers that are known then, 32 bits each. Jobs are put into lists by prefix, and the rule
continues from there, head by head. So a wave costs what its new rows lead to, however many rows there are.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    atomic_add,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    load32,
    load64,
    store32,
)
from tidelog.engine.local.kernels.row_lists import (
    GROUP_PREFIX,
    GROUP_ROWS,
    GROUP_WORDS,
    LIST_RECORDS,
    LIST_STRIDE,
    RECORD_BYTES,
    RECORD_LENGTH,
    RECORD_ROOM,
    RECORD_START,
    SHAPE_PREFIX,
    digit_of,
)
from tidelog.engine.local.kernels.row_wise import (
    FOUND,
    GATHER_YIELDED,
    GATHERED,
    HASH_IS_FULL,
    INSTANCES,
    LAST,
    NEXT,
    OUT_FULL,
    PREFIX_REGISTER,
    SHARE,
    VISITED,
    YIELD_AT,
    gather_rule,
)


@entry_point(
    "int64(int64[::1], int64[::1], int32[::1], int64, int64[:,::1], int64[:,::1], int64[::1], int64[::1], int64[::1],"
    " int64[:,::1], int64[::1], int64[::1])"
)
def emit_jobs(worker, cursor, drivers, count, S, L, code, registers, word_registers, stack, words, scratch):
    """Writes down the jobs that one thread's share of `count` drivers leads to.

    The code has one rule, from a driver's id in the register of the prefix to the registers that are written.
    """
    worker, cursor, S, L, code = borrowed(worker), borrowed(cursor), borrowed(S), borrowed(L), borrowed(code)
    registers, word_registers, stack = borrowed(registers), borrowed(word_registers), borrowed(stack)
    words, scratch, drivers = borrowed(words), borrowed(scratch), borrowed(drivers)
    at = code.ctypes.data
    rule = load64(at, 1)
    while True:
        if worker[NEXT] == worker[LAST]:
            start = atomic_add(cursor.ctypes.data, 0, worker[SHARE])
            if start >= count:
                return GATHERED
            worker[NEXT] = start
            worker[LAST] = min(start + worker[SHARE], count)
        if worker[INSTANCES] + worker[VISITED] > worker[YIELD_AT]:
            return GATHER_YIELDED
        registers[PREFIX_REGISTER] = drivers[worker[NEXT]]
        found, instances, visited = gather_rule(
            S, L, at, rule, registers, word_registers, stack, words, scratch, worker, worker[FOUND], 1 << 62
        )
        worker[VISITED] += visited
        if worker[HASH_IS_FULL] != 0:
            # The next call begins with the same driver.
            worker[HASH_IS_FULL] = 0
            return OUT_FULL
        worker[INSTANCES] += instances
        worker[FOUND] = found
        worker[NEXT] += 1


@entry_point("int64(int64[:,::1], int64, int32[::1], int64, int64)")
def count_jobs(L, number, jobs, count, width):
    """Adds the lengths of jobs, `width` words each, to the room of the empty lists of their prefixes."""
    L, jobs = borrowed(L), borrowed(jobs)
    records, stride = L[number, LIST_RECORDS], L[number, LIST_STRIDE]
    for job in range(count):
        record = records + jobs[job * width] * RECORD_BYTES
        store32(record, RECORD_ROOM, load32(record, RECORD_ROOM) + stride)
    return 0


@entry_point("int64(int64[:,::1], int64, int32[::1], int64, int64)")
def fill_jobs(L, number, jobs, count, width):
    """Puts jobs into the lists of their prefixes; the pool has room for all."""
    L, jobs = borrowed(L), borrowed(jobs)
    records, stride, pool = L[number, LIST_RECORDS], L[number, LIST_STRIDE], L[number, k.POOL]
    used = L[number, k.POOL_USED]
    for job in range(count):
        record = records + jobs[job * width] * RECORD_BYTES
        length = load32(record, RECORD_LENGTH)
        if length == 0:
            store32(record, RECORD_START, used)
            used += load32(record, RECORD_ROOM)
        at = load32(record, RECORD_START) + length
        for i in range(1, width):
            store32(pool, at + i - 1, jobs[job * width + i])
        store32(record, RECORD_LENGTH, length + stride)
    L[number, k.POOL_USED] = used
    return 0


@entry_point("int64(int64[:,::1], int64, int32[::1], int64, int64)")
def clear_jobs(L, number, jobs, count, width):
    """Empties the lists of jobs."""
    L, jobs = borrowed(L), borrowed(jobs)
    records = L[number, LIST_RECORDS]
    for job in range(count):
        record = records + jobs[job * width] * RECORD_BYTES
        store32(record, RECORD_ROOM, 0)
        store32(record, RECORD_LENGTH, 0)
    return 0


@entry_point("int64(int32[::1], int64, int64, int32[::1], int64, int32[::1], int64)")
def note_ids(given, count, width, noted, stamp, ids, found):
    """Appends the first of each `width` words to `ids`, if it is not `noted` with this stamp; returns how many there
    are."""
    given, noted, ids = borrowed(given), borrowed(noted), borrowed(ids)
    for i in range(count):
        each = given[i * width]
        if noted[each] != stamp:
            noted[each] = stamp
            ids[found] = each
            found += 1
    return found


@entry_point("int64(int64[::1], int64[::1], int64, int32[::1], int64, int32[::1], int64)")
def note_column(rows, shape, column, noted, stamp, ids, found):
    """Appends the ids in a column of the new rows of one thread (`row_lists.append_by_prefix`); see `note_ids`."""
    rows, shape, noted, ids = borrowed(rows), borrowed(shape), borrowed(noted), borrowed(ids)
    at = 0
    for group in range(rows[2]):
        address = rows[0] + group * GROUP_WORDS * 8
        prefix, count = load64(address, GROUP_PREFIX), load64(address, GROUP_ROWS)
        if column == shape[SHAPE_PREFIX]:
            if noted[prefix] != stamp:
                noted[prefix] = stamp
                ids[found] = prefix
                found += 1
        else:
            for place in range(at, at + count):
                each = digit_of(shape.ctypes.data, column, prefix, load32(rows[1], place))
                if noted[each] != stamp:
                    noted[each] = stamp
                    ids[found] = each
                    found += 1
        at += count
    return found


@entry_point("int64(int32[::1], int64, int64, int64[:,::1], int64[::1], int64[::1])")
def write_instances(jobs, count, width, head, words, out):
    """Makes rule instances, in level 0, of `count` jobs with `width` ids each.

    `head` has for each column the place of its id in a job and the domain, or -1 and a word.
    """
    jobs, head, words, out = borrowed(jobs), borrowed(head), borrowed(words), borrowed(out)
    columns = head.shape[0]
    at = 0
    for job in range(count):
        state = HASH_START
        for column in range(columns):
            place, word = head[column, 0], head[column, 1]
            if place >= 0:
                word = load64(words[word], jobs[job * width + place])
            out[at + column] = word
            state = hash_word(state, word)
        out[at + columns + k.INSTANCE_LEVEL] = 0
        out[at + columns + k.INSTANCE_HASH] = hash_end(state)
        at += columns + k.INSTANCE_EXTRA
    return 0
