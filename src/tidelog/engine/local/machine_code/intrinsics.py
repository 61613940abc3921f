"""The instructions of LLVM behind the intrinsics that `kernels/memory.py` declares: words in memory, prefetches, atomic
words.

Only the compiler imports this module. Nothing here checks bounds: the capacities in the tables of `kernels/layout.py`
are checked before a kernel writes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_I16 = ir.IntType(16)
_I8 = ir.IntType(8)


@intrinsic
def load64(typing_context: Any, address: Any, index: Any) -> Any:
    """Returns the word at address + 8 * index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I64.as_pointer())
        return builder.load(builder.gep(pointer, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def store64(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Writes the word at address + 8 * index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I64.as_pointer())
        builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def load32(typing_context: Any, address: Any, index: Any) -> Any:
    """Returns the 32-bit integer at address + 4 * index, sign-extended."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I32.as_pointer())
        return builder.sext(builder.load(builder.gep(pointer, [arguments[1]])), _I64)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def store32(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Writes the low 32 bits of the value at address + 4 * index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I32.as_pointer())
        builder.store(builder.trunc(arguments[2], _I32), builder.gep(pointer, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def load16(typing_context: Any, address: Any, index: Any) -> Any:
    """Returns the unsigned 16-bit integer at address + 2 * index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I16.as_pointer())
        return builder.zext(builder.load(builder.gep(pointer, [arguments[1]])), _I64)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def store16(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Writes the low 16 bits of the value at address + 2 * index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I16.as_pointer())
        builder.store(builder.trunc(arguments[2], _I16), builder.gep(pointer, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def load8(typing_context: Any, address: Any) -> Any:
    """Returns the byte at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.load(builder.inttoptr(arguments[0], _I8.as_pointer())), _I64)

    return types.int64(types.int64), generate


@intrinsic
def store8(typing_context: Any, address: Any, value: Any) -> Any:
    """Writes the low byte of the value at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(builder.trunc(arguments[1], _I8), builder.inttoptr(arguments[0], _I8.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def load_eight(typing_context: Any, address: Any) -> Any:
    """Returns the eight bytes at an address, which need not be a multiple of eight."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _I64.as_pointer()), align=1)

    return types.int64(types.int64), generate


@intrinsic
def load_four(typing_context: Any, address: Any) -> Any:
    """Returns the four bytes at an address, which need not be a multiple of four."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.load(builder.inttoptr(arguments[0], _I32.as_pointer()), align=1), _I64)

    return types.int64(types.int64), generate


@intrinsic
def copy_bytes(typing_context: Any, target: Any, source: Any, count: Any) -> Any:
    """Copies bytes between two places that do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source = (builder.inttoptr(each, _I8.as_pointer()) for each in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _prefetch(for_writing: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        pointer = builder.gep(builder.inttoptr(arguments[0], _I64.as_pointer()), [arguments[1]])
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        builder.call(function, [builder.bitcast(pointer, byte), _I32(for_writing), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def prefetch(typing_context: Any, address: Any, index: Any) -> Any:
    """Prefetches the cache line at address + 8 * index, which this thread will write soon."""
    return _prefetch(for_writing=1)


@intrinsic
def prefetch_read(typing_context: Any, address: Any, index: Any) -> Any:
    """Prefetches the cache line at address + 8 * index for reading, shared with other threads."""
    return _prefetch(for_writing=0)


@intrinsic
def atomic_load(typing_context: Any, address: Any, index: Any) -> Any:
    """Loads the word at address + 8 * index (acquire): writes that another thread made before it are visible too."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I64.as_pointer())
        return builder.load_atomic(builder.gep(pointer, [arguments[1]]), "acquire", 8)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def atomic_add(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Adds atomically to the word at address + 8 * index; returns the word before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I64.as_pointer())
        return builder.atomic_rmw("add", builder.gep(pointer, [arguments[1]]), arguments[2], "acq_rel")

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def claim(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Writes the word at address + 8 * index atomically if it is 0; returns the word before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _I64.as_pointer())
        place = builder.gep(pointer, [arguments[1]])
        pair = builder.cmpxchg(place, _I64(0), arguments[2], "acq_rel", "acquire")
        return builder.extract_value(pair, 0)

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def yield_thread(typing_context: Any) -> Any:
    """Yields the processor to another thread that waits for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_I32, [])
        function = cgutils.get_or_insert_function(builder.module, kind, "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def borrowed(typing_context: Any, array: Any) -> Any:
    """Returns the same array without its reference count. Python holds the array while a kernel runs, so the count is
    not needed; with it, every call with an array writes to a word that all threads share."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(array)(context, builder, arguments[0])
        made.meminfo = ir.Constant(made.meminfo.type, None)
        return made._getvalue()

    return array(array), generate
