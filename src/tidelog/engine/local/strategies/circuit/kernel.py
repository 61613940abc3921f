"""The two joins of the circuit that meet every rule instance: rewrites with facts, and rewrites with heads.

Rules are rows of tables (`kit_tables`), so one kernel serves all of them. A number that says where a word comes from
counts through the rewrite, the constants of the direction or signal, and the fact.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row
from tidelog.engine.local.kernels.memory import entry_point


@entry_point(
    "int64(int64[:,::1], int64[::1], int64[:,::1], int64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[:,::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1])"
)
def product(
    lefts, left_weights, facts, fact_weights, facts_lie, starts, ends, order, sign, constants, must, binds, out, weights
):
    """Rewrites that wait and facts → the rewrites that go on, into `out` and `weights`; how many.

    `starts` and `ends` are runs of facts, one for each rewrite, or (`facts_lie` is 0) of rewrites, one for each fact.
    There is room for all pairs.
    """
    slots = out.shape[1] - 2
    columns = facts.shape[1] - 2
    count = 0
    for probe in range(starts.size):
        for place in range(starts[probe], ends[probe]):
            left, fact = (probe, place) if facts_lie != 0 else (place, probe)
            weight = left_weights[left] * fact_weights[fact]
            direction = lefts[left, 0]
            if weight == 0 or order[direction] != facts[fact, 0]:
                continue
            fits = True
            for column in range(columns):
                source = must[direction, column]
                if source < slots:
                    word = lefts[left, 2 + source]
                elif source < slots + columns:
                    word = constants[direction, source - slots]
                else:
                    word = facts[fact, 2 + source - slots - columns]
                if word != facts[fact, 2 + column]:
                    fits = False
                    break
            if not fits:
                continue
            out[count, 0] = direction + 1
            out[count, 1] = max(lefts[left, 1], facts[fact, 1])
            for slot in range(slots):
                source = binds[direction, slot]
                out[count, 2 + slot] = (
                    lefts[left, 2 + source] if source < slots else facts[fact, 2 + source - slots - columns]
                )
            weights[count] = weight * sign[direction]
            count += 1
    return count


@entry_point("int64(int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64[:,::1], int64[:,::1])")
def ground(rows, which, signals, terms, constants, out):
    """Rewrites, each with a signal → instances of one relation as its store takes them: head, level, hash."""
    slots = rows.shape[1] - 2
    columns = out.shape[1] - k.INSTANCE_EXTRA
    for i in range(which.size):
        row = which[i]
        signal = signals[i]
        for column in range(columns):
            source = terms[signal, column]
            out[i, column] = rows[row, 2 + source] if source < slots else constants[signal, source - slots]
        out[i, columns + k.INSTANCE_LEVEL] = rows[row, 1]
        out[i, columns + k.INSTANCE_HASH] = hash_row(out.ctypes.data + i * out.shape[1] * 8, columns)
    return 0
