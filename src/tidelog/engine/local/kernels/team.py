"""A wave of a Bootstrap shared by several threads, without locks.

Enumerating only reads, so the threads do that side by side, each on its shares of the delta and into its own buffers:
one for each head relation and each thread that will apply it. Applying only writes rows of the head's relation, and
each thread applies the instances whose hash is in its part, from everybody's buffers. Between the two all wait for
each other; so they do again before the next turn. What the wave found is then arranged, each arrangement by one thread.

The threads always leave together and with the same result, so Python finds all of them or none inside.

Words of the team, each on a cache line of its own: how many arrivals there were, what the first thread found before the
buffers are applied, and, per thread, whether it has enumerated everything.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply import bootstrap_instances
from tidelog.engine.local.kernels.arrange import arrange_lines
from tidelog.engine.local.kernels.join import enumerate_instances
from tidelog.engine.local.kernels.memory import (
    atomic_add,
    atomic_load,
    entry_point,
    kernel,
    let_others_run,
)
from tidelog.engine.local.kernels.waves import has_room, next_variant, start_variant

ARRIVALS, VERDICT, TASK, FIRST_THREAD = 0, 8, 16, 24
PER_THREAD = 8
PATIENCE = 2000


@kernel
def wait_for_all(control, team):
    """Returns when every thread has come here."""
    control[k.BARRIERS] += control[k.THREADS]
    atomic_add(team.ctypes.data, ARRIVALS, 1)
    looks = 0
    while atomic_load(team.ctypes.data, ARRIVALS) < control[k.BARRIERS]:
        looks += 1
        if looks > PATIENCE:
            let_others_run()


@kernel
def enumerate_shares(control, S, A, V, registers, iterators, buffers, counts, tally, cursors, inputs, scratch):
    """Enumerates until a buffer is full (FULL), much was looked at (PAUSE), nothing is left (DONE), or a division
    fails."""
    while True:
        if control[k.STATE] == k.STATE_NEXT:
            variant = next_variant(control, S, V)
            if variant == V.shape[0]:
                return k.DONE
            start_variant(control, V, variant, registers, iterators)
            control[k.STATE] = k.STATE_ENUMERATE
        variant = control[k.VARIANT]
        status = enumerate_instances(
            control,
            S,
            A,
            V[variant, k.CODE],
            V[variant, k.KIND],
            registers,
            iterators,
            buffers,
            counts,
            tally,
            cursors,
            inputs,
            scratch,
        )
        if status != k.DONE:
            return status
        control[k.VARIANT] += 1
        control[k.STATE] = k.STATE_NEXT


@kernel
def judge(control, S, team, inside, all_counts):
    """What the first thread finds when all buffers are there: DIVISION, GROW (with what), YIELD, DONE or FULL."""
    threads = control[k.THREADS]
    done = True
    for thread in range(threads):
        finished = team[FIRST_THREAD + thread * PER_THREAD]
        if finished == k.DIVISION:
            return k.DIVISION
        if finished != k.DONE:
            done = False
    instances = 0
    for slot in range(inside.size):
        count = 0
        for thread in range(threads):
            for part in range(threads):
                count += all_counts[thread, slot * threads + part]
        instances += count
        rows = count + threads * k.LINES_TAKEN
        if count > 0 and not has_room(S, inside[slot], rows, 0):
            control[k.NEED] = inside[slot]
            control[k.NEED_AT] = rows
            return k.GROW
    control[k.INSTANCES] += instances
    if done:
        return k.DONE
    return k.YIELD if control[k.INSTANCES] > control[k.YIELD_AT] else k.FULL


@entry_point(
    "int64(int64, int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[::1],"
    " int64[:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[::1],"
    " int64[::1])"
)
def share_wave(
    me,
    team,
    control,
    S,
    A,
    V,
    inside,
    registers,
    iterators,
    all_buffers,
    all_counts,
    tally,
    cursors,
    reserve,
    inputs,
    scratch,
    fresh,
):
    """One thread's part in a wave. DONE; or GROW, YIELD, DIVISION: all leave, and come back to go on."""
    threads = control[k.THREADS]
    while True:
        if control[k.STATE] != k.STATE_APPLY:
            team[FIRST_THREAD + me * PER_THREAD] = enumerate_shares(
                control,
                S,
                A,
                V,
                registers,
                iterators,
                all_buffers[me],
                all_counts[me],
                tally,
                cursors,
                inputs,
                scratch,
            )
            control[k.RESUME] = control[k.STATE]
            control[k.STATE] = k.STATE_APPLY
        wait_for_all(control, team)
        if me == 0:
            team[VERDICT] = judge(control, S, team, inside, all_counts)
        wait_for_all(control, team)
        verdict = team[VERDICT]
        if verdict == k.GROW or verdict == k.DIVISION:
            return verdict
        for slot in range(inside.size):
            width = (S[inside[slot], k.COLUMNS] + k.INSTANCE_EXTRA) * 8
            for thread in range(threads):
                count = all_counts[thread, slot * threads + me]
                buffer = all_buffers[thread, slot * threads + me]
                done = 0
                while done < count:
                    piece = min(count - done, k.PIECE)
                    bootstrap_instances(S, inside[slot], slot, buffer + done * width, piece, reserve, fresh)
                    done += piece
        wait_for_all(control, team)
        all_counts[me] = 0
        control[k.STATE] = control[k.RESUME]
        if verdict != k.FULL:
            return verdict


@entry_point("int64(int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1])")
def share_arranging(team, control, S, A, tasks, scratch):
    """One thread's part in arranging what a wave found: whole arrangements, as long as there are any to take.

    DONE, or GROW_ARRANGEMENT with the one that must grow. A task is (relation, arrangement).
    """
    while True:
        task = atomic_add(team.ctypes.data, TASK, 1)
        if task >= tasks.shape[0]:
            return k.DONE
        relation = tasks[task, 0]
        pending, count = S[relation, k.PENDING_ROWS], S[relation, k.PENDING_COUNT]
        if not arrange_lines(S, A, tasks[task, 1], pending, count, scratch.ctypes.data):
            control[k.NEED] = tasks[task, 1]
            return k.GROW_ARRANGEMENT
