"""Births and deaths: what a buffer of rule instances (head, level) does to the rows of the head's relation.

`total` counts every instance of a row, `count` those of a level below its rank (docs/decisions/0002). In RETRACT
a row whose count reaches zero dies with the next wave. In INSERT a row that is absent is remembered (PENDING) with the
lowest level seen and enters with the next wave. Bootstrap is INSERT into an empty stratum.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import (
    find_hashed,
    find_or_add,
    find_or_add_hashed,
    find_row,
    hash_ahead,
    log_created,
    touch,
)
from tidelog.engine.local.kernels.memory import kernel, load64, store32, store64


@kernel
def add_pending(S, relation, line):
    store32(S[relation, k.PENDING_ROWS], S[relation, k.PENDING_COUNT], line)
    S[relation, k.PENDING_COUNT] += 1


@kernel
def with_stamp(meta, stamp):
    """The meta word with another stamp."""
    return (stamp << k.STAMP_SHIFT) | (meta & 0xFFFFFFFF)


@kernel
def with_rank(meta, rank):
    """The meta word with another rank."""
    return (meta & ~(k.RANK_MASK << k.RANK_SHIFT)) | (rank << k.RANK_SHIFT)


@kernel
def retract_instances(S, relation, buffer, count, hashes):
    """Kills `count` instances; 0, or -1 if a head is not there (the state is broken)."""
    columns = S[relation, k.COLUMNS]
    stride = S[relation, k.WIDTH] * 8
    rows = S[relation, k.ROWS]
    hash_ahead(S, relation, buffer, count, (columns + 1) * 8, hashes)
    for i in range(count):
        head = buffer + i * (columns + 1) * 8
        line = find_hashed(S, relation, head, load64(hashes, i))
        if line < 0:
            return -1
        row = rows + line * stride
        touch(S, relation, line, row, columns)
        store64(row, columns + k.TOTAL, load64(row, columns + k.TOTAL) - 1)
        rank = (load64(row, columns + k.META) >> k.RANK_SHIFT) & k.RANK_MASK
        if load64(head, columns) < rank:
            left = load64(row, columns + k.COUNT) - 1
            store64(row, columns + k.COUNT, left)
            if left == 0:
                add_pending(S, relation, line)
    return 0


@kernel
def insert_instances(S, relation, buffer, count, hashes, wave, logging):
    """Brings `count` instances to life."""
    columns = S[relation, k.COLUMNS]
    stride = S[relation, k.WIDTH] * 8
    rows = S[relation, k.ROWS]
    hash_ahead(S, relation, buffer, count, (columns + 1) * 8, hashes)
    for i in range(count):
        head = buffer + i * (columns + 1) * 8
        level = load64(head, columns)
        line = find_or_add_hashed(S, relation, head, load64(hashes, i))
        if line < 0:
            line = -1 - line
            row = rows + line * stride
            store64(row, columns + k.TOTAL, 1)
            store64(row, columns + k.COUNT, 1)
            store64(row, columns + k.META, (k.PENDING << k.STAMP_SHIFT) | ((level + 1) << k.RANK_SHIFT) | k.TOUCHED_BIT)
            if logging != 0:
                log_created(S, relation, line)
            add_pending(S, relation, line)
            continue
        row = rows + line * stride
        if logging != 0:
            touch(S, relation, line, row, columns)
        store64(row, columns + k.TOTAL, load64(row, columns + k.TOTAL) + 1)
        meta = load64(row, columns + k.META)
        stamp = meta >> k.STAMP_SHIFT
        rank = (meta >> k.RANK_SHIFT) & k.RANK_MASK
        if stamp == k.PENDING:
            if level + 1 < rank:
                store64(row, columns + k.META, with_rank(meta, level + 1))
                store64(row, columns + k.COUNT, 1)
            elif level + 1 == rank:
                store64(row, columns + k.COUNT, load64(row, columns + k.COUNT) + 1)
        elif stamp >= 0:
            if level < rank:
                store64(row, columns + k.COUNT, load64(row, columns + k.COUNT) + 1)
        elif wave > 0:
            # Dead, and found again: it returns with the next wave. (In wave 0 its total is enough.)
            store64(row, columns + k.META, with_rank(with_stamp(meta, k.PENDING), level + 1))
            store64(row, columns + k.COUNT, 1)
            add_pending(S, relation, line)
    return 0


@kernel
def retract_facts(S, relation, facts, count):
    """Deletes input facts, all of them there: one instance of level -1 each. What dies is pending, for wave 0."""
    columns = S[relation, k.COLUMNS]
    for i in range(count):
        line = find_row(S, relation, facts + i * columns * 8)
        if line < 0:
            return -1
        row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
        touch(S, relation, line, row, columns)
        store64(row, columns + k.META, load64(row, columns + k.META) & ~k.INPUT_BIT)
        store64(row, columns + k.TOTAL, load64(row, columns + k.TOTAL) - 1)
        left = load64(row, columns + k.COUNT) - 1
        store64(row, columns + k.COUNT, left)
        if left == 0:
            add_pending(S, relation, line)
    return 0


@kernel
def insert_facts(S, relation, facts, count, logging):
    """Inserts input facts, none of them there as a fact. A row that is absent or dead enters, pending, for wave 0."""
    columns = S[relation, k.COLUMNS]
    for i in range(count):
        line = find_or_add(S, relation, facts + i * columns * 8)
        if line < 0:
            line = -1 - line
            row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
            store64(row, columns + k.TOTAL, 1)
            store64(row, columns + k.COUNT, 1)
            store64(row, columns + k.META, (k.PENDING << k.STAMP_SHIFT) | k.TOUCHED_BIT | k.INPUT_BIT)
            if logging != 0:
                log_created(S, relation, line)
            add_pending(S, relation, line)
            continue
        row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
        if logging != 0:
            touch(S, relation, line, row, columns)
        store64(row, columns + k.TOTAL, load64(row, columns + k.TOTAL) + 1)
        meta = load64(row, columns + k.META) | k.INPUT_BIT
        if meta >> k.STAMP_SHIFT == 0:
            store64(row, columns + k.COUNT, load64(row, columns + k.COUNT) + 1)
        else:
            store64(row, columns + k.COUNT, 1)
            meta = with_rank(with_stamp(meta, k.PENDING), 0)
            add_pending(S, relation, line)
        store64(row, columns + k.META, meta)
    return 0
