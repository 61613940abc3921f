"""The waves of one stratum: RETRACT or INSERT until no batch is left, with no Python between rules or waves.

`drive` is a state machine over the control words: choose the next group with a delta, enumerate into the buffers, apply
them, and at the end of the wave mark the whole next batch before it is enumerated. A phase starts at the end of wave
-1, which makes the pending input facts wave 0. It returns when it is done, or when Python must act first (memory, an
expression, the deadline, a wave for several threads), and continues at the same point.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply_instances import (
    add_pending,
    insert_instances,
    retract_instances,
    with_stamp,
)
from tidelog.engine.local.kernels.arrange import arrange_queue
from tidelog.engine.local.kernels.emit_buckets import combine_next
from tidelog.engine.local.kernels.find_changes import find_changes
from tidelog.engine.local.kernels.index import fetch_line, fetch_logged
from tidelog.engine.local.kernels.join import enumerate_instances
from tidelog.engine.local.kernels.memory import borrowed, entry_point, kernel, load32, load64, store64
from tidelog.engine.local.kernels.row_counts import rank_of, set_count, total_of, with_rank


@kernel
def has_delta(S, V, variant, phase, wave):
    """True if the variant has a delta in this wave."""
    if wave == 0:
        bit = k.RETRACT_FIRST if phase == k.RETRACT else k.INSERT_FIRST
    else:
        bit = k.RETRACT_LATER if phase == k.RETRACT else k.INSERT_LATER
    if V[variant, k.ACTIVE] & bit == 0:
        return False
    kind = V[variant, k.KIND]
    if kind == k.KIND_RULE:
        return True
    if kind == k.KIND_INSIDE:
        return S[V[variant, k.DELTA], k.BATCH_COUNT] > 0
    if (kind == k.KIND_NEGATED) == (phase == k.INSERT):
        return S[V[variant, k.DELTA], k.DELETED_COUNT] > 0
    return S[V[variant, k.DELTA], k.INSERTED_COUNT] > 0


@kernel
def has_room(S, relation, rows, instances, logging):
    """True if `rows` more rows with so many instances fit everywhere; the index stays at most three quarters full."""
    if S[relation, k.USED] + rows > S[relation, k.CAPACITY] + S[relation, k.FREE_COUNT]:
        return False
    if (S[relation, k.LIVE] + rows) * 4 > S[relation, k.SLOT_COUNT] * 3:
        return False
    if S[relation, k.PENDING_COUNT] + rows > S[relation, k.PENDING_CAPACITY] or instances > S[relation, k.COUNT_ROOM]:
        return False
    return logging == 0 or S[relation, k.LOG_COUNT] + rows <= S[relation, k.LOG_CAPACITY]


@kernel
def start_variant(control, V, variant, registers, iterators):
    """Sets the registers to the group's constants and its tree to the root."""
    for i in range(V[variant, k.REGISTERS]):
        registers[i] = load64(V[variant, k.CONSTANTS], i)
    iterators[0, k.ITER_STARTED] = 0
    control[k.NODE] = 0


@kernel
def next_variant(control, S, V):
    """Returns the next group with a delta in this wave, and writes it to the control words; V.shape[0] if there is
    none."""
    variant = control[k.VARIANT]
    while variant < V.shape[0] and (
        V[variant, k.IN_PYTHON] != 0 or not has_delta(S, V, variant, control[k.PHASE], control[k.WAVE])
    ):
        variant += 1
    control[k.VARIANT] = variant
    return variant


@kernel
def enumerate_variant(control, S, A, V, registers, iterators, buffers, counts, tally, cursors, inputs, scratch):
    """Continues to enumerate the group in the control words; see `join.enumerate_instances`."""
    variant = control[k.VARIANT]
    code, kind = V[variant, k.CODE], V[variant, k.KIND]
    return enumerate_instances(
        control, S, A, code, kind, registers, iterators, buffers, counts, tally, cursors, inputs, scratch
    )


@kernel
def widen_before_more(control, relation):
    """Asks Python to widen a slim relation."""
    control[k.NEED] = relation
    control[k.NEED_AT] = 0
    control[k.NEED_INSTANCES] = k.WIDEN


@kernel
def is_too_deep(control, S, inside):
    """True if a wave may give ranks that a slim relation of the stratum, which is in NEED then, cannot have."""
    top = control[k.WAVE]
    for i in range(inside.size):
        top = max(top, S[inside[i], k.TOP])
    if top < k.FIRST_DEEP:
        return False
    for i in range(inside.size):
        if S[inside[i], k.WIDE] == k.IS_SLIM:
            widen_before_more(control, inside[i])
            return True
    return False


@kernel
def apply_buffer(control, S, relation, buffer, count, repeats):
    """Applies a buffer of instances, some of which repeat, to the head's relation; returns 0, BROKEN, or GROW: then the
    next call continues."""
    instances = count + repeats
    if not has_room(S, relation, count, instances, control[k.LOGGING]):
        control[k.NEED] = relation
        control[k.NEED_AT] = count
        control[k.NEED_INSTANCES] = instances
        return k.GROW
    width = (S[relation, k.COLUMNS] + k.INSTANCE_EXTRA) * 8
    done = control[k.APPLIED]
    # In pieces that fit in the caches, so that the memory that `fetch_ahead` fetched is still there.
    while done < count:
        piece = min(count - done, k.PIECE)
        if control[k.PHASE] == k.RETRACT:
            if retract_instances(S, relation, buffer + done * width, piece) < 0:
                return k.BROKEN
        else:
            inserted = insert_instances(S, relation, buffer + done * width, piece, control[k.WAVE], control[k.LOGGING])
            if inserted < piece:
                control[k.APPLIED] = done + inserted
                widen_before_more(control, relation)
                return k.GROW
        done += piece
    control[k.APPLIED] = 0
    S[relation, k.COUNT_ROOM] -= instances
    control[k.INSTANCES] += instances
    return 0


@kernel
def end_retract(S, inside, wave):
    """Makes the pending rows die with the next wave; returns how many there are."""
    batch = 0
    for i in range(inside.size):
        relation = inside[i]
        columns = S[relation, k.COLUMNS]
        stride = S[relation, k.WIDTH] * 8
        for place in range(S[relation, k.PENDING_COUNT]):
            ahead = place + k.ROWS_FETCHED_AHEAD
            fetch_line(S, relation, S[relation, k.PENDING_ROWS], ahead, S[relation, k.PENDING_COUNT])
            row = S[relation, k.ROWS] + load32(S[relation, k.PENDING_ROWS], place) * stride
            store64(row, columns + k.META, with_stamp(load64(row, columns + k.META), -(wave + 1)))
        batch += take_pending(S, relation)
    return batch


@kernel
def take_pending(S, relation):
    """Makes the pending rows the batch; returns how many there are."""
    pending = S[relation, k.PENDING_ROWS]
    count = S[relation, k.PENDING_COUNT]
    S[relation, k.PENDING_ROWS] = S[relation, k.BATCH]
    S[relation, k.BATCH] = pending
    S[relation, k.BATCH_COUNT] = count
    S[relation, k.PENDING_COUNT] = 0
    return count


@kernel
def end_insert(control, S, A, inside, wave, hashes):
    """Makes the pending rows enter with the next wave, first in every arrangement; returns how many, or -1: grow
    `NEED`."""
    for i in range(inside.size):
        relation = inside[i]
        full = arrange_queue(S, A, relation, S[relation, k.PENDING_ROWS], S[relation, k.PENDING_COUNT], hashes)
        if full >= 0:
            control[k.NEED] = full
            return -1
    batch = 0
    for i in range(inside.size):
        relation = inside[i]
        columns = S[relation, k.COLUMNS]
        stride = S[relation, k.WIDTH] * 8
        wide = S[relation, k.WIDE]
        top = S[relation, k.TOP]
        for place in range(S[relation, k.PENDING_COUNT]):
            ahead = place + k.ROWS_FETCHED_AHEAD
            fetch_line(S, relation, S[relation, k.PENDING_ROWS], ahead, S[relation, k.PENDING_COUNT])
            row = S[relation, k.ROWS] + load32(S[relation, k.PENDING_ROWS], place) * stride
            meta = load64(row, columns + k.META)
            top = max(top, rank_of(meta, wide))
            store64(row, columns + k.META, with_stamp(meta, wave + 1))
        S[relation, k.TOP] = top
        batch += take_pending(S, relation)
    return batch


@kernel
def revive_dead(S, inside):
    """Revives, after wave 0 of INSERT, each dead row that still has an instance, with a rank above all others."""
    top = 0
    for i in range(inside.size):
        top = max(top, S[inside[i], k.TOP])
    for i in range(inside.size):
        relation = inside[i]
        columns = S[relation, k.COLUMNS]
        wide = S[relation, k.WIDE]
        for place in range(S[relation, k.LOG_COUNT]):
            fetch_logged(S, relation, place + k.ROWS_FETCHED_AHEAD)
            line = load64(S[relation, k.LOG], place * k.LOG_WIDTH)
            row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
            meta = load64(row, columns + k.META)
            if meta >> k.STAMP_SHIFT < 0 and total_of(row, columns, wide) > 0:
                store64(row, columns + k.META, with_rank(with_stamp(meta, k.PENDING), top + 1, wide))
                set_count(row, columns, wide, total_of(row, columns, wide))
                add_pending(S, relation, line)


@kernel
def room_to_revive(control, S, inside):
    for i in range(inside.size):
        relation = inside[i]
        if S[relation, k.PENDING_COUNT] + S[relation, k.LOG_COUNT] > S[relation, k.PENDING_CAPACITY]:
            control[k.NEED] = relation
            control[k.NEED_AT] = S[relation, k.LOG_COUNT]
            control[k.NEED_INSTANCES] = 0
            return False
    return True


@kernel
def should_share_wave(control, S, inside):
    """True if the wave that starts is large enough for several threads."""
    if control[k.THREADS_AVAILABLE] == 1 or control[k.LOGGING] != 0:
        return False
    rows = control[k.BELOW] if control[k.WAVE] == 0 else 0
    for i in range(inside.size):
        rows += S[inside[i], k.BATCH_COUNT]
    return rows >= control[k.SHARE_FROM]


@kernel
def should_share_arranging(control, S, inside):
    """True if the rows that a wave found are enough to arrange them with several threads."""
    if control[k.THREADS_AVAILABLE] == 1 or control[k.LOGGING] != 0:
        return False
    rows = 0
    for i in range(inside.size):
        rows += S[inside[i], k.PENDING_COUNT]
    return rows >= control[k.SHARE_FROM]


@kernel
def run_phase(control, S, A, V, inside, registers, iterators, buffers, counts, tally, cursors, inputs, scratch):
    """Runs the phase in the control words until it is DONE or Python must act; the other results say why."""
    while True:
        state = control[k.STATE]
        if state == k.STATE_NEXT:
            if control[k.VARIANT] == 0:
                if is_too_deep(control, S, inside):
                    return k.GROW
                cursors[:] = 0
                if control[k.SHARED] == 0 and should_share_wave(control, S, inside):
                    return k.SHARE
            variant = next_variant(control, S, V)
            if variant < V.shape[0]:
                start_variant(control, V, variant, registers, iterators)
                control[k.STATE] = k.STATE_ENUMERATE
            else:
                control[k.STATE] = k.STATE_END
                control[k.SHARED] = 0
                if control[k.PYTHON_VARIANTS] != 0:
                    return k.PYTHON
        elif state == k.STATE_ENUMERATE:
            status = enumerate_variant(
                control, S, A, V, registers, iterators, buffers, counts, tally, cursors, inputs, scratch
            )
            if status == k.DIVISION:
                return k.DIVISION
            control[k.FINISHED] = 1 if status == k.DONE else 0
            control[k.STATE] = k.STATE_APPLY
            if status == k.PAUSE:
                return k.YIELD
        elif state == k.STATE_APPLY:
            lines = again = 0
            for slot in range(inside.size):
                if counts[slot] > 0:
                    repeats = counts[inside.size + slot]
                    lines, again = lines + counts[slot], again + repeats
                    status = apply_buffer(control, S, inside[slot], buffers[slot], counts[slot], repeats)
                    if status != 0:
                        return status
                    counts[slot] = counts[inside.size + slot] = 0
            control[k.COMBINE] = combine_next(control[k.COMBINE], lines, again)
            if control[k.FINISHED] != 0:
                control[k.VARIANT] += 1
                control[k.STATE] = k.STATE_NEXT
            else:
                control[k.STATE] = k.STATE_ENUMERATE
            if control[k.INSTANCES] > control[k.YIELD_AT]:
                return k.YIELD
        else:
            wave = control[k.WAVE]
            if control[k.PHASE] == k.RETRACT:
                batch = end_retract(S, inside, wave + 1)
            else:
                if wave == 0 and control[k.LOGGING] != 0:
                    if not room_to_revive(control, S, inside):
                        return k.GROW
                    revive_dead(S, inside)
                if state == k.STATE_END and should_share_arranging(control, S, inside):
                    control[k.STATE] = k.STATE_ARRANGE
                    return k.SHARE_ARRANGING
                batch = end_insert(control, S, A, inside, wave + 1, scratch)
                if batch < 0:
                    return k.GROW_ARRANGEMENT
            control[k.WAVE] = wave + 1
            control[k.VARIANT] = 0
            control[k.STATE] = k.STATE_NEXT
            if batch == 0 and wave >= 0:
                return k.DONE
            if wave + 1 > control[k.LAST_WAVE]:
                return k.ROUNDS


@kernel
def have_sizes(S, reads):
    """True if the relations that a stratum reads, and its own, have as many rows as its plans were made for."""
    for i in range(reads.shape[0]):
        live = S[reads[i, k.READ], k.LIVE]
        if live < reads[i, k.READ_LEAST] or live > reads[i, k.READ_MOST]:
            return False
    return True


@kernel
def may_change(S, reads, phase):
    """True if an instance can die in RETRACT, or be born in INSERT; or if a dead row may return in INSERT."""
    for i in range(reads.shape[0]):
        relation, how = reads[i, k.READ], reads[i, k.READ_HOW]
        if how == k.READ_OWN:
            if phase == k.INSERT and S[relation, k.LOG_COUNT] > 0:
                return True
        elif (S[relation, k.DELETED_COUNT] if phase == k.RETRACT else S[relation, k.INSERTED_COUNT]) > 0 or (
            how == k.READ_NEGATED
            and (S[relation, k.INSERTED_COUNT] if phase == k.RETRACT else S[relation, k.DELETED_COUNT]) > 0
        ):
            return True
    return False


@kernel
def begin_phase(control, phase):
    """Sets the control words to the end of wave -1."""
    control[k.PHASE], control[k.WAVE], control[k.STATE], control[k.VARIANT] = phase, -1, k.STATE_END, 0
    control[k.LAST_WAVE] = control[k.MOST_WAVES] - control[k.WAVES_BEFORE]


@kernel
def finish_update(control, S, inside):
    """Finds the changes of all relations of a stratum; returns DONE, GROW_CHANGES or BROKEN."""
    for i in range(inside.size):
        relation = inside[i]
        if S[relation, k.LOG_COUNT] > S[relation, k.CHANGE_ROOM]:
            control[k.NEED], control[k.NEED_AT] = relation, S[relation, k.LOG_COUNT]
            return k.GROW_CHANGES
        if find_changes(S, relation) < 0:
            return k.BROKEN
        changed = S[relation, k.INSERTED_COUNT] + S[relation, k.DELETED_COUNT] > 0
        S[relation, k.CHANGED] = 1 if changed else 0
    return k.DONE


@entry_point(
    "int64(int64[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[:,::1], int64[::1], int64[:,::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[:,::1], int64[::1])"
)
def drive(control, S, A, V, inside, reads, registers, iterators, buffers, counts, tally, cursors, inputs, scratch):
    """Runs one phase, or a whole Update of a stratum without facts, until it is DONE or Python must act.

    A whole Update begins in STAGE_BEGIN, with arrangements for all variants; it returns OLD_PLANS, having done nothing,
    if the plans are for other sizes. All other results say where it continues.
    """
    control, S, A, V, inside = borrowed(control), borrowed(S), borrowed(A), borrowed(V), borrowed(inside)
    registers, iterators, buffers = borrowed(registers), borrowed(iterators), borrowed(buffers)
    counts, tally, cursors = borrowed(counts), borrowed(tally), borrowed(cursors)
    inputs, scratch, reads = borrowed(inputs), borrowed(scratch), borrowed(reads)
    while True:
        stage = control[k.STAGE]
        if stage == k.STAGE_BEGIN:
            if not have_sizes(S, reads):
                return k.OLD_PLANS
            for i in range(inside.size):
                if S[inside[i], k.TOP] >= control[k.MOST_RANK]:
                    return k.OLD_PLANS
            for i in range(inside.size):
                S[inside[i], k.CHANGED] = 1
            control[k.STAGE] = k.STAGE_BETWEEN
            if may_change(S, reads, k.RETRACT):
                control[k.STAGE] = k.STAGE_RETRACT
                begin_phase(control, k.RETRACT)
        elif stage == k.STAGE_BETWEEN:
            control[k.STAGE] = k.STAGE_FINISH
            if may_change(S, reads, k.INSERT):
                control[k.STAGE] = k.STAGE_INSERT
                begin_phase(control, k.INSERT)
        elif stage == k.STAGE_FINISH:
            return finish_update(control, S, inside)
        else:
            status = run_phase(
                control, S, A, V, inside, registers, iterators, buffers, counts, tally, cursors, inputs, scratch
            )
            if status != k.DONE or stage == k.STAGE_PHASE:
                return status
            control[k.WAVES_BEFORE] += control[k.WAVE] - 1
            if stage == k.STAGE_RETRACT:
                control[k.KILLED] = control[k.INSTANCES]
                control[k.STAGE] = k.STAGE_BETWEEN
            else:
                control[k.STAGE] = k.STAGE_FINISH
