"""Small entry points: single kernels that Python calls by themselves."""

from __future__ import annotations

from tidelog.engine.local.kernels import apply_instances, arrange, index, join, waves
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import entry_point, load64, prefetch

AHEAD = 16


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def look_up(S, relation, row):
    """Returns the line of a row, or -1."""
    return index.find_row(S, relation, row.ctypes.data)


@entry_point("int64(int64[:,::1], int64, int64[:,::1], int64[::1])")
def look_up_many(S, relation, rows, lines):
    """Writes the line of each row, or -1; returns how many were found."""
    found = 0
    for i in range(rows.shape[0]):
        line = index.find_row(S, relation, rows.ctypes.data + i * rows.shape[1] * 8)
        lines[i] = line
        if line >= 0:
            found += 1
    return found


@entry_point("int64(int64[:,::1], int64)")
def reindex(S, relation):
    """Fills the empty index of a relation from its rows."""
    index.rebuild_index(S, relation)
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def refill_index(S, relation, taken):
    """Calls `index.refill_index`."""
    index.refill_index(S, relation, taken.ctypes.data, taken.size)
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64, int64[::1], int64[::1])")
def move_slots(S, relation, first, end, late, late_count):
    """Calls `index.move_slots`."""
    return index.move_slots(S, relation, first, end, late.ctypes.data, late.size, late_count.ctypes.data)


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64, int64, int32[::1])")
def build_arrangement(S, A, arrangement, first, limit, found):
    """Calls `arrange.arrange_all`."""
    return arrange.arrange_all(S, A, arrangement, first, limit, found.ctypes.data)


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def grow_table(A, arrangement, old):
    """Fills the empty table of an arrangement from the slots of its old one."""
    arrange.refill_table(A, arrangement, old.ctypes.data, old.size)
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1])")
def find_bucket(A, arrangement, row):
    """Returns the entry of an arrangement for the key of a row, or -1."""
    return arrange.find_entry(A, arrangement, row.ctypes.data)


@entry_point("int64(int64[:,::1], int64, int64[:,::1])")
def retract_facts(S, relation, facts):
    """Calls `apply_instances.retract_facts`."""
    return apply_instances.retract_facts(S, relation, facts.ctypes.data, facts.shape[0])


@entry_point("int64(int64[:,::1], int64, int64[:,::1], int64)")
def insert_facts(S, relation, facts, logging):
    """Calls `apply_instances.insert_facts`."""
    return apply_instances.insert_facts(S, relation, facts.ctypes.data, facts.shape[0], logging)


@entry_point("int64(int64[::1], int64[:,::1], int64[:,::1], int64[::1], int64, int64[:,::1], int64[:,::1], int64[::1])")
def exchange_facts(control, S, A, inside, relation, deleted, inserted, hashes):
    """Exchanges facts of a relation that no rule of its stratum derives or reads, as `drive` does it in two phases.

    Finds the changes, for which there must be room. Returns DONE, BROKEN, or GROW_ARRANGEMENT: then the next call,
    without facts, continues.
    """
    if deleted.shape[0] > 0:
        if apply_instances.retract_facts(S, relation, deleted.ctypes.data, deleted.shape[0]) < 0:
            return k.BROKEN
        waves.end_retract(S, inside, 0)
    if inserted.shape[0] > 0:
        apply_instances.insert_facts(S, relation, inserted.ctypes.data, inserted.shape[0], 1)
    if waves.end_insert(control, S, A, inside, 0, hashes) < 0:
        return k.GROW_ARRANGEMENT
    S[relation, k.BATCH_COUNT] = 0
    return waves.finish_update(control, S, inside)


@entry_point(
    "int64(int64[::1], int64[:,::1], int64[:,::1], int64, int64, int64[::1], int64[:,::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[:,::1], int64[::1])"
)
def enumerate_some(control, S, A, code, kind, registers, iterators, buffers, counts, tally, cursors, inputs, scratch):
    """Calls `join.enumerate_instances`, for bytecode that Python runs segment by segment."""
    return join.enumerate_instances(
        control, S, A, code, kind, registers, iterators, buffers, counts, tally, cursors, inputs, scratch
    )


@entry_point("int64(int64[::1], int64[:,::1], int64, int64[::1], int64)")
def apply_some(control, S, relation, out, count):
    """Calls `waves.apply_buffer`."""
    return waves.apply_buffer(control, S, relation, out.ctypes.data, count, 0)


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64, int64)")
def has_delta(S, V, variant, phase, wave):
    """Returns 1 if the variant has a delta in this wave, else 0."""
    return 1 if waves.has_delta(S, V, variant, phase, wave) else 0


@entry_point("int64(int64[:,::1], int32[::1], int64[:,::1])")
def gather(rows, lines, out):
    """Copies the first columns of some rows, as many as `out` has. The rows are spread over memory, so they are
    prefetched."""
    width = rows.shape[1]
    for i in range(lines.size):
        if i + AHEAD < lines.size:
            prefetch(rows.ctypes.data, lines[i + AHEAD] * width)
        row = rows.ctypes.data + lines[i] * width * 8
        for column in range(out.shape[1]):
            out[i, column] = load64(row, column)
    return 0


@entry_point("int64(int64[:,::1], int32[::1], int64[::1], int64[:,::1])")
def gather_columns(rows, lines, columns, out):
    """Copies some columns of some rows, in their order; see `gather`."""
    width = rows.shape[1]
    for i in range(lines.size):
        if i + AHEAD < lines.size:
            prefetch(rows.ctypes.data, lines[i + AHEAD] * width)
        row = rows.ctypes.data + lines[i] * width * 8
        for place in range(columns.size):
            out[i, place] = load64(row, columns[place])
    return 0
