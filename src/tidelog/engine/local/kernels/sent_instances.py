"""Instances that the parts of a stratum send one another (`engine/spark/plans/partitioned`): dividing and applying."""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import waves
from tidelog.engine.local.kernels.index import hash_row
from tidelog.engine.local.kernels.memory import entry_point, kernel, load64, store64


@kernel
def part_of_word(word, parts):
    """Returns the part of a number, as `engine/spark/storage/bucket` does: the finaliser of SplitMix64, modulo."""
    mixed = word - 7046029254386353131
    mixed = (mixed ^ ((mixed >> 30) & 0x3FFFFFFFF)) * -4658895280553007687
    mixed = (mixed ^ ((mixed >> 27) & 0x1FFFFFFFFF)) * -7723592293110705685
    mixed = mixed ^ ((mixed >> 31) & 0x1FFFFFFFF)
    # The remainder of an unsigned word, in signed arithmetic.
    high, low = (mixed >> 1) & 0x7FFFFFFFFFFFFFFF, mixed & 1
    return (high % parts * 2 + low) % parts


@entry_point("int64(int64[:,::1], int64, int64, int64[::1])")
def parts_of_column(instances, column, parts, out):
    """Writes the part of each instance by the number in a column."""
    for i in range(instances.shape[0]):
        out[i] = part_of_word(instances[i, column], parts)
    return 0


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[:,::1], int64[::1])")
def divide(instances, part, parts, out, starts):
    """Writes the instances to `out`, part after part; `starts` gets where each part begins, and the end."""
    for each in range(parts + 1):
        starts[each] = 0
    for i in range(part.size):
        starts[part[i] + 1] += 1
    for each in range(parts):
        starts[each + 1] += starts[each]
    for i in range(part.size):
        at = starts[part[i]]
        for word in range(instances.shape[1]):
            out[at, word] = instances[i, word]
        starts[part[i]] = at + 1
    for each in range(parts, 0, -1):
        starts[each] = starts[each - 1]
    starts[0] = 0
    return 0


@entry_point("int64(int64[:,::1])")
def hash_instances(instances):
    """Writes the hash of each instance behind its columns and its level."""
    width = instances.shape[1]
    columns = width - k.INSTANCE_EXTRA
    for i in range(instances.shape[0]):
        address = instances.ctypes.data + i * width * 8
        store64(address, columns + k.INSTANCE_HASH, hash_row(address, columns))
    return 0


@entry_point("int64(int64[:,::1])")
def repeats_of(instances):
    """Returns how many instances these stand for, beside themselves."""
    width = instances.shape[1]
    level = width - k.INSTANCE_EXTRA + k.INSTANCE_LEVEL
    repeats = 0
    for i in range(instances.shape[0]):
        repeats += load64(instances.ctypes.data + i * width * 8, level) >> k.REPEAT_SHIFT
    return repeats


@entry_point("int64(int64[::1], int64[:,::1], int64, int64[:,::1], int64)")
def apply_counted(control, S, relation, instances, repeats):
    """Calls `waves.apply_buffer`, for instances that stand for `repeats` more."""
    return waves.apply_buffer(control, S, relation, instances.ctypes.data, instances.shape[0], repeats)
