"""One round of the elastic paper's Update (Algorithm 3, corrected): instances found by its three terms → changes of
rows.

Each row that the epoch has touched is in the log; beside the log lie its iteration in the old epoch and, once it is
known, in the new one (NEVER: none). While the epoch runs, `total` of a touched row is its place in the log, and `count`
belongs to the new epoch. Round k reads only instances of level k - 1:

    DELETED       over a deleted row: one less for a head of iteration k that has no earlier one in the new epoch
    INSERTED      over an inserted row: one more for a head that has no iteration in the new epoch yet
    REDISCOVERED  over rows of both epochs: one more for a head of the old epoch, before round k, not in the new one yet
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import arrange_queue
from tidelog.engine.local.kernels.index import (
    fetch_ahead,
    find_hashed,
    find_or_add,
    find_or_add_hashed,
    find_row,
    hash_of,
    log_created,
    touch,
)
from tidelog.engine.local.kernels.memory import entry_point, kernel, load64, store32, store64
from tidelog.engine.local.kernels.row_counts import count_of, set_count, set_numbers, set_total, total_of
from tidelog.engine.local.kernels.waves import has_room

OLD, NEW, CAPACITY = 0, 1, 2  # per place in the log: the iteration in the old and in the new epoch
PLACES_FIELDS = 3

DELETED, INSERTED, REDISCOVERED = 0, 1, 2
NEVER = 1 << 29  # above every rank
BROKEN, NO_ROOM = -1, -2


@kernel
def row_at(S, relation, line):
    return S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8


@kernel
def log_row(S, p, relation, line, row, columns):
    """Logs a row that the epoch has not touched yet; its count stays, its new iteration is open."""
    wide = S[relation, k.WIDE]
    place = S[relation, k.LOG_COUNT]
    store64(p[OLD], place, (load64(row, columns + k.META) >> k.RANK_SHIFT) & k.RANK_MASK)
    store64(p[NEW], place, NEVER)
    touch(S, relation, line, row, columns)
    set_total(row, columns, wide, place)


@kernel
def log_new_row(S, p, relation, line, row, columns, bits):
    """Initializes and logs a row that is new in the index: it has no iteration in either epoch yet."""
    wide = S[relation, k.WIDE]
    place = S[relation, k.LOG_COUNT]
    store64(p[OLD], place, NEVER)
    store64(p[NEW], place, NEVER)
    set_numbers(row, columns, wide, place, 0)
    store64(row, columns + k.META, (k.PENDING << k.STAMP_SHIFT) | k.TOUCHED_BIT | bits)
    log_created(S, relation, line)


@kernel
def has_places(S, p, relation, count):
    return has_room(S, relation, count, count, 1) and S[relation, k.LOG_COUNT] + count <= p[CAPACITY]


@kernel
def delete_one(S, p, relation, line, row, columns, wide, round_):
    """Counts an instance of DELETED. Returns 1 if it counts, 0 if not, -1 if the state is broken."""
    meta = load64(row, columns + k.META)
    if meta & k.TOUCHED_BIT == 0:
        if (meta >> k.RANK_SHIFT) & k.RANK_MASK != round_:
            return 0
        log_row(S, p, relation, line, row, columns)
    else:
        place = total_of(row, columns, wide)
        if load64(p[OLD], place) != round_ or load64(p[NEW], place) != NEVER:
            return 0
    count = count_of(row, columns, wide) - 1
    set_count(row, columns, wide, count)
    return 1 if count >= 0 else -1


@kernel
def insert_one(S, p, relation, line, row, columns, wide, round_):
    """Counts an instance of INSERTED. Returns 1 if it counts, 0 if not."""
    meta = load64(row, columns + k.META)
    if meta & k.TOUCHED_BIT == 0:
        rank = (meta >> k.RANK_SHIFT) & k.RANK_MASK
        if rank < round_:
            return 0
        log_row(S, p, relation, line, row, columns)
        if rank > round_:
            # The row has an earlier iteration now; the instances of its old iteration do not count.
            set_count(row, columns, wide, 0)
    elif load64(p[NEW], total_of(row, columns, wide)) != NEVER:
        return 0
    set_count(row, columns, wide, count_of(row, columns, wide) + 1)
    return 1


@kernel
def rediscover_one(p, row, columns, wide, round_):
    """Counts an instance of REDISCOVERED. Returns 1 if it counts, 0 if not."""
    if load64(row, columns + k.META) & k.TOUCHED_BIT == 0:
        return 0
    place = total_of(row, columns, wide)
    if load64(p[OLD], place) >= round_ or load64(p[NEW], place) != NEVER:
        return 0
    set_count(row, columns, wide, count_of(row, columns, wide) + 1)
    return 1


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[::1], int64, int64, int64)")
def count_round(S, p, relation, out, count, round_, term):
    """Counts the instances (head, level) of a buffer; returns how many of them counted, NO_ROOM (nothing done) or
    BROKEN."""
    if not has_places(S, p, relation, count):
        return NO_ROOM
    S[relation, k.COUNT_ROOM] -= count
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    counted = 0
    done = 0
    while done < count:
        piece = min(count - done, k.PIECE)
        buffer = out.ctypes.data + done * (columns + k.INSTANCE_EXTRA) * 8
        fetch_ahead(S, relation, buffer, piece)
        for i in range(piece):
            head = buffer + i * (columns + k.INSTANCE_EXTRA) * 8
            if load64(head, columns + k.INSTANCE_LEVEL) != round_ - 1:
                continue
            hashed = hash_of(head, columns)
            if term == INSERTED:
                line = find_or_add_hashed(S, relation, head, hashed)
                if line < 0:
                    line = -1 - line
                    log_new_row(S, p, relation, line, row_at(S, relation, line), columns, 0)
                found = insert_one(S, p, relation, line, row_at(S, relation, line), columns, wide, round_)
            else:
                line = find_hashed(S, relation, head, hashed)
                if line < 0:
                    return BROKEN
                row = row_at(S, relation, line)
                if term == DELETED:
                    found = delete_one(S, p, relation, line, row, columns, wide, round_)
                else:
                    found = rediscover_one(p, row, columns, wide, round_)
            if found < 0:
                return BROKEN
            counted += found
        done += piece
    return counted


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[:,::1])")
def delete_facts(S, p, relation, facts):
    """Deletes facts, in round 0. The caller has made room. Returns -1 if one is not there."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for i in range(facts.shape[0]):
        line = find_row(S, relation, facts.ctypes.data + i * facts.shape[1] * 8)
        if line < 0:
            return -1
        row = row_at(S, relation, line)
        log_row(S, p, relation, line, row, columns)
        set_count(row, columns, wide, 0)
        store64(row, columns + k.META, load64(row, columns + k.META) & ~k.INPUT_BIT)
    return 0


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[:,::1])")
def insert_facts(S, p, relation, facts):
    """Inserts facts, in round 0: rows of iteration 0 even if rules derive them. The caller has made room."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for i in range(facts.shape[0]):
        line = find_or_add(S, relation, facts.ctypes.data + i * facts.shape[1] * 8)
        if line < 0:
            line = -1 - line
            row = row_at(S, relation, line)
            log_new_row(S, p, relation, line, row, columns, k.INPUT_BIT)
        else:
            row = row_at(S, relation, line)
            log_row(S, p, relation, line, row, columns)
            store64(row, columns + k.META, load64(row, columns + k.META) | k.INPUT_BIT)
        set_count(row, columns, wide, 1)
    return 0


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[::1])")
def log_unreached(S, p, relation, lines):
    """Logs rows of old iterations that the new epoch does not reach. The caller has made room."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for i in range(lines.size):
        row = row_at(S, relation, lines[i])
        log_row(S, p, relation, lines[i], row, columns)
        set_count(row, columns, wide, 0)
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def make_batch(S, relation, lines):
    """Makes these lines the batch. The caller has made room for them in the queues."""
    for i in range(lines.size):
        store32(S[relation, k.BATCH], i, lines[i])
    S[relation, k.BATCH_COUNT] = lines.size
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64[::1])")
def arrange_batch(S, A, relation, hashes):
    """Puts the rows of the batch into every arrangement; returns the number of an arrangement that must grow first, or
    -1."""
    return arrange_queue(S, A, relation, S[relation, k.BATCH], S[relation, k.BATCH_COUNT], hashes)
