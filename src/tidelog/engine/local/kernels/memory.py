"""Raw memory for kernels: words at addresses that Python owns, and the hash of a few words.

One compiled kernel serves every relation because it takes addresses, not arrays. Nothing here checks bounds: the
capacities in the tables of `layout` are checked before a kernel writes.
"""

from __future__ import annotations

from tidelog.engine.local.machine_code.declare import (
    EntryPoint,
    entry_point,
    inlined,
    intrinsic,
    kernel,
    short_entry_point,
)

__all__ = [
    "HASH_START",
    "HASH_STEP",
    "EntryPoint",
    "atomic_add",
    "atomic_load",
    "borrowed",
    "claim",
    "copy_bytes",
    "entry_point",
    "hash_end",
    "hash_word",
    "inlined",
    "kernel",
    "load8",
    "load16",
    "load32",
    "load64",
    "load_eight",
    "load_four",
    "prefetch",
    "prefetch_read",
    "short_entry_point",
    "store8",
    "store16",
    "store32",
    "store64",
    "yield_thread",
]

# load64(address, index): Returns the word at address + 8 * index.
load64 = intrinsic("load64")
# store64(address, index, value): Writes the word at address + 8 * index.
store64 = intrinsic("store64")
# load32(address, index): Returns the 32-bit integer at address + 4 * index, sign-extended.
load32 = intrinsic("load32")
# store32(address, index, value): Writes the low 32 bits of the value at address + 4 * index.
store32 = intrinsic("store32")
# load16(address, index): Returns the unsigned 16-bit integer at address + 2 * index.
load16 = intrinsic("load16")
# store16(address, index, value): Writes the low 16 bits of the value at address + 2 * index.
store16 = intrinsic("store16")
# load8(address): Returns the byte at an address.
load8 = intrinsic("load8")
# store8(address, value): Writes the low byte of the value at an address.
store8 = intrinsic("store8")
# load_eight(address): Returns the eight bytes at an address, which need not be a multiple of eight.
load_eight = intrinsic("load_eight")
# load_four(address): Returns the four bytes at an address, which need not be a multiple of four.
load_four = intrinsic("load_four")
# copy_bytes(target, source, count): Copies bytes between two places that do not overlap.
copy_bytes = intrinsic("copy_bytes")
# prefetch(address, index): Prefetches the cache line at address + 8 * index, which this thread will write soon.
prefetch = intrinsic("prefetch")
# prefetch_read(address, index): Prefetches the cache line at address + 8 * index for reading, shared with other
# threads.
prefetch_read = intrinsic("prefetch_read")
# atomic_load(address, index): Loads the word at address + 8 * index (acquire): writes that another thread made before
# it are visible too.
atomic_load = intrinsic("atomic_load")
# atomic_add(address, index, value): Adds atomically to the word at address + 8 * index; returns the word before.
atomic_add = intrinsic("atomic_add")
# claim(address, index, value): Writes the word at address + 8 * index atomically if it is 0; returns the word before.
claim = intrinsic("claim")
# yield_thread(): Yields the processor to another thread that waits for it.
yield_thread = intrinsic("yield_thread")
# borrowed(array): Returns the same array without its reference count. Python holds the array while a kernel runs, so
# the count is not needed; with it, every call with an array writes to a word that all threads share.
borrowed = intrinsic("borrowed")

HASH_START = -7046029254386353131
HASH_STEP = -4417276706812531889


@kernel
def hash_word(state, word):
    """Adds a word to the hash; `state` starts as HASH_START."""
    state = (state ^ word) * HASH_STEP
    return state ^ ((state >> 32) & 0xFFFFFFFF)


@kernel
def hash_end(state):
    """Returns the 32-bit hash of the words added."""
    state = state * HASH_START
    return (state >> 32) & 0xFFFFFFFF
