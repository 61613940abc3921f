"""The two joins of the circuit that produce every rule instance: rewrites with facts, and rewrites with heads.

Rules are rows of tables (`rule_arrays`), so one kernel serves all of them. The source of a word is a number that counts
through the rewrite, the constants of the direction or signal, and the fact.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row
from tidelog.engine.local.kernels.memory import entry_point

KEY, LEVEL, WORDS = 0, 1, 2  # of a rewrite (KEY: its direction) and of a fact (KEY: its order)


@entry_point(
    "int64(int64[:,::1], int64[::1], int64[:,::1], int64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[:,::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1])"
)
def product(
    lefts, left_weights, facts, fact_weights, facts_lie, starts, ends, order, sign, constants, must, binds, out, weights
):
    """Joins waiting rewrites with facts; writes the resulting rewrites to `out` and `weights`, and returns how many.

    `starts` and `ends` are runs of facts, one for each rewrite, or (`facts_lie` is 0) of rewrites, one for each fact.
    There is room for all pairs.
    """
    slots = out.shape[1] - WORDS
    columns = facts.shape[1] - WORDS
    count = 0
    for probe in range(starts.size):
        for place in range(starts[probe], ends[probe]):
            left, fact = (probe, place) if facts_lie != 0 else (place, probe)
            weight = left_weights[left] * fact_weights[fact]
            direction = lefts[left, KEY]
            if weight == 0 or order[direction] != facts[fact, KEY]:
                continue
            fits = True
            for column in range(columns):
                source = must[direction, column]
                if source < slots:
                    word = lefts[left, WORDS + source]
                elif source < slots + columns:
                    word = constants[direction, source - slots]
                else:
                    word = facts[fact, WORDS + source - slots - columns]
                if word != facts[fact, WORDS + column]:
                    fits = False
                    break
            if not fits:
                continue
            out[count, KEY] = direction + 1
            out[count, LEVEL] = max(lefts[left, LEVEL], facts[fact, LEVEL])
            for slot in range(slots):
                source = binds[direction, slot]
                out[count, WORDS + slot] = (
                    lefts[left, WORDS + source] if source < slots else facts[fact, WORDS + source - slots - columns]
                )
            weights[count] = weight * sign[direction]
            count += 1
    return count


@entry_point("int64(int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[:,::1])")
def ground(rows, which, signals, terms, constants, out):
    """Turns rewrites, each with a signal, into instances of one relation in the format of its store: head, level,
    hash."""
    slots = rows.shape[1] - WORDS
    columns = out.shape[1] - k.INSTANCE_EXTRA
    for i in range(which.size):
        row = which[i]
        signal = signals[i]
        for column in range(columns):
            source = terms[signal, column]
            out[i, column] = rows[row, WORDS + source] if source < slots else constants[signal, source - slots]
        out[i, columns + k.INSTANCE_LEVEL] = rows[row, LEVEL]
        out[i, columns + k.INSTANCE_HASH] = hash_row(out.ctypes.data + i * out.shape[1] * 8, columns)
    return 0
