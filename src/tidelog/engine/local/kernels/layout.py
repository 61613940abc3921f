"""The layout of memory: fields of the tables that kernels and Python share.

A kernel is compiled once for all programs, so it cannot name a relation's arrays. It gets tables of 64-bit words
instead, one line per relation (`S`), arrangement (`A`) and variant (`V`), whose fields hold sizes and raw addresses.
Python owns the memory (`storage/store.py`) and writes the lines; kernels read them and advance the sizes.

A row of a relation with k columns is k + 2 consecutive words:

    column 0 … column k-1 | meta | count << 32 | total        meta = stamp << 32 | rank << 2 | touched << 1 | input

or, in a relation that is wide because a total might outgrow its 32 bits, k + 3 (`row_counts`):

    column 0 … column k-1 | meta | total | count

or, in one that is slim because its ranks, counts and totals are small, k + 1, with all numbers in one word:

    column 0 … column k-1 | stamp << 32 | rank << 22 | count << 12 | total << 2 | touched << 1 | input

`stamp` is the overlay of the epoch in progress, 0 for a row that the epoch does not change:

    -(w + 1)  died in wave w of RETRACT            w + 1  entered in wave w of INSERT
    PENDING   enters with the next wave            FREED  an unused line

Once the stratum is finished, the stamp is -1 for a deleted row and 1 for an inserted one: to the strata above, wave 0.
`touched`: the log of the overlay has the row's old total, count and meta. `input`: the user inserted it as a fact.
"""

from __future__ import annotations

# A line of S: one relation.
ROWS, WIDTH, COLUMNS, CAPACITY, USED = 0, 1, 2, 3, 4  # USED: lines ever used
SLOTS, SLOT_COUNT, LIVE = 5, 6, 7  # the index on the whole row; LIVE: rows in it
FREE, FREE_COUNT, FREE_CAPACITY = 8, 9, 10  # lines to reuse
# Queues of lines, 32 bits each: PENDING_ROWS, BATCH, DELETED, INSERTED.
PENDING_ROWS, PENDING_COUNT, PENDING_CAPACITY = 11, 12, 13  # they die or enter with the next wave
BATCH, BATCH_COUNT = 14, 15  # they died or entered with this wave
LOG, LOG_COUNT, LOG_CAPACITY = 16, 17, 18
DELETED, DELETED_COUNT, INSERTED, INSERTED_COUNT = 19, 20, 21, 22  # the changes that the strata above see
CHANGED = 23  # 1: rows of this relation carry stamps
TOP = 24  # the highest rank ever given
FIRST_ARRANGEMENT = 25  # its line in A, or -1
WIDE = 26  # IS_WIDE: rows have a word each for total and count; IS_SLIM: all numbers are in one word
COUNT_ROOM = 27  # instances that may be applied before the largest total must be checked
SCAN_ZONES = 28  # zones of all rows, while a stratum above is derived (`zones`), or 0
PRESENT = 29  # a byte per line, 1: the last commit has a row there (`storage/versions`); 0 before the first commit
CHANGE_ROOM = 30  # how many lines fit into INSERTED and into DELETED
STORE_FIELDS = 31

# The words of a row behind its columns; COUNT is a word of its own only in a wide relation.
META, TOTAL, COUNT = 0, 1, 2
ROW_EXTRA, WIDE_EXTRA, SLIM_EXTRA = 2, 3, 1
COUNT_SHIFT = 32
IS_WIDE, IS_SLIM = 1, 2

INPUT_BIT, TOUCHED_BIT, RANK_SHIFT, STAMP_SHIFT = 1, 2, 2, 32
RANK_MASK = (1 << 30) - 1
# Where the numbers of a row of a slim relation are in its word; each has so many bits. An instance that is a fact may
# come beside those of the largest total. From this rank on, or this wave, a relation is not slim.
SLIM_TOTAL_SHIFT, SLIM_COUNT_SHIFT, SLIM_RANK_SHIFT = 2, 12, 22
SLIM_MASK = (1 << 10) - 1
LARGEST_SLIM = SLIM_MASK - 1
FIRST_DEEP = 1000
LOW_MASK = (1 << 32) - 1
HASH_SHIFT = 32
FREED = (1 << 31) - 1
PENDING = FREED - 1
# An entry of the log: a row as it was before the epoch; LOGGED_TOTAL is -1 for a row that was not there.
LOGGED_LINE, LOGGED_TOTAL, LOGGED_COUNT, LOGGED_META, LOG_WIDTH = 0, 1, 2, 3, 4

# A line of A: one arrangement, a multimap from key columns to lines of the relation.
RELATION, KEYS, KEY_COUNT = 0, 1, 2
TABLE, TABLE_MASK = 3, 4  # slots: hash << 32 | entry + 1
ENTRIES, ENTRY_COUNT, ENTRY_CAPACITY = 5, 6, 7  # (start, length and room, key …)
POOL, POOL_USED, POOL_CAPACITY, POOL_WASTE = 8, 9, 10, 11  # lines, bucket after bucket
POOL_LISTS = 64  # the pool begins with lists of free places, by size
MARKS = 12  # line → its place in its bucket, in 16 bits (`arrange.mark_of`); 0: in no bucket
NEXT_ARRANGEMENT = 13
SHAPE = 14  # one of the next two
HASHED, SORTED = 0, 1
ZONES = 15  # its zones, while a stratum is derived (`zones`), or 0
ARRANGEMENT_FIELDS = 16
# The words of an entry before its key: the start of its bucket, then, 32 bits each, its length and its room.
ENTRY_START, ENTRY_EXTRA = 0, 2
ENTRY_LENGTH, ENTRY_ROOM = 2, 3  # as places of 32 bits

# A line of A whose shape is SORTED: a trie, the rows in the order of all their columns (KEYS), page after page. The
# directory has an entry for each page with rows, in order: its number, how many rows it has, and its first word.
DIRECTORY, DIRECTORY_CAPACITY, PAGES, PAGE_COUNT, PAGE_CAPACITY = 3, 4, 5, 6, 7
DIRECTORY_PAGE, DIRECTORY_ROWS, DIRECTORY_FIRST, DIRECTORY_ENTRY = 0, 1, 2, 3
COUNTS = 8  # the nodes of a scan tree over the pages (`leapfrog/page_counts`), or 0
PAGES_TAKEN, FREE_PAGE = 9, 11  # pages ever used; a free page, from 1, whose first word is the next free page
PAGE_ROWS = 256  # a page is a column of so many words for each column of the relation, then one of lines

# A line of V: the bytecode of a group of variants with the same delta, a tree of iterators.
CODE, CONSTANTS, REGISTERS = 0, 1, 2
KIND, DELTA = 3, 4
ACTIVE = 5  # bits: when the group runs
IN_PYTHON = 6  # 1: an expression needs Python, so Python runs the group
VARIANT_FIELDS = 7
RETRACT_FIRST, RETRACT_LATER, INSERT_FIRST, INSERT_LATER = 1, 2, 4, 8  # ACTIVE: wave 0, or later waves

KIND_RULE, KIND_INSIDE, KIND_BELOW, KIND_NEGATED = 0, 1, 2, 3

# The bytecode of a group: how many lines of iterators it needs (one for each block, then one for each place in a trie),
# the start of each block, then the blocks, the root first.
CODE_ITERATORS, CODE_BLOCKS = 0, 1
# A block.
OP, TARGET, ROW_RELATION, INSIDE, CHECK = 0, 1, 2, 3, 4
KEY_N, KEY_AT, BIND_N, BIND_AT, EQUAL_N, EQUAL_AT, TAIL_N, TAIL_AT = 5, 6, 7, 8, 9, 10, 11, 12
PARENT, CHILD, SIBLING = 13, 14, 15  # blocks, or -1
SPLIT = 16  # the cursor from which threads take shares of the block's rows, or -1
EMIT_N, EMIT_AT = 17, 18
BOUND_N, BOUND_AT = 19, 20  # comparisons of a column with a register that is known before the iterator's rows
ONCE_N, ONCE_AT = 21, 22  # instructions that run when the iterator is opened, not for each row
BLOCK_WIDTH = 23
# A bound: a column of the row, how it compares with a register, and 1 if words are signed.
BOUND_COLUMN, BOUND_OP, BOUND_REGISTER, BOUND_SIGNED, BOUND_WIDTH = 0, 1, 2, 3, 4
BELOW_IT, AT_MOST_IT, ABOVE_IT, AT_LEAST_IT, EQUAL_TO_IT = 0, 1, 2, 3, 4
# An emit: the buffer and the tally of an instance; then the registers of its head.
EMIT_SLOT, EMIT_TALLY, EMIT_COUNT, EMIT_REGISTERS = 0, 1, 2, 3
# An instance in a buffer: the head's columns, its level, the hash of the head. The upper half of the level's word says
# how often it repeats; the upper half of the hash's word, at which slot the search for the head starts (`fetch_ahead`).
INSTANCE_LEVEL, INSTANCE_HASH, INSTANCE_EXTRA = 0, 1, 2
REPEAT_SHIFT = 32

ITERATE_UNIT, ITERATE_BATCH, ITERATE_PROBE, ITERATE_SCAN, ITERATE_FIND, ITERATE_INPUT = 0, 1, 2, 3, 4, 5
ITERATE_LEAP = 6
# A part of a leapfrog join (KEY_N of them at KEY_AT, and TARGET negated ones behind them): a trie at one of its levels.
# `PART_SLOT` is the slot of its place, `PART_PARENT` that of the level from which it is opened, through the words of
# some registers, or -1.
PART_TRIE, PART_LEVEL, PART_SLOT, PART_PARENT, PART_RELATION, PART_INSIDE, PART_CHECK = 0, 1, 2, 3, 4, 5, 6
PART_LAST, PART_KNOWN_N, PART_KNOWN_AT, PART_WIDTH = 7, 8, 9, 10  # PART_LAST: 1 at the last level, where there are rows
CHECK_NONE, CHECK_BEFORE, CHECK_AFTER = 0, 1, 2  # the literal stands before or after the delta's position

# Instructions of a tail.
TAIL_OP, TAIL_TARGET, TAIL_LEFT, TAIL_RIGHT, TAIL_BITS, TAIL_SIGNED, TAIL_WIDTH = 0, 1, 2, 3, 4, 5, 6
(
    T_FILTER,
    T_ABSENT,
    T_ADD,
    T_SUB,
    T_MUL,
    T_DIV,
    T_MOD,
    T_AND,
    T_OR,
    T_XOR,
    T_NOT,
    T_NEG,
    T_SHL,
    T_SHR,
    T_EQ,
    T_NE,
    T_LT,
    T_LE,
    T_MOVE,
    T_BOOL_NOT,
    T_SELECT,
) = range(21)

# The control words of a run; in a wave that threads share, each thread has its own.
PHASE, WAVE, STATE, VARIANT, FINISHED = 0, 1, 2, 3, 4
INSTANCES, YIELD_AT, NEED, NEED_AT = 5, 6, 7, 8
NODE, INPUT_COUNT, LOGGING, PYTHON_VARIANTS, LAST_WAVE = 9, 10, 11, 12, 13
THREADS, CHUNK = 14, 15  # the threads that share this wave, and the rows of a delta that one takes at a time
THREADS_AVAILABLE, BELOW = 16, 17  # threads of the pool; the rows below that wave 0 of a Bootstrap starts from
SHARE_FROM = 18  # from so many rows on, a wave is shared
SHARED, RESUME = 19, 20  # the wave was shared; a sharing thread's place in it
STOPPED = 21  # 1: this thread stopped all
LOOKED_AT = 22  # the rows and words that joins have read
COMBINE = 23  # 1: an instance that is already in the buffer is counted there; n > 1: not in the next n - 1 buffers
NEED_INSTANCES = 24  # how many instances the rows of NEED_AT stand for; WIDEN: the relation can no longer be slim
STAGE = 25  # of a whole Update, or STAGE_PHASE: `drive` runs one phase
# Of a whole Update: the instances that died, the waves so far, the most waves, and the highest rank allowed.
KILLED, WAVES_BEFORE, MOST_WAVES, MOST_RANK = 26, 27, 28, 29
APPLIED = 30  # instances of the present buffer that are applied already
CONTROL_FIELDS = 31
WIDEN = 1 << 62

RETRACT, INSERT = 0, 1
STATE_NEXT, STATE_ENUMERATE, STATE_APPLY, STATE_END, STATE_ARRANGE = 0, 1, 2, 3, 4

STAGE_PHASE, STAGE_BEGIN, STAGE_RETRACT, STAGE_BETWEEN, STAGE_INSERT, STAGE_FINISH = 0, 1, 2, 3, 4, 5

# A line of the relations that a stratum reads, and of its own: its number, how it is read, and the numbers of rows for
# which the plans were made.
READ, READ_HOW, READ_LEAST, READ_MOST, READ_FIELDS = 0, 1, 2, 3, 4
READ_POSITIVE, READ_NEGATED, READ_OWN = 0, 1, 2

# Results of `waves.drive`.
DONE, FULL, GROW, GROW_ARRANGEMENT, PYTHON, YIELD = 0, 1, 2, 3, 4, 5
DIVISION, BROKEN, ROUNDS, PAUSE, SHARE, SHARE_ARRANGING = 6, 7, 8, 9, 10, 11
OLD_PLANS, GROW_CHANGES = 12, 13

# A line of the iterators. FIRST and LAST: the rows of all threads, where they share them. LEAP_OPEN: 2 below a bound.
ITER_STARTED, ITER_CURSOR, ITER_END, ITER_LEVEL, ITER_FIRST, ITER_LAST = 0, 1, 2, 3, 4, 5
LEAP_OPEN, LEAP_BOUND, ITERATOR_WORDS = 6, 7, 8
OUT_ROWS = 2048
OUT_SPARE = 64  # at most so many instances of one row go to one buffer
# By the low bits of a hash: hash << PLACE_BITS | place of the last head with these bits in its buffer (`emit_buckets`).
RECENT_WORDS = 4096
RECENT_MASK = RECENT_WORDS - 1
PLACE_BITS = 14
PLACE_MASK = (1 << PLACE_BITS) - 1
STAGED_ROWS = 64  # rows of a bucket that are emitted at a time, at most OUT_SPARE; of each: address, level and hash
# Behind them, for some iterators each: hashes of keys that later rows will look for, by the last bits of the cursor.
NOTED_MASK, NOTED_LISTS = 31, 4
STAGED_WORDS = 2 * STAGED_ROWS + (NOTED_MASK + 1) * NOTED_LISTS
MOST_REPEATS = 1 << 20  # rows of one bucket that are emitted before the buffers are applied
PIECE = 128  # instances applied at a time
ROWS_FETCHED_AHEAD = 16  # in loops over lists of lines
PAUSE_ROWS = 20_000_000  # rows that a join reads before Python checks the deadline
ALL_ROWS = 1 << 60  # the share of a single thread
RESERVED_AT_A_TIME = 256  # lines of a relation that a thread reserves at a time
RESERVED_FROM, RESERVED_TO = 0, 1  # per thread and relation


def buffer_words(width: int) -> int:
    """Returns how many words a buffer has whose instances take `width` words each."""
    return (OUT_ROWS + OUT_SPARE) * width
