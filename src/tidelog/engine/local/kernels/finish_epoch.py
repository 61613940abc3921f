"""The end of a stratum and of an epoch: the overlay → inserted and deleted rows; committed, or rolled back.

`finish_stratum` turns the overlay into presence differences: a row that died and returned is no change. `commit` makes
the overlay the state; `roll_back` restores the state from the log. After a Bootstrap into fresh memory `mark_inserted`
and `add_deleted` replace `finish_stratum`: they compare the new rows with the old ones.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply_instances import with_stamp
from tidelog.engine.local.kernels.arrange import arrange_row, fetch_buckets, unarrange_row
from tidelog.engine.local.kernels.find_changes import find_changes
from tidelog.engine.local.kernels.index import (
    fetch_line,
    fetch_logged,
    fetch_slots,
    find_hashed,
    find_or_add,
    find_or_add_hashed,
    find_row,
    hash_row,
    home_slot,
    remove_row,
    same_words,
    slot_after,
)
from tidelog.engine.local.kernels.memory import (
    claim,
    entry_point,
    inlined,
    kernel,
    load32,
    load64,
    prefetch,
    store8,
    store32,
    store64,
)
from tidelog.engine.local.kernels.row_counts import meta_from_log, set_numbers, set_total, total_of

# How many rows behind the last one found a row is looked for: if few of the last ones were there, and if many were.
FEW_TRIES, MANY_TRIES = 1, 8
IS_FREE = -(1 << 62)


@inlined
def is_row(there, row, columns):
    """True if a row of a committed store is there, and has the same columns."""
    return same_words(there, row, columns) and load64(there, columns + k.META) >> k.STAMP_SHIFT != k.FREED


@entry_point("int64(int64[:,::1], int64)")
def finish_stratum(S, relation):
    """Calls `find_changes`."""
    return find_changes(S, relation)


@entry_point("int64(int64[:,::1], int64, int64, uint8[::1], int64[::1])")
def mark_inserted(S, old, new, kept, hashes):
    """Compares the rows of line `new` of S, after a Bootstrap, with those of line `old`; returns how many both have.

    Rows of both get stamp 0 and are marked in `kept`, which has a place for each old line; the others are inserted.
    `hashes` is scratch for PIECE words.
    """
    columns = S[new, k.COLUMNS]
    width = S[new, k.WIDTH]
    rows = S[new, k.ROWS]
    slots = S[old, k.SLOTS]
    size = S[old, k.SLOT_COUNT]
    used = S[old, k.USED] if S[old, k.LIVE] > 0 else 0
    old_rows = S[old, k.ROWS]
    old_stride = S[old, k.WIDTH] * 8
    inserted_count = 0
    kept_count = 0
    likely = 0
    tries = FEW_TRIES
    done = 0
    while done < S[new, k.USED]:
        piece = min(S[new, k.USED] - done, k.PIECE)
        # Both are mostly in the same order: a row is looked for behind the one before it, without its hash.
        near = 0
        for i in range(piece):
            row = rows + (done + i) * width * 8
            hashes[i] = IS_FREE
            if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
                continue
            before = likely
            end = min(likely + tries, used)
            while before < end and not is_row(old_rows + before * old_stride, row, columns):
                before += 1
            if before < end:
                hashes[i] = -1 - before
                likely = before + 1
                near += 1
                continue
            hashes[i] = hash_row(row, columns)
            prefetch(slots, home_slot(hashes[i], size))
        tries = MANY_TRIES if near >= piece // 4 else FEW_TRIES
        for i in range(piece):
            if hashes[i] >= 0:
                slot = load64(slots, home_slot(hashes[i], size))
                if slot != 0:
                    prefetch(old_rows, ((slot & k.LOW_MASK) - 1) * S[old, k.WIDTH])
        for i in range(piece):
            if hashes[i] == IS_FREE:
                continue
            row = rows + (done + i) * width * 8
            meta = load64(row, columns + k.META) & ~k.TOUCHED_BIT
            before = -1 - hashes[i]
            if hashes[i] >= 0:
                before = find_hashed(S, old, row, hashes[i]) if used > 0 else -1
                likely = before + 1 if before >= 0 else likely
            if before >= 0:
                kept[before] = 1
                kept_count += 1
                store64(row, columns + k.META, with_stamp(meta, 0))
            else:
                store32(S[new, k.INSERTED], inserted_count, done + i)
                inserted_count += 1
                store64(row, columns + k.META, with_stamp(meta, 1))
        done += piece
    S[new, k.INSERTED_COUNT] = inserted_count
    return kept_count


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64, uint8[::1])")
def add_deleted(S, A, old, new, kept):
    """Adds rows that are only in line `old` of S to line `new`, as deleted rows; runs after `mark_inserted`.

    The caller has made room for them in the rows and in DELETED. Returns the number of an arrangement that must grow
    before the next call, or -1.
    """
    columns = S[new, k.COLUMNS]
    wide = S[new, k.WIDE]
    stride = S[new, k.WIDTH] * 8
    old_stride = S[old, k.WIDTH] * 8
    deleted_count = 0
    for line in range(S[old, k.USED]):
        row = S[old, k.ROWS] + line * old_stride
        if kept[line] != 0 or load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
            continue
        dead = find_or_add(S, new, row)
        if dead < 0:
            dead = -1 - dead
            there = S[new, k.ROWS] + dead * stride
            store64(there, columns + k.META, -1 << k.STAMP_SHIFT)
            set_numbers(there, columns, wide, 0, 0)
        store32(S[new, k.DELETED], deleted_count, dead)
        deleted_count += 1
        arrangement = S[new, k.FIRST_ARRANGEMENT]
        while arrangement >= 0:
            if not arrange_row(S, A, arrangement, dead):
                return arrangement
            arrangement = A[arrangement, k.NEXT_ARRANGEMENT]
    S[new, k.DELETED_COUNT] = deleted_count
    return -1


@entry_point("int64(int64[:,::1], int64, uint8[::1], int32[::1])")
def list_deleted(S, old, kept, lines):
    """Writes the lines of the rows that are only in line `old` of S; returns how many there are. Runs after
    `mark_inserted`, for a relation that no stratum above reads."""
    columns = S[old, k.COLUMNS]
    stride = S[old, k.WIDTH] * 8
    count = 0
    for line in range(S[old, k.USED]):
        row = S[old, k.ROWS] + line * stride
        if kept[line] == 0 and load64(row, columns + k.META) >> k.STAMP_SHIFT != k.FREED:
            store32(lines.ctypes.data, count, line)
            count += 1
    return count


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def list_facts(S, relation, lines):
    """Writes the lines of input facts, as far as there is room; returns how many there are."""
    columns = S[relation, k.COLUMNS]
    stride = S[relation, k.WIDTH] * 8
    count = 0
    for line in range(S[relation, k.USED]):
        if load64(S[relation, k.ROWS] + line * stride, columns + k.META) & k.INPUT_BIT != 0:
            if count < lines.size:
                lines[count] = line
            count += 1
    return count


@entry_point("int64(int64[:,::1], int64)")
def mark_all_inserted(S, relation):
    """Marks all rows as inserted and without stamps, for a relation that was empty and that no stratum above reads.

    INSERTED is not written.
    """
    columns = S[relation, k.COLUMNS]
    stride = S[relation, k.WIDTH] * 8
    for line in range(S[relation, k.USED]):
        row = S[relation, k.ROWS] + line * stride
        meta = load64(row, columns + k.META)
        if meta >> k.STAMP_SHIFT != k.FREED:
            store64(row, columns + k.META, with_stamp(meta & ~k.TOUCHED_BIT, 0))
    S[relation, k.INSERTED_COUNT] = S[relation, k.LIVE]
    S[relation, k.DELETED_COUNT] = 0
    return 0


@entry_point("int64(int64[:,::1], int64, int64[:,::1], int64, int64, int64, int64[::1])")
def fill_facts(S, relation, facts, first, end, stamp, hashes):
    """Writes different facts, from the one at `first` up to `end`, with a stamp, into the lines with these numbers of a
    store that was empty and has room. Threads may share them. `hashes` is scratch for PIECE words.
    """
    columns = S[relation, k.COLUMNS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    stride = S[relation, k.WIDTH] * 8
    wide = S[relation, k.WIDE]
    while first < end:
        piece = min(end - first, k.PIECE)
        for i in range(piece):
            row = S[relation, k.ROWS] + (first + i) * stride
            for column in range(columns):
                store64(row, column, facts[first + i, column])
            store64(row, columns + k.META, (stamp << k.STAMP_SHIFT) | k.INPUT_BIT)
            set_numbers(row, columns, wide, 1, 1)
            hashes[i] = hash_row(row, columns)
            prefetch(slots, home_slot(hashes[i], size))
        for i in range(piece):
            slot = (hashes[i] << k.HASH_SHIFT) | (first + i + 1)
            at = home_slot(hashes[i], size)
            while load64(slots, at) != 0 or claim(slots, at, slot) != 0:
                at = slot_after(at, size)
        first += piece
    return 0


@entry_point("int64(int64[:,::1], int64[::1], int64, int64, int64, int64[::1])")
def index_facts(lines, slots, first, end, stamp, hashes):
    """Completes lines whose columns are written, from `first` up to `end`, as facts with a stamp, and puts them into an
    empty index. Threads may share them, once all columns are written. `hashes` is scratch for PIECE words.

    Returns how many rows were there already; those are in no slot.
    """
    columns = lines.shape[1] - k.ROW_EXTRA
    stride = lines.shape[1] * 8
    rows, table, size = lines.ctypes.data, slots.ctypes.data, slots.size
    repeated = 0
    while first < end:
        piece = min(end - first, k.PIECE)
        for i in range(piece):
            row = rows + (first + i) * stride
            set_numbers(row, columns, 0, 1, 1)
            store64(row, columns + k.META, (stamp << k.STAMP_SHIFT) | k.INPUT_BIT)
            hashes[i] = hash_row(row, columns)
            prefetch(table, home_slot(hashes[i], size))
        for i in range(piece):
            mine = (hashes[i] << k.HASH_SHIFT) | (first + i + 1)
            at = home_slot(hashes[i], size)
            while True:
                slot = load64(table, at)
                if slot == 0:
                    slot = claim(table, at, mine)
                    if slot == 0:
                        break
                if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashes[i]:
                    other = rows + ((slot & k.LOW_MASK) - 1) * stride
                    if same_words(other, rows + (first + i) * stride, columns):
                        repeated += 1
                        break
                at = slot_after(at, size)
        first += piece
    return repeated


@kernel
def write_present(S, relation):
    """Writes to PRESENT what the last commit has: the rows that the overlay inserts, and not those that it deletes."""
    present = S[relation, k.PRESENT]
    if present != 0:
        for place in range(S[relation, k.INSERTED_COUNT]):
            store8(present + load32(S[relation, k.INSERTED], place), 1)
        for place in range(S[relation, k.DELETED_COUNT]):
            store8(present + load32(S[relation, k.DELETED], place), 0)


@kernel
def clear_logged(S, relation, first, end):
    """Clears the stamps and marks of some rows in the log."""
    columns = S[relation, k.COLUMNS]
    stride = S[relation, k.WIDTH] * 8
    for place in range(first, end):
        if place + k.ROWS_FETCHED_AHEAD < end:
            line = load64(S[relation, k.LOG], (place + k.ROWS_FETCHED_AHEAD) * k.LOG_WIDTH)
            prefetch(S[relation, k.ROWS], line * S[relation, k.WIDTH] + columns)
        line = load64(S[relation, k.LOG], place * k.LOG_WIDTH)
        row = S[relation, k.ROWS] + line * stride
        meta = load64(row, columns + k.META) & ~k.TOUCHED_BIT
        store64(row, columns + k.META, with_stamp(meta, 0))


@kernel
def remove_rows(S, A, relation, first, end):
    """Takes some rows in DELETED out of the arrangements and the index, and frees their lines."""
    done = first
    while done < end:
        piece = min(end - done, k.PIECE)
        lines = S[relation, k.DELETED] + done * 4
        fetch_slots(S, relation, lines, piece)
        arrangement = S[relation, k.FIRST_ARRANGEMENT]
        while arrangement >= 0:
            fetch_buckets(S, A, arrangement, lines, piece)
            for i in range(piece):
                unarrange_row(S, A, arrangement, load32(lines, i))
            arrangement = A[arrangement, k.NEXT_ARRANGEMENT]
        for i in range(piece):
            remove_row(S, relation, load32(lines, i))
        done += piece


@kernel
def forget_overlay(S, relation):
    """Empties the lists of the overlay."""
    S[relation, k.LOG_COUNT] = 0
    S[relation, k.INSERTED_COUNT] = 0
    S[relation, k.DELETED_COUNT] = 0
    S[relation, k.PENDING_COUNT] = 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64)")
def commit(S, A, relation):
    """Makes the overlay the state: removes deleted rows, clears stamps and marks. Readers see it in PRESENT."""
    columns = S[relation, k.COLUMNS]
    stride = S[relation, k.WIDTH] * 8
    write_present(S, relation)
    clear_logged(S, relation, 0, S[relation, k.LOG_COUNT])
    # A Bootstrap has no log; the rows that an Update inserted are in it.
    for place in range(S[relation, k.INSERTED_COUNT] if S[relation, k.LOG_COUNT] == 0 else 0):
        fetch_line(S, relation, S[relation, k.INSERTED], place + k.ROWS_FETCHED_AHEAD, S[relation, k.INSERTED_COUNT])
        row = S[relation, k.ROWS] + load32(S[relation, k.INSERTED], place) * stride
        store64(row, columns + k.META, with_stamp(load64(row, columns + k.META), 0))
    remove_rows(S, A, relation, 0, S[relation, k.DELETED_COUNT])
    forget_overlay(S, relation)
    return 0


@entry_point("int64(int64[:,::1], int64)")
def show(S, relation):
    """Makes the overlay of an Update the state for readers, who look past its deleted rows. `clear_stamps` and
    `remove_deleted` do the rest later; the log and DELETED stay in place for them."""
    write_present(S, relation)
    S[relation, k.LIVE] -= S[relation, k.DELETED_COUNT]
    forget_overlay(S, relation)
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64)")
def clear_stamps(S, relation, first, end):
    """Clears the stamps and marks of some rows in the log of an Update, after `show`."""
    clear_logged(S, relation, first, end)
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64, int64)")
def remove_deleted(S, A, relation, first, end):
    """Removes some of the rows in DELETED, after `show`, which has subtracted them from LIVE."""
    S[relation, k.LIVE] += end - first
    remove_rows(S, A, relation, first, end)
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64)")
def roll_back(S, A, relation):
    """Undoes the overlay: removes new rows, and gives the others their old total, count and meta."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for place in range(S[relation, k.LOG_COUNT]):
        fetch_logged(S, relation, place + k.ROWS_FETCHED_AHEAD)
        entry = S[relation, k.LOG] + place * k.LOG_WIDTH * 8
        line = load64(entry, k.LOGGED_LINE)
        if load64(entry, k.LOGGED_TOTAL) < 0:
            arrangement = S[relation, k.FIRST_ARRANGEMENT]
            while arrangement >= 0:
                unarrange_row(S, A, arrangement, line)
                arrangement = A[arrangement, k.NEXT_ARRANGEMENT]
            remove_row(S, relation, line)
        else:
            row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
            store64(row, columns + k.META, meta_from_log(load64(entry, k.LOGGED_META), wide))
            set_numbers(row, columns, wide, load64(entry, k.LOGGED_TOTAL), load64(entry, k.LOGGED_COUNT))
    forget_overlay(S, relation)
    return 0


@entry_point("int64(int64[:,::1], int32[::1], int64, int64, uint8[::1])")
def mark_repeated(rows, slots, part, parts, repeated):
    """Marks all rows that have been before, among those whose hashes are in one of several parts; returns how many.

    `slots` is zeroed scratch, twice as many as rows or more; each part of the hashes has its own part of them.
    """
    columns = rows.shape[1]
    address = rows.ctypes.data
    first = part * slots.size // parts
    size = (part + 1) * slots.size // parts - first
    lowest = (part << k.HASH_SHIFT) // parts
    range_ = ((part + 1) << k.HASH_SHIFT) // parts - lowest
    count = 0
    done = 0
    while done < rows.shape[0]:
        end = min(done + k.PIECE, rows.shape[0])
        for i in range(done, end):
            hashed = hash_row(address + i * columns * 8, columns) - lowest
            if 0 <= hashed < range_:
                prefetch(slots.ctypes.data, (first + hashed * size // range_) // 2)
        for i in range(done, end):
            hashed = hash_row(address + i * columns * 8, columns) - lowest
            if hashed < 0 or hashed >= range_:
                continue
            at = hashed * size // range_
            while slots[first + at] != 0:
                if same_words(address + (slots[first + at] - 1) * columns * 8, address + i * columns * 8, columns):
                    break
                at = at + 1 if at + 1 < size else 0
            if slots[first + at] != 0:
                repeated[i] = 1
                count += 1
            else:
                slots[first + at] = i + 1
        done = end
    return count


@entry_point("int64(int64[:,::1], int64, int64, int64[:,::1], int64[::1], int64[::1])")
def net_operations(S, scratch, relation, rows, signs, verdict):
    """Reduces inserts and deletes to net operations: the last one of each row counts, and only if it changes the facts.

    `scratch` is the line of an empty store for rows of this width, with room for all. Writes +1, -1 or 0 per row into
    `verdict`; returns how many are not 0.
    """
    columns = S[relation, k.COLUMNS]
    wide = S[scratch, k.WIDE]
    stride = S[scratch, k.WIDTH] * 8
    address = rows.ctypes.data
    done = 0
    while done < signs.size:
        end = min(done + k.PIECE, signs.size)
        for i in range(done, end):
            # The hash waits in the place of the verdict.
            verdict[i] = hash_row(address + i * columns * 8, columns)
            prefetch(S[scratch, k.SLOTS], home_slot(verdict[i], S[scratch, k.SLOT_COUNT]))
        for i in range(done, end):
            line = find_or_add_hashed(S, scratch, address + i * columns * 8, verdict[i])
            if line < 0:
                line = -1 - line
                store64(S[scratch, k.ROWS] + line * stride, columns + k.META, 0)
            else:
                verdict[total_of(S[scratch, k.ROWS] + line * stride, columns, wide)] = 0
            set_total(S[scratch, k.ROWS] + line * stride, columns, wide, i)
            verdict[i] = signs[i]
        done = end
    changes = 0
    is_empty = S[relation, k.LIVE] == 0
    for i in range(signs.size):
        if verdict[i] == 0:
            continue
        line = -1 if is_empty else find_row(S, relation, address + i * columns * 8)
        fact = 0
        if line >= 0:
            fact = load64(S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8, columns + k.META) & k.INPUT_BIT
        if (verdict[i] > 0) == (fact != 0):
            verdict[i] = 0
        else:
            changes += 1
    return changes
