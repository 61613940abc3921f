"""The join: an interpreter that runs the bytecode of a group of variants and writes the instances to buffers.

A group is a tree of iterators: variants with a common prefix share a path from its root. An iterator binds registers
from a row (of the delta's batch, of a bucket, of a look-up), checks the overlay's stamp, checks equalities, and runs
its tail: arithmetic, filters, absence of negated rows. At the end of a variant the registers of its head are written,
with the instance's level: the highest rank among the rows inside the stratum. All state of the tree is in arrays, so
the kernel returns when a buffer is full, and continues later.

The iterator of a leapfrog join (`leapfrog/triejoin`) binds one register instead, from several tries at once.

Threads that share a wave run the same bytecode, each with its own registers and buffers; they take the rows of the
first iterator with many rows in shares from a common cursor.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.emit_buckets import (
    FETCH_AHEAD,
    ROWS_AHEAD,
    emit_bucket,
    emit_buckets,
    fetch_absences,
    fetch_row_ahead,
    fetch_rows,
    fetches_absences,
    head_sources,
    is_ending,
    is_far,
    leads_far,
    leads_to_ending,
    level_with,
    line_at,
    noted_at,
    probe,
    stamp_bound,
)
from tidelog.engine.local.kernels.index import find_row
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    atomic_add,
    hash_end,
    hash_word,
    kernel,
    load32,
    load64,
    store64,
)
from tidelog.engine.local.kernels.zones import ZONE_MASK, ZONE_PLACES, ZONE_POOL, below, next_zone, passes_bounds
from tidelog.engine.local.leapfrog.emit import emit_meets, is_plain
from tidelog.engine.local.leapfrog.triejoin import leapfrog, shares


@kernel
def narrow(value, width, signed):
    """Returns the value in `width` bits: sign-extended, or zero-extended."""
    if width == 64:
        return value
    value = value & ((1 << width) - 1)
    if signed != 0 and (value >> (width - 1)) & 1:
        value = value - (1 << width)
    return value


@kernel
def divide(a, b, signed):
    """Returns the quotient, rounded toward zero; the divisor is not zero."""
    if signed != 0:
        if b == -1:
            return -a
        quotient = a // b
        if a - quotient * b != 0 and (a < 0) != (b < 0):
            quotient += 1
        return quotient
    if b < 0:
        return 0 if below(a, b, 0) else 1
    if a >= 0:
        return a // b
    quotient = (((a >> 1) & 0x7FFFFFFFFFFFFFFF) // b) << 1
    if not below(a - quotient * b, b, 0):
        quotient += 1
    return quotient


@kernel
def absent(S, relation, keys, count, code, registers, before, phase, wave, scratch):
    """True if a negated literal holds in this pass: its row is not there, or the overlay hides it."""
    for i in range(count):
        scratch[i] = registers[load64(code, keys + i)]
    line = find_row(S, relation, scratch.ctypes.data)
    if line < 0:
        return True
    if S[relation, k.CHANGED] == 0:
        return False
    columns = S[relation, k.COLUMNS]
    stamp = load64(S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8, columns + k.META) >> k.STAMP_SHIFT
    if phase == k.RETRACT:
        # Its insertion kills the instance, in wave 0; the instance is found at its first death.
        return stamp == 1 and wave == 0 and before == 0
    # Its departure brings the instance, in wave 0; the instance is met at its last arrival.
    return stamp == -1 and (wave > 0 or before == 1)


@kernel
def run_tail(S, code, at, count, registers, phase, wave, scratch):
    """Runs a tail. Returns 1 if all filters passed, 0 if one did not, -1 for a division by zero."""
    for step in range(count):
        p = at + step * k.TAIL_WIDTH
        op = load64(code, p + k.TAIL_OP)
        target = load64(code, p + k.TAIL_TARGET)
        a = load64(code, p + k.TAIL_LEFT)
        b = load64(code, p + k.TAIL_RIGHT)
        width = load64(code, p + k.TAIL_BITS)
        signed = load64(code, p + k.TAIL_SIGNED)
        if op == k.T_FILTER:
            if registers[a] == 0:
                return 0
        elif op == k.T_ABSENT:
            if not absent(S, target, b, a, code, registers, width, phase, wave, scratch):
                return 0
        elif op == k.T_EQ:
            registers[target] = 1 if registers[a] == registers[b] else 0
        elif op == k.T_NE:
            registers[target] = 1 if registers[a] != registers[b] else 0
        elif op == k.T_LT:
            registers[target] = 1 if below(registers[a], registers[b], signed) else 0
        elif op == k.T_LE:
            registers[target] = 0 if below(registers[b], registers[a], signed) else 1
        elif op == k.T_ADD:
            registers[target] = narrow(registers[a] + registers[b], width, signed)
        elif op == k.T_SUB:
            registers[target] = narrow(registers[a] - registers[b], width, signed)
        elif op == k.T_MUL:
            registers[target] = narrow(registers[a] * registers[b], width, signed)
        elif op == k.T_DIV:
            if registers[b] == 0:
                return -1
            registers[target] = narrow(divide(registers[a], registers[b], signed), width, signed)
        elif op == k.T_MOD:
            if registers[b] == 0:
                return -1
            quotient = divide(registers[a], registers[b], signed)
            registers[target] = narrow(registers[a] - quotient * registers[b], width, signed)
        elif op == k.T_AND:
            registers[target] = registers[a] & registers[b]
        elif op == k.T_OR:
            registers[target] = registers[a] | registers[b]
        elif op == k.T_XOR:
            registers[target] = registers[a] ^ registers[b]
        elif op == k.T_NOT:
            registers[target] = narrow(~registers[a], width, signed)
        elif op == k.T_NEG:
            registers[target] = narrow(-registers[a], width, signed)
        elif op == k.T_SHL:
            registers[target] = narrow(registers[a] << registers[b], width, signed)
        elif op == k.T_SHR:
            if signed != 0:
                registers[target] = registers[a] >> registers[b]
            elif registers[b] == 0:
                registers[target] = registers[a]
            else:
                registers[target] = ((registers[a] >> 1) & 0x7FFFFFFFFFFFFFFF) >> (registers[b] - 1)
        elif op == k.T_MOVE:
            registers[target] = narrow(registers[a], width, signed)
        elif op == k.T_BOOL_NOT:
            registers[target] = 1 - registers[a]
        elif op == k.T_SELECT:
            # target = condition (in `width`) ? a : b
            registers[target] = registers[a] if registers[width] != 0 else registers[b]
    return 1


@kernel
def take_share(cursors, iterators, node, split, chunk):
    """Takes the next rows of an iterator that threads share; returns False if none are left."""
    start = iterators[node, k.ITER_FIRST] + atomic_add(cursors.ctypes.data, split, chunk)
    end = iterators[node, k.ITER_LAST]
    if start >= end:
        return False
    iterators[node, k.ITER_CURSOR] = start
    iterators[node, k.ITER_END] = min(start + chunk, end)
    return True


@kernel
def emit_instances(code, emits, count, registers, level, threads, buffers, counts, tally):
    """Writes an instance to the buffer of each head of a block; returns True if a buffer is full now."""
    full = False
    for _ in range(count):
        columns = load64(code, emits + k.EMIT_COUNT)
        state = HASH_START
        for i in range(columns):
            state = hash_word(state, registers[load64(code, emits + k.EMIT_REGISTERS + i)])
        hashed = hash_end(state)
        buffer = load64(code, emits + k.EMIT_SLOT) * threads + ((hashed * threads) >> k.HASH_SHIFT)
        n = counts[buffer]
        line = buffers[buffer] + n * (columns + k.INSTANCE_EXTRA) * 8
        for i in range(columns):
            store64(line, i, registers[load64(code, emits + k.EMIT_REGISTERS + i)])
        store64(line, columns + k.INSTANCE_LEVEL, level)
        store64(line, columns + k.INSTANCE_HASH, hashed)
        counts[buffer] = n + 1
        tally[load64(code, emits + k.EMIT_TALLY)] += 1
        if n + 1 >= k.OUT_ROWS:
            full = True
        emits += k.EMIT_REGISTERS + columns
    return full


@kernel
def enumerate_instances(
    control, S, A, code, kind, registers, iterators, buffers, counts, tally, cursors, inputs, scratch
):
    """Continues to enumerate one group; returns DONE, FULL (a buffer is full), PAUSE (many rows were read) or
    DIVISION."""
    phase = control[k.PHASE]
    wave = control[k.WAVE]
    threads = control[k.THREADS]
    chunk = control[k.CHUNK]
    combine = control[k.COMBINE]
    node = control[k.NODE]
    stores, arrangements, known = S.ctypes.data, A.ctypes.data, registers.ctypes.data
    looked_at = 0
    full = False
    while node >= 0:
        if full or looked_at > k.PAUSE_ROWS:
            control[k.NODE] = node
            control[k.LOOKED_AT] += looked_at
            return k.FULL if full else k.PAUSE
        block = load64(code, k.CODE_BLOCKS + node)
        op = load64(code, block + k.OP)
        target = load64(code, block + k.TARGET)
        relation = load64(code, block + k.ROW_RELATION)
        split = load64(code, block + k.SPLIT)
        share = 1 if op == k.ITERATE_LEAP and threads > 1 else chunk
        parent = load64(code, block + k.PARENT)
        level = 0 if parent < 0 else iterators[parent, k.ITER_LEVEL]
        is_opened = iterators[node, k.ITER_STARTED] == 0
        if is_opened:
            iterators[node, k.ITER_STARTED] = 1
            iterators[node, k.ITER_CURSOR] = 0
            if op == k.ITERATE_PROBE:
                entry = probe(A, target, code, load64(code, block + k.KEY_AT), load64(code, block + k.KEY_N), registers)
                if entry < 0:
                    iterators[node, k.ITER_END] = 0
                else:
                    address = A[target, k.ENTRIES] + entry * (k.ENTRY_EXTRA + load64(code, block + k.KEY_N)) * 8
                    iterators[node, k.ITER_CURSOR] = load64(address, k.ENTRY_START)
                    iterators[node, k.ITER_END] = load64(address, k.ENTRY_START) + load32(address, k.ENTRY_LENGTH)
                    if is_far(S, relation) and not is_ending(code, block) and A[target, k.ZONES] == 0:
                        start, stop = (
                            iterators[node, k.ITER_CURSOR],
                            min(iterators[node, k.ITER_END], iterators[node, k.ITER_CURSOR] + 2 * FETCH_AHEAD),
                        )
                        fetch_rows(S[relation, k.ROWS], S[relation, k.WIDTH], A[target, k.POOL], start, stop)
            elif op == k.ITERATE_BATCH:
                if kind == k.KIND_INSIDE:
                    iterators[node, k.ITER_END] = S[relation, k.BATCH_COUNT]
                elif (kind == k.KIND_NEGATED) == (phase == k.INSERT):
                    iterators[node, k.ITER_END] = S[relation, k.DELETED_COUNT]
                else:
                    iterators[node, k.ITER_END] = S[relation, k.INSERTED_COUNT]
            elif op == k.ITERATE_SCAN:
                zones = S[relation, k.SCAN_ZONES] if load64(code, block + k.BOUND_N) > 0 else 0
                iterators[node, k.ITER_END] = S[relation, k.USED] if zones == 0 else load64(zones, ZONE_PLACES)
            elif op == k.ITERATE_FIND:
                keys = load64(code, block + k.KEY_AT)
                for i in range(load64(code, block + k.KEY_N)):
                    scratch[i] = registers[load64(code, keys + i)]
                line = find_row(S, relation, scratch.ctypes.data)
                iterators[node, k.ITER_CURSOR] = line
                iterators[node, k.ITER_END] = line + 1 if line >= 0 else line
            elif op == k.ITERATE_INPUT:
                iterators[node, k.ITER_END] = control[k.INPUT_COUNT]
            elif op == k.ITERATE_LEAP:
                iterators[node, k.ITER_END] = shares(A, code, block)
                iterators[node, k.LEAP_OPEN] = 0
            else:
                iterators[node, k.ITER_END] = 1
            if load64(code, block + k.ONCE_N) > 0:
                run_tail(
                    S, code, load64(code, block + k.ONCE_AT), load64(code, block + k.ONCE_N), registers, phase, wave,
                    scratch,
                )  # fmt: skip
            if split >= 0:
                iterators[node, k.ITER_FIRST] = iterators[node, k.ITER_CURSOR]
                iterators[node, k.ITER_LAST] = iterators[node, k.ITER_END]
                if not take_share(cursors, iterators, node, split, share):
                    iterators[node, k.ITER_CURSOR] = iterators[node, k.ITER_END]
        cursor = iterators[node, k.ITER_CURSOR]
        end = iterators[node, k.ITER_END]
        # Read again at every entry: memory may have moved since a buffer was last full.
        source = 0
        zones = 0
        if op == k.ITERATE_PROBE:
            source = A[target, k.POOL]
            if load64(code, block + k.BOUND_N) > 0:
                zones = A[target, k.ZONES]
        elif op == k.ITERATE_SCAN and load64(code, block + k.BOUND_N) > 0:
            zones = S[relation, k.SCAN_ZONES]
        elif op == k.ITERATE_BATCH:
            if kind == k.KIND_INSIDE:
                source = S[relation, k.BATCH]
            elif (kind == k.KIND_NEGATED) == (phase == k.INSERT):
                source = S[relation, k.DELETED]
            else:
                source = S[relation, k.INSERTED]
        if zones != 0:
            source = load64(zones, ZONE_POOL)
        inside = load64(code, block + k.INSIDE)
        check = load64(code, block + k.CHECK)
        if check != k.CHECK_NONE and op != k.ITERATE_SCAN and S[relation, k.CHANGED] == 0:
            check = k.CHECK_NONE
        bound = stamp_bound(check, phase, wave)
        rows = 0
        width = 0
        columns = 0
        wide = 0
        if op != k.ITERATE_UNIT and op != k.ITERATE_INPUT and op != k.ITERATE_LEAP:
            rows = S[relation, k.ROWS]
            width = S[relation, k.WIDTH]
            columns = S[relation, k.COLUMNS]
            wide = S[relation, k.WIDE]
        bind_count = load64(code, block + k.BIND_N)
        bind_at = load64(code, block + k.BIND_AT)
        equal_count = load64(code, block + k.EQUAL_N)
        equal_at = load64(code, block + k.EQUAL_AT)
        tail_count = load64(code, block + k.TAIL_N)
        tail_at = load64(code, block + k.TAIL_AT)
        bound_count = load64(code, block + k.BOUND_N)
        bound_at = load64(code, block + k.BOUND_AT)
        emit_count = load64(code, block + k.EMIT_N)
        emit_at = load64(code, block + k.EMIT_AT)
        child = load64(code, block + k.CHILD)
        descended = False
        noted = noted_at(buffers, node)
        leads = rows != 0 and end - cursor > 1 and leads_far(stores, arrangements, code, child)
        plain = op == k.ITERATE_LEAP and is_plain(S, code, block, phase, wave)
        absences = rows != 0 and fetches_absences(stores, code, tail_at, tail_count)
        if absences and is_opened:
            fetch_absences(
                stores, code, tail_at, tail_count, bind_at, bind_count, known, source, cursor,
                min(end, cursor + FETCH_AHEAD), rows, width, False,
            )  # fmt: skip
        looked_at -= cursor
        if is_ending(code, block):
            cursor, full = emit_bucket(
                code, emit_at, head_sources(code, block), registers, source, cursor, end, rows, width, columns, wide,
                inside, level, threads, buffers, counts, tally, check, phase, bound, combine,
                is_far(S, relation),
            )  # fmt: skip
        elif leads_to_ending(code, block):
            cursor, found, descended, full = emit_buckets(
                S, A, code, block, registers, iterators, node, source, cursor, end, level, threads, buffers, counts,
                tally, check, phase, wave, bound, combine,
            )  # fmt: skip
            looked_at += found
        if zones != 0 and is_opened:
            cursor = next_zone(zones, code, bound_at, bound_count, known, cursor, end)
        while cursor < end and not full and not descended:
            if zones != 0 and cursor & ZONE_MASK == 0:
                cursor = next_zone(zones, code, bound_at, bound_count, known, cursor, end)
                if cursor >= end:
                    break
                if is_far(S, relation):
                    fetch_rows(rows, width, source, cursor, min(end, cursor + ZONE_MASK + 1))
            position = cursor
            cursor += 1
            found_level = level
            if op == k.ITERATE_LEAP:
                found_level, leaps = leapfrog(S, A, code, block, registers, iterators, node, level, phase, wave)
                looked_at += leaps
                if found_level < 0:
                    cursor = end
                    iterators[node, k.LEAP_OPEN] = 0
                    break
                cursor = position
                if plain and iterators[node, k.LEAP_OPEN] == 1:
                    found, full = emit_meets(
                        A, code, block, registers, iterators, found_level, threads, buffers, counts, tally
                    )
                    looked_at += found
                    continue
            elif op == k.ITERATE_UNIT:
                pass
            elif op == k.ITERATE_INPUT:
                for i in range(bind_count):
                    registers[load64(code, bind_at + i)] = inputs[position, i]
                found_level = inputs[position, bind_count]
            else:
                line = line_at(source, position)
                fetch_row_ahead(
                    stores, arrangements, code, child, bind_at, bind_count, known, source, position, end, rows, width,
                    noted, leads,
                )  # fmt: skip
                if absences and position + FETCH_AHEAD < end:
                    fetch_absences(
                        stores, code, tail_at, tail_count, bind_at, bind_count, known, source, position + FETCH_AHEAD,
                        position + FETCH_AHEAD + 1, rows, width, False,
                    )  # fmt: skip
                    fetch_absences(
                        stores, code, tail_at, tail_count, bind_at, bind_count, known, source, position + ROWS_AHEAD,
                        position + ROWS_AHEAD + 1, rows, width, True,
                    )  # fmt: skip
                row = rows + line * width * 8
                found_level = level_with(row, columns, wide, level, inside, check, phase, bound)
                if found_level < 0 or (bound_count > 0 and not passes_bounds(code, bound_at, bound_count, known, row)):
                    continue
                for i in range(bind_count):
                    registers[load64(code, bind_at + 2 * i + 1)] = load64(row, load64(code, bind_at + 2 * i))
                differs = False
                for i in range(equal_count):
                    if registers[load64(code, equal_at + 2 * i + 1)] != load64(row, load64(code, equal_at + 2 * i)):
                        differs = True
                        break
                if differs:
                    continue
            if tail_count > 0:
                passed = run_tail(S, code, tail_at, tail_count, registers, phase, wave, scratch)
                if passed == 0:
                    continue
                if passed < 0:
                    control[k.NODE] = node
                    return k.DIVISION
            if emit_count > 0:
                full = emit_instances(
                    code, emit_at, emit_count, registers, found_level, threads, buffers, counts, tally
                )
            if child >= 0:
                iterators[node, k.ITER_LEVEL] = found_level
                iterators[child, k.ITER_STARTED] = 0
                descended = True
                break
        looked_at += cursor + 1
        iterators[node, k.ITER_CURSOR] = cursor
        if descended:
            node = child
        elif cursor >= end and not (split >= 0 and take_share(cursors, iterators, node, split, share)):
            iterators[node, k.ITER_STARTED] = 0
            sibling = load64(code, block + k.SIBLING)
            if sibling >= 0:
                iterators[sibling, k.ITER_STARTED] = 0
                node = sibling
            else:
                node = parent
    control[k.NODE] = -1
    control[k.LOOKED_AT] += looked_at
    return k.DONE
