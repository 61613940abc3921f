"""Where everything lies: the fields of the tables that kernels and Python share.

A kernel is compiled once for all programs, so it cannot name a relation's arrays. It gets tables of 64-bit words
instead, one line per relation (`S`), arrangement (`A`) and variant (`V`), whose fields hold sizes and raw addresses.
Python owns the memory (`store.py`) and writes the lines; kernels read them and advance the sizes.

A row of a relation with k columns is k + 2 consecutive words:

    column 0 … column k-1 | meta | count << 32 | total        meta = stamp << 32 | rank << 2 | touched << 1 | input

or, in a relation that is wide because a total might outgrow its 32 bits, k + 3 (`numbers`):

    column 0 … column k-1 | meta | total | count

`stamp` is the overlay of the epoch under way, 0 for a row that the epoch leaves alone:

    -(w + 1)  died in wave w of RETRACT            w + 1  entered in wave w of INSERT
    PENDING   enters with the next wave            FREED  an unused line

and, once its stratum is done, -1 for a row that left and 1 for a row that came: to the strata above, wave 0.
`touched` says that the overlay's log has the row's old numbers; `input`, that the user inserted it as a fact.
"""

from __future__ import annotations

# A line of S: one relation.
ROWS, WIDTH, COLUMNS, CAPACITY, USED = 0, 1, 2, 3, 4  # USED: lines ever handed out
SLOTS, SLOT_COUNT, LIVE = 5, 6, 7  # the index on the whole row; LIVE: rows in it
FREE, FREE_COUNT, FREE_CAPACITY = 8, 9, 10  # lines to reuse
# Queues of lines, 32 bits each: PENDING_ROWS, BATCH, LEFT, CAME.
PENDING_ROWS, PENDING_COUNT, PENDING_CAPACITY = 11, 12, 13  # they die or enter with the next wave
BATCH, BATCH_COUNT = 14, 15  # they died or entered with this wave
LOG, LOG_COUNT, LOG_CAPACITY = 16, 17, 18  # (line, total, count, meta) as before the epoch; total -1: it was not there
LEFT, LEFT_COUNT, CAME, CAME_COUNT = 19, 20, 21, 22  # what the strata above see
CHANGED = 23  # 1: rows of this relation carry stamps
TOP = 24  # the highest rank ever given
FIRST_ARRANGEMENT = 25  # its line in A, or -1
WIDE = 26  # 1: rows have a word each for total and count
COUNT_ROOM = 27  # so many instances may be applied before somebody must look whether totals still fit
STORE_FIELDS = 28

# The words of a row behind its columns; COUNT is one only where the relation is wide.
META, TOTAL, COUNT = 0, 1, 2
ROW_EXTRA, WIDE_EXTRA = 2, 3
COUNT_SHIFT = 32

INPUT_BIT, TOUCHED_BIT, RANK_SHIFT, STAMP_SHIFT = 1, 2, 2, 32
RANK_MASK = (1 << 30) - 1
LOW_MASK = (1 << 32) - 1
HASH_SHIFT = 32
FREED = (1 << 31) - 1
PENDING = FREED - 1
LOG_WIDTH = 4

# A line of A: one arrangement, a multimap from key columns to lines of the relation.
RELATION, KEYS, KEY_COUNT = 0, 1, 2
TABLE, TABLE_MASK = 3, 4  # slots: hash << 32 | entry + 1
ENTRIES, ENTRY_COUNT, ENTRY_CAPACITY = 5, 6, 7  # (start, length and room, key …)
POOL, POOL_USED, POOL_CAPACITY, POOL_WASTE = 8, 9, 10, 11  # lines, bucket after bucket
POOL_LISTS = 64  # it begins with the lists of free places, by size
MARKS = 12  # line → where in its bucket it is, in 16 bits (`arrange.mark_of`); 0: in none
NEXT_ARRANGEMENT = 13
SHAPE = 14  # one of the next two
HASHED, SORTED = 0, 1
ARRANGEMENT_FIELDS = 15
# The words of an entry before its key: where its bucket starts, then, 32 bits each, its length and how long it may be.
ENTRY_START, ENTRY_EXTRA = 0, 2
ENTRY_LENGTH, ENTRY_ROOM = 2, 3  # as places of 32 bits

# A line of A whose shape is SORTED: a trie, the rows in the order of all their columns (KEYS), page after page. The
# directory has an entry for each page that holds rows, in their order: its number, how many rows, and the first word.
DIRECTORY, DIRECTORY_CAPACITY, PAGES, PAGE_COUNT, PAGE_CAPACITY = 3, 4, 5, 6, 7
DIRECTORY_ENTRY = 3
COUNTS = 8  # the nodes of a scan tree over the pages (`lftj/page_counts`), or 0
PAGES_TAKEN, FREE_PAGE = 9, 11  # pages ever handed out; one to reuse, from 1, whose first word is the next
PAGE_ROWS = 256  # a page is a column of so many words for each column of the relation, then one of lines

# A line of V: one group of variants that start from the same delta: a tree of iterators in code.
CODE, CONSTANTS, REGISTERS = 0, 1, 2
KIND, DELTA = 3, 4
ACTIVE = 5  # bits: 1 RETRACT wave 0, 2 RETRACT later, 4 INSERT wave 0, 8 INSERT later
IN_PYTHON = 6  # 1: an expression needs Python, so the driver in Python runs it
VARIANT_FIELDS = 7

KIND_RULE, KIND_INSIDE, KIND_BELOW, KIND_NEGATED = 0, 1, 2, 3

# Code of a group: the lines that iterators take (one for each block, then one for each place in a trie), where each
# block begins, then the blocks, the root first.
CODE_ITERATORS, CODE_BLOCKS = 0, 1
# A block.
OP, TARGET, ROW_RELATION, INSIDE, CHECK = 0, 1, 2, 3, 4
KEY_N, KEY_AT, BIND_N, BIND_AT, EQUAL_N, EQUAL_AT, TAIL_N, TAIL_AT = 5, 6, 7, 8, 9, 10, 11, 12
PARENT, CHILD, SIBLING = 13, 14, 15  # blocks, or -1
SPLIT = 16  # the cursor from which threads take shares of its rows, or -1
EMIT_N, EMIT_AT = 17, 18
BLOCK_WIDTH = 19
# An emit: where an instance goes that got so far; then the registers of its head.
EMIT_SLOT, EMIT_TALLY, EMIT_COUNT, EMIT_REGISTERS = 0, 1, 2, 3
# An instance in a buffer: the head's columns, its level, the hash of the head. How often it came again (`repeats`) is
# in the upper half of the level's word; from which slot on to look for the head, in that of the hash's (`fetch_ahead`).
INSTANCE_LEVEL, INSTANCE_HASH, INSTANCE_EXTRA = 0, 1, 2
REPEAT_SHIFT = 32

ITERATE_UNIT, ITERATE_BATCH, ITERATE_PROBE, ITERATE_SCAN, ITERATE_FIND, ITERATE_INPUT = 0, 1, 2, 3, 4, 5
ITERATE_LEAP = 6
# A part of a leapfrog join (KEY_N of them at KEY_AT, and TARGET negated ones behind them): a trie at one of its levels.
# `PART_SLOT` is where its place is kept, `PART_PARENT` where that of the level is from which it is opened, through the
# words of some registers, or -1.
PART_TRIE, PART_LEVEL, PART_SLOT, PART_PARENT, PART_RELATION, PART_INSIDE, PART_CHECK = 0, 1, 2, 3, 4, 5, 6
PART_LAST, PART_KNOWN_N, PART_KNOWN_AT, PART_WIDTH = 7, 8, 9, 10  # PART_LAST: 1 at the last level, where there are rows
CHECK_NONE, CHECK_BEFORE, CHECK_AFTER = 0, 1, 2  # the literal stands before or after the delta's position

# Instructions of a tail: (op, destination, a, b, width, signed).
TAIL_WIDTH = 6
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

# The control words of a run; in a wave that threads share, each has its own.
PHASE, WAVE, STATE, VARIANT, FINISHED = 0, 1, 2, 3, 4
INSTANCES, YIELD_AT, NEED, NEED_AT = 5, 6, 7, 8
NODE, INPUT_COUNT, LOGGING, PYTHON_VARIANTS, LAST_WAVE = 9, 10, 11, 12, 13
THREADS, CHUNK = 14, 15  # the threads that share this wave, and the rows of a delta that one takes at a time
THREADS_THERE, BELOW = 16, 17  # the threads that may share one; the rows that wave 0 of a Bootstrap begins from
SHARE_FROM = 18  # from so many rows on, a wave is shared
SHARED, RESUME = 19, 20  # the wave was shared; a sharing thread's place in it
STOPPED = 21  # it was this thread that stopped all
LOOKED_AT = 22  # the rows and words that joins have looked at
COMBINE = 23  # 1: an instance that is in the buffer already is counted there; more: not in so many buffers less one
NEED_INSTANCES = 24  # how many instances the rows of NEED_AT stand for
CONTROL_FIELDS = 25

RETRACT, INSERT = 0, 1
STATE_NEXT, STATE_ENUMERATE, STATE_APPLY, STATE_END, STATE_ARRANGE = 0, 1, 2, 3, 4

# What the driver hands back.
DONE, FULL, GROW, GROW_ARRANGEMENT, PYTHON, YIELD = 0, 1, 2, 3, 4, 5
DIVISION, BROKEN, ROUNDS, PAUSE, SHARE, SHARE_END = 6, 7, 8, 9, 10, 11

# started, cursor, end, level; of one that is shared out: where its rows begin and end; of a leapfrog join: whether it
# is open (2: below a bound), the bound
ITERATOR_WORDS = 8
LEAP_OPEN, LEAP_BOUND = 6, 7
OUT_ROWS = 2048
OUT_SPARE = 64  # at most so many instances of one row go to one buffer
# By the low bits of a hash: hash << PLACE_BITS | place of the last head with these bits in its buffer (see `buckets`).
RECENT_WORDS = 4096
RECENT_MASK = RECENT_WORDS - 1
PLACE_BITS = 14
PLACE_MASK = (1 << PLACE_BITS) - 1
STAGED_ROWS = 64  # rows of a bucket that are emitted at a time, at most OUT_SPARE; of each: where, level and hash
MOST_REPEATS = 1 << 20  # rows of one bucket that are emitted before others have a say
PIECE = 128  # instances applied at a time
PAUSE_ROWS = 20_000_000  # rows that a join looks at before it lets Python look at the clock
ALL_ROWS = 1 << 60  # the share of a thread that is alone
LINES_TAKEN = 256  # the lines of a relation that a thread takes at a time


def buffer_words(width: int) -> int:
    """The words of a buffer whose instances take `width` words each."""
    return (OUT_ROWS + OUT_SPARE) * width
