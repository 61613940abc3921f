"""The groups of a monotone stratum between waves: members → rows of the best values (`strata/monotone/in_kernels`).

A group B(k, best v) of members M(k, …, v) is like the rule B(k, v) :- M(k, …, v), for some of the (k, v) only: those
that were the best of their key when they were inserted. `give_members` counts the instances of the batch's members
whose row B has, in both phases. In INSERT the other members are *offers*: (word, line), where the word has the order of
the values and the least is the best. `choose_offers` takes the best share of the waiting offers, `admit_offers` inserts
those that are still better than every row of their key, with the instances of all present members of that value.

After RETRACT `offer_remaining` offers the best remaining member of every key whose row has died. At the end
`best_changes` finds how the best row of each key has changed.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply_instances import insert_instances, retract_instances
from tidelog.engine.local.kernels.arrange import find_entry, find_entry_hashed, hash_key
from tidelog.engine.local.kernels.index import find_hashed, hash_row, home_slot
from tidelog.engine.local.kernels.memory import entry_point, kernel, load32, load64, prefetch, store64
from tidelog.engine.local.kernels.row_counts import rank_of, total_of

# A group: relations of members and of best rows, the number of keys, the column of the value, and the word whose bits
# make the order of the values that of words, the best first. Then arrangements: of the best rows by key, of members by
# key, of members by key and value; -1: members are their own rows. Last the address of the labels of interned values,
# which have their order; 0: values are words.
MEMBERS, BEST, KEYS, VALUE, FLIP, BEST_BY_KEY, MEMBERS_BY_KEY, MEMBERS_BY_ROW, LABELS = 0, 1, 2, 3, 4, 5, 6, 7, 8
GROUP_FIELDS = 9
OFFER_WORD, OFFER_LINE, OFFER_WIDTH = 0, 1, 2
SAMPLE = 1024
WORST = 0x7FFFFFFFFFFFFFFF
UNKNOWN = -0x8000000000000000  # the label of a value that has none yet


@kernel
def order_of(group, word):
    """Returns the word that has the order of the values, the best first, of a value's word."""
    if group[LABELS] != 0:
        word = load64(group[LABELS], word)
    return word ^ group[FLIP]


@kernel
def write_head(S, group, row, head):
    """Writes the instance that a member, at this address, is for the row of its value."""
    keys = group[KEYS]
    for i in range(keys):
        store64(head, i, load64(row, i))
    store64(head, keys, load64(row, group[VALUE]))
    hashed = hash_row(head, keys + 1)
    members = group[MEMBERS]
    rank = rank_of(load64(row, S[members, k.COLUMNS] + k.META), S[members, k.WIDE])
    store64(head, keys + 1 + k.INSTANCE_LEVEL, rank)
    store64(head, keys + 1 + k.INSTANCE_HASH, hashed)
    return hashed


@kernel
def apply_heads(control, S, relation, buffer, count):
    """Applies instances to the best rows; returns 0, or -1 if the state is broken."""
    S[relation, k.COUNT_ROOM] -= count
    if control[k.PHASE] == k.RETRACT:
        return retract_instances(S, relation, buffer, count)
    insert_instances(S, relation, buffer, count, control[k.WAVE], control[k.LOGGING])
    return 0


@entry_point("int64(int64[::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64)")
def give_members(control, S, group, buffer, offers, waiting):
    """Counts the batch's members whose row is there; writes the others, in INSERT, behind the `waiting` offers.

    The caller has made room for all. Returns how many offers wait now, or -1 if the state is broken.
    """
    members, best = group[MEMBERS], group[BEST]
    stride = S[members, k.WIDTH] * 8
    own = group[KEYS] + 1
    width = (own + k.INSTANCE_EXTRA) * 8
    heads = buffer.ctypes.data
    rows = S[best, k.ROWS]
    lines = S[members, k.BATCH]
    count = S[members, k.BATCH_COUNT]
    done = 0
    while done < count:
        piece = min(count - done, k.PIECE)
        for i in range(piece):
            prefetch(S[members, k.ROWS], load32(lines, done + i) * S[members, k.WIDTH])
        for i in range(piece):
            hashed = write_head(S, group, S[members, k.ROWS] + load32(lines, done + i) * stride, heads + i * width)
            prefetch(S[best, k.SLOTS], home_slot(hashed, S[best, k.SLOT_COUNT]))
        found = 0
        for i in range(piece):
            head = heads + i * width
            hashed = load64(head, own + k.INSTANCE_HASH)
            line = find_hashed(S, best, head, hashed)
            is_there = line >= 0
            if is_there and control[k.PHASE] == k.INSERT:
                row = rows + line * S[best, k.WIDTH] * 8
                is_dead = load64(row, own + k.META) >> k.STAMP_SHIFT < 0
                # A dead row without members is as good as deleted; it is admitted like any other.
                is_there = not (is_dead and total_of(row, own, S[best, k.WIDE]) == 0)
            if is_there:
                for word in range(own + k.INSTANCE_EXTRA):
                    store64(heads + found * width, word, load64(head, word))
                found += 1
            elif control[k.PHASE] == k.INSERT:
                offers[waiting, OFFER_WORD] = order_of(group, load64(head, own - 1))
                offers[waiting, OFFER_LINE] = load32(lines, done + i)
                waiting += 1
        if found > 0 and apply_heads(control, S, best, heads, found) < 0:
            return -1
        done += piece
    return waiting


@kernel
def add_least(least, size, word):
    """Adds a word to the `size` least ones, in order."""
    place = size
    while place > 0 and least[place - 1] > word:
        if place < least.size:
            least[place] = least[place - 1]
        place -= 1
    if place < least.size:
        least[place] = word


@entry_point("int64(int64[:,::1], int64[::1], int64[::1])")
def find_unlabelled(S, group, found):
    """Writes the values of the batch's members that have no label; returns how many. `found` has room for the batch."""
    members = group[MEMBERS]
    count = 0
    for place in range(S[members, k.BATCH_COUNT]):
        row = S[members, k.ROWS] + load32(S[members, k.BATCH], place) * S[members, k.WIDTH] * 8
        value = load64(row, group[VALUE])
        if load64(group[LABELS], value) == UNKNOWN:
            found[count] = value
            count += 1
    return count


@entry_point("int64(int64[:,::1], int64[::1], int64[:,::1], int64)")
def order_offers(S, group, offers, waiting):
    """Writes the words of the waiting offers again, after values have got other labels."""
    members = group[MEMBERS]
    for i in range(waiting):
        row = S[members, k.ROWS] + offers[i, OFFER_LINE] * S[members, k.WIDTH] * 8
        offers[i, OFFER_WORD] = order_of(group, load64(row, group[VALUE]))
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64[::1])")
def choose_offers(offers, waiting, few, least):
    """Moves a share of the waiting offers, the best, to the end; returns how many stay.

    About as many are chosen as `least`, which is scratch, has words of SAMPLE. Up to `few` offers are all chosen.
    """
    if waiting <= few:
        return 0
    for i in range(SAMPLE):
        add_least(least, min(i, least.size), offers[(i * waiting) // SAMPLE, OFFER_WORD])
    bound = least[least.size - 1]
    low, high = 0, waiting
    while low < high:
        word = offers[low, OFFER_WORD]
        if word <= bound:
            high -= 1
            line = offers[low, OFFER_LINE]
            offers[low, OFFER_WORD] = offers[high, OFFER_WORD]
            offers[low, OFFER_LINE] = offers[high, OFFER_LINE]
            offers[high, OFFER_WORD] = word
            offers[high, OFFER_LINE] = line
        else:
            low += 1
    return low


@kernel
def best_word(S, A, group, entry):
    """Returns the word of the best present row in a bucket of best rows, or WORST; `present` is true with it."""
    best = group[BEST]
    own = group[KEYS] + 1
    address = A[group[BEST_BY_KEY], k.ENTRIES] + entry * (k.ENTRY_EXTRA + group[KEYS]) * 8
    start = load64(address, k.ENTRY_START)
    pool = A[group[BEST_BY_KEY], k.POOL]
    found = WORST
    present = False
    for place in range(start, start + load32(address, k.ENTRY_LENGTH)):
        row = S[best, k.ROWS] + load32(pool, place) * S[best, k.WIDTH] * 8
        if load64(row, own + k.META) >> k.STAMP_SHIFT >= 0:
            word = order_of(group, load64(row, own - 1))
            if not present or word < found:
                found = word
            present = True
    return found, present


@kernel
def same_key(one, other, keys):
    for i in range(keys):
        if load64(one, i) != load64(other, i):
            return False
    return True


@entry_point(
    "int64(int64[::1], int64[:,::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64, int64, int64[::1])"
)
def admit_offers(control, S, A, group, buffer, offers, first, end, table):
    """Inserts the rows of the offers from `first` to `end`: the best of each key, if it is better than all its rows.

    `table` has zeros, a power of two of them, at least twice as many as there are offers. The caller has made room.
    Returns how many rows were admitted.
    """
    members, best = group[MEMBERS], group[BEST]
    columns = S[members, k.COLUMNS]
    rows = S[members, k.ROWS]
    width = S[members, k.WIDTH]
    keys = group[KEYS]
    by_key = group[BEST_BY_KEY]
    mask = table.size - 1
    # Of the offers of one key only the best stays; the others get line -1.
    done = first
    while done < end:
        piece = min(end - done, k.PIECE)
        for i in range(done, done + piece):
            prefetch(rows, offers[i, OFFER_LINE] * width)
        for i in range(done, done + piece):
            row = rows + offers[i, OFFER_LINE] * width * 8
            at = hash_key(A, by_key, row) & mask
            while table[at] != 0:
                other = table[at] - 1
                if same_key(rows + offers[other, OFFER_LINE] * width * 8, row, keys):
                    break
                at = (at + 1) & mask
            if table[at] == 0:
                table[at] = i + 1
            elif offers[i, OFFER_WORD] < offers[table[at] - 1, OFFER_WORD]:
                other = table[at] - 1
                table[at] = i + 1
                offers[other, OFFER_LINE] = -1 - offers[other, OFFER_LINE]
            else:
                offers[i, OFFER_LINE] = -1 - offers[i, OFFER_LINE]
        done += piece
    admitted = 0
    pending = 0
    own = keys + 1
    length = (own + k.INSTANCE_EXTRA) * 8
    heads = buffer.ctypes.data
    slots = A[by_key, k.TABLE]
    slot_mask = A[by_key, k.TABLE_MASK]
    entry_width = k.ENTRY_EXTRA + keys
    done = first
    while done < end:
        piece = min(end - done, k.PIECE)
        for i in range(done, done + piece):
            if offers[i, OFFER_LINE] >= 0:
                prefetch(slots, hash_key(A, by_key, rows + offers[i, OFFER_LINE] * width * 8) & slot_mask)
        for i in range(done, done + piece):
            if offers[i, OFFER_LINE] >= 0:
                slot = load64(slots, hash_key(A, by_key, rows + offers[i, OFFER_LINE] * width * 8) & slot_mask)
                if slot != 0:
                    prefetch(A[by_key, k.ENTRIES], ((slot & k.LOW_MASK) - 1) * entry_width)
        for i in range(done, done + piece):
            line = offers[i, OFFER_LINE]
            if line < 0:
                continue
            row = rows + line * width * 8
            entry = find_entry_hashed(A, by_key, row, hash_key(A, by_key, row))
            if entry >= 0:
                known, present = best_word(S, A, group, entry)
                if present and known <= offers[i, OFFER_WORD]:
                    continue
            admitted += 1
            if group[MEMBERS_BY_ROW] < 0:
                write_head(S, group, row, heads + pending * length)
                pending += 1
                if pending == k.PIECE:
                    apply_heads(control, S, best, heads, pending)
                    pending = 0
                continue
            by_row = group[MEMBERS_BY_ROW]
            address = A[by_row, k.ENTRIES] + find_entry(A, by_row, row) * (k.ENTRY_EXTRA + own) * 8
            start = load64(address, k.ENTRY_START)
            for place in range(start, start + load32(address, k.ENTRY_LENGTH)):
                member = rows + load32(A[by_row, k.POOL], place) * width * 8
                stamp = load64(member, columns + k.META) >> k.STAMP_SHIFT
                if stamp >= 0 and stamp != k.PENDING:
                    write_head(S, group, member, heads + pending * length)
                    pending += 1
                    if pending == k.PIECE:
                        apply_heads(control, S, best, heads, pending)
                        pending = 0
        done += piece
    if pending > 0:
        apply_heads(control, S, best, heads, pending)
    return admitted


@entry_point("int64(int64[:,::1], int64[:,::1], int64[::1], int64[:,::1], int64)")
def offer_remaining(S, A, group, offers, waiting):
    """Offers the best remaining member of each key whose row has died; returns how many offers wait now.

    The caller has made room for as many offers as the log of the best rows has entries.
    """
    members, best = group[MEMBERS], group[BEST]
    columns = S[members, k.COLUMNS]
    own = group[KEYS] + 1
    by_key = group[MEMBERS_BY_KEY]
    for place in range(S[best, k.LOG_COUNT]):
        line = load64(S[best, k.LOG], place * k.LOG_WIDTH)
        row = S[best, k.ROWS] + line * S[best, k.WIDTH] * 8
        if load64(row, own + k.META) >> k.STAMP_SHIFT >= 0:
            continue
        entry = find_entry(A, by_key, row)
        if entry < 0:
            continue
        address = A[by_key, k.ENTRIES] + entry * (k.ENTRY_EXTRA + group[KEYS]) * 8
        start = load64(address, k.ENTRY_START)
        chosen = -1
        word = WORST
        for at in range(start, start + load32(address, k.ENTRY_LENGTH)):
            line = load32(A[by_key, k.POOL], at)
            member = S[members, k.ROWS] + line * S[members, k.WIDTH] * 8
            stamp = load64(member, columns + k.META) >> k.STAMP_SHIFT
            if stamp >= 0 and stamp != k.PENDING:
                own_word = order_of(group, load64(member, group[VALUE]))
                if chosen < 0 or own_word < word:
                    chosen, word = line, own_word
        if chosen >= 0:
            offers[waiting, OFFER_WORD] = word
            offers[waiting, OFFER_LINE] = chosen
            waiting += 1
    return waiting


@entry_point("int64(int64[:,::1], int64[:,::1], int64[::1], int64[::1])")
def all_best(S, A, group, lines):
    """Writes the line of the best row of every key; returns how many keys there are. All rows are present."""
    best = group[BEST]
    own = group[KEYS] + 1
    by_key = group[BEST_BY_KEY]
    count = 0
    for entry in range(A[by_key, k.ENTRY_COUNT]):
        address = A[by_key, k.ENTRIES] + entry * (k.ENTRY_EXTRA + group[KEYS]) * 8
        start = load64(address, k.ENTRY_START)
        chosen = -1
        word = WORST
        for at in range(start, start + load32(address, k.ENTRY_LENGTH)):
            line = load32(A[by_key, k.POOL], at)
            row = S[best, k.ROWS] + line * S[best, k.WIDTH] * 8
            own_word = order_of(group, load64(row, own - 1))
            if chosen < 0 or own_word < word:
                chosen, word = line, own_word
        if chosen >= 0:
            lines[count] = chosen
            count += 1
    return count


@entry_point("int64(int64[:,::1], int64[:,::1], int64[::1], int32[::1], int64[::1], int64[::1], int64[::1])")
def best_changes(S, A, group, changed, inserted, deleted, counts):
    """Writes the lines of rows that have become the best of their keys, and of those that are it no more.

    Runs when the stratum is finished: 1 is the stamp of an inserted row, -1 that of a deleted one. `changed` are the
    lines of both. Writes how many there are of each to `counts`.
    """
    best = group[BEST]
    own = group[KEYS] + 1
    by_key = group[BEST_BY_KEY]
    for i in range(changed.size):
        row = S[best, k.ROWS] + changed[i] * S[best, k.WIDTH] * 8
        address = A[by_key, k.ENTRIES] + find_entry(A, by_key, row) * (k.ENTRY_EXTRA + group[KEYS]) * 8
        start = load64(address, k.ENTRY_START)
        first = changed[i]
        old = new = -1
        old_word = new_word = WORST
        for at in range(start, start + load32(address, k.ENTRY_LENGTH)):
            line = load32(A[by_key, k.POOL], at)
            row = S[best, k.ROWS] + line * S[best, k.WIDTH] * 8
            stamp = load64(row, own + k.META) >> k.STAMP_SHIFT
            word = order_of(group, load64(row, own - 1))
            if stamp != 0:
                first = min(first, line)
            if stamp <= 0 and (old < 0 or word < old_word):
                old, old_word = line, word
            if stamp >= 0 and (new < 0 or word < new_word):
                new, new_word = line, word
        # A key with several changed rows is done with the first of them.
        if first == changed[i] and old != new:
            if old >= 0:
                deleted[counts[1]] = old
                counts[1] += 1
            if new >= 0:
                inserted[counts[0]] = new
                counts[0] += 1
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64[::1])")
def watch_batch(S, columns, highest):
    """Raises each of `highest` to the largest word, xor a mask, that the batch has in a column.

    `columns` has a line for each: relation, column, mask.
    """
    for each in range(columns.shape[0]):
        relation, column, flip = columns[each, 0], columns[each, 1], columns[each, 2]
        most = highest[each]
        for place in range(S[relation, k.BATCH_COUNT]):
            row = S[relation, k.ROWS] + load32(S[relation, k.BATCH], place) * S[relation, k.WIDTH] * 8
            most = max(most, load64(row, column) ^ flip)
        highest[each] = most
    return 0
