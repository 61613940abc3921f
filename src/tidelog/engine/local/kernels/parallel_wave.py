"""A wave of a Bootstrap shared by several threads, without locks and without barriers between steps.

Each thread enumerates its shares of the delta into a batch of its own: a buffer for each head relation and each thread
that will apply it. When a buffer is full, the thread publishes the batch, applies the instances that all threads have
published for it, and continues with its next batch as soon as all threads have applied the old content of that batch.
Each thread applies the heads whose hash is in its part.

A thread may enumerate while others apply: it sees only rows of earlier waves, and applying changes only their count and
total, which enumerating does not read. A row that is being created is hidden by its stamp (see `reserve_lines`), which
is written before any thread can find its line.

Memory must not move meanwhile, so a thread books room for the instances it publishes; if there is none, all threads
stop. The threads always return together and with the same result, so Python finds either all of them or none inside.

Words of the pool, each on a cache line of its own: why all stop, how many threads publish no more, how many instances
were found; per thread the last result of its enumeration, and the batches that it published; per pair of threads the
batches of the second that the first has applied; per relation the instances that are published and not yet applied.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply_instances import bootstrap_instances
from tidelog.engine.local.kernels.arrange import arrange_lines
from tidelog.engine.local.kernels.emit_buckets import combine_next
from tidelog.engine.local.kernels.memory import (
    atomic_add,
    atomic_load,
    borrowed,
    claim,
    entry_point,
    kernel,
    yield_thread,
)
from tidelog.engine.local.kernels.waves import enumerate_variant, has_room, next_variant, start_variant

LINE = 8  # words
STOP, ARRIVALS, FOUND, FIRST_THREAD = 0, 1 * LINE, 2 * LINE, 3 * LINE
SAID, PUBLISHED, PER_THREAD = 0, LINE, 2 * LINE
NEXT_TASK = 0  # the only word of a pool that arranges
TASK_RELATION, TASK_ARRANGEMENT = 0, 1
PATIENCE = 2000
BATCHES = 4


@kernel
def first_pair(threads):
    """Returns where the words of pairs start: (the thread that applies, the thread that published)."""
    return FIRST_THREAD + threads * PER_THREAD


@kernel
def first_booking(threads):
    """Returns where the words of relations start."""
    return first_pair(threads) + threads * threads * LINE


def pool_words(threads: int, relations: int) -> int:
    """Returns how many words a pool has."""
    return FIRST_THREAD + threads * PER_THREAD + (threads * threads + relations) * LINE


@kernel
def enumerate_shares(control, S, A, V, registers, iterators, buffers, counts, tally, cursors, inputs, scratch):
    """Enumerates until a buffer is full (FULL), many rows were read (PAUSE), nothing is left (DONE), or a division
    fails."""
    while True:
        if control[k.STATE] == k.STATE_NEXT:
            variant = next_variant(control, S, V)
            if variant == V.shape[0]:
                return k.DONE
            start_variant(control, V, variant, registers, iterators)
            control[k.STATE] = k.STATE_ENUMERATE
        status = enumerate_variant(
            control, S, A, V, registers, iterators, buffers, counts, tally, cursors, inputs, scratch
        )
        if status != k.DONE:
            return status
        control[k.VARIANT] += 1
        control[k.STATE] = k.STATE_NEXT


@kernel
def is_applied(me, threads, words):
    """True if all threads have applied the oldest batch of this thread, which is the next to be filled."""
    published = atomic_load(words, FIRST_THREAD + me * PER_THREAD + PUBLISHED)
    for other in range(threads):
        if atomic_load(words, first_pair(threads) + (other * threads + me) * LINE) < published - (BATCHES - 1):
            return False
    return True


@kernel
def book_room(control, S, words, inside, counts):
    """Books room for a batch; returns how many instances it has, or -1 if there is no room (NEED says for which
    relation)."""
    threads = control[k.THREADS]
    lines = instances = 0
    for slot in range(inside.size):
        count = 0
        for part in range(threads):
            count += counts[slot * threads + part]
        if count == 0:
            continue
        with_repeats = count + counts[inside.size * threads + slot]
        at = first_booking(threads) + slot * LINE
        booked = atomic_add(words, at, count) + count
        if not has_room(S, inside[slot], booked + threads * k.RESERVED_AT_A_TIME, with_repeats, 0):
            control[k.NEED] = inside[slot]
            control[k.NEED_AT] = booked + threads * k.RESERVED_AT_A_TIME
            control[k.NEED_INSTANCES] = with_repeats
            atomic_add(words, at, -count)
            for earlier in range(slot):
                for part in range(threads):
                    atomic_add(words, first_booking(threads) + earlier * LINE, -counts[earlier * threads + part])
            return -1
        atomic_add(S.ctypes.data, inside[slot] * k.STORE_FIELDS + k.COUNT_ROOM, -with_repeats)
        instances += with_repeats
        lines += count
    control[k.COMBINE] = combine_next(control[k.COMBINE], lines, instances - lines)
    return instances


@kernel
def stop_all(control, words, why):
    """Makes all threads stop publishing, unless another thread did so before."""
    if claim(words, STOP, why) == 0:
        control[k.STOPPED] = 1


@kernel
def apply_published(me, threads, words, S, inside, all_buffers, all_counts, reserve, fresh):
    """Applies this thread's parts of all published batches that it has not applied; returns True if there were any."""
    found = False
    for step in range(threads):
        other = (me + step) % threads
        at = first_pair(threads) + (me * threads + other) * LINE
        applied = atomic_load(words, at)
        while applied < atomic_load(words, FIRST_THREAD + other * PER_THREAD + PUBLISHED):
            found = True
            for slot in range(inside.size):
                count = all_counts[other, applied % BATCHES, slot * threads + me]
                if count == 0:
                    continue
                buffer = all_buffers[other, applied % BATCHES, slot * threads + me]
                width = (S[inside[slot], k.COLUMNS] + k.INSTANCE_EXTRA) * 8
                done = 0
                while done < count:
                    piece = min(count - done, k.PIECE)
                    bootstrap_instances(S, inside[slot], slot, buffer + done * width, piece, reserve, fresh)
                    done += piece
                atomic_add(words, first_booking(threads) + slot * LINE, -count)
            applied = atomic_add(words, at, 1) + 1
    return found


@entry_point(
    "int64(int64, int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[::1],"
    " int64[:,::1], int64[:,:,::1], int64[:,:,::1], int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[::1],"
    " int64[::1])"
)
def share_wave(
    me, pool, control, S, A, V, inside, registers, iterators, all_buffers, all_counts, tally, cursors, reserve, inputs,
    scratch, fresh,
):  # fmt: skip
    """Runs one thread's part of a wave; returns DONE, or GROW, YIELD, DIVISION: all threads return, and continue
    later."""
    pool, control, S, A, V = borrowed(pool), borrowed(control), borrowed(S), borrowed(A), borrowed(V)
    inside, registers, iterators = borrowed(inside), borrowed(registers), borrowed(iterators)
    all_buffers, all_counts, tally = borrowed(all_buffers), borrowed(all_counts), borrowed(tally)
    cursors, reserve, inputs = borrowed(cursors), borrowed(reserve), borrowed(inputs)
    scratch, fresh = borrowed(scratch), borrowed(fresh)
    threads = control[k.THREADS]
    words = pool.ctypes.data
    mine = FIRST_THREAD + me * PER_THREAD
    looks = 0
    while atomic_load(words, STOP) == 0:
        batch = atomic_load(words, mine + PUBLISHED) % BATCHES
        if control[k.STATE] != k.STATE_APPLY:
            if not is_applied(me, threads, words):
                if not apply_published(me, threads, words, S, inside, all_buffers, all_counts, reserve, fresh):
                    looks += 1
                    if looks > PATIENCE:
                        yield_thread()
                continue
            looks = 0
            all_counts[me, batch] = 0
            pool[mine + SAID] = enumerate_shares(
                control, S, A, V, registers, iterators, all_buffers[me, batch], all_counts[me, batch], tally, cursors,
                inputs, scratch,
            )  # fmt: skip
            control[k.RESUME] = control[k.STATE]
            control[k.STATE] = k.STATE_APPLY
        said = pool[mine + SAID]
        if said == k.DIVISION:
            stop_all(control, words, k.DIVISION)
            break
        instances = book_room(control, S, words, inside, all_counts[me, batch])
        if instances < 0:
            stop_all(control, words, k.GROW)
            break
        control[k.STATE] = control[k.RESUME]
        found = atomic_add(words, FOUND, instances) + instances
        atomic_add(words, mine + PUBLISHED, 1)
        if said == k.DONE:
            break
        if said == k.PAUSE or found > control[k.YIELD_AT]:
            stop_all(control, words, k.YIELD)
        apply_published(me, threads, words, S, inside, all_buffers, all_counts, reserve, fresh)
    atomic_add(words, ARRIVALS, 1)
    looks = 0
    while True:
        all_there = atomic_load(words, ARRIVALS) == threads
        if apply_published(me, threads, words, S, inside, all_buffers, all_counts, reserve, fresh):
            continue
        if all_there:
            break
        looks += 1
        if looks > PATIENCE:
            yield_thread()
    control[k.INSTANCES] = atomic_load(words, FOUND)
    verdict = atomic_load(words, STOP)
    return k.DONE if verdict == 0 else verdict


@entry_point("int64(int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1])")
def share_arranging(pool, control, S, A, tasks, scratch):
    """Runs one thread's part of arranging the rows that a wave found: takes whole arrangements until none is left.

    Returns DONE, or GROW_ARRANGEMENT with the arrangement that must grow in NEED. A task is (relation, arrangement).
    """
    pool, control, S, A = borrowed(pool), borrowed(control), borrowed(S), borrowed(A)
    tasks, scratch = borrowed(tasks), borrowed(scratch)
    while True:
        task = atomic_add(pool.ctypes.data, NEXT_TASK, 1)
        if task >= tasks.shape[0]:
            return k.DONE
        relation = tasks[task, TASK_RELATION]
        pending, count = S[relation, k.PENDING_ROWS], S[relation, k.PENDING_COUNT]
        if not arrange_lines(S, A, tasks[task, TASK_ARRANGEMENT], pending, count, scratch.ctypes.data):
            control[k.NEED] = tasks[task, TASK_ARRANGEMENT]
            return k.GROW_ARRANGEMENT
