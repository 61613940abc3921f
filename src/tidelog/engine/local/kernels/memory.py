"""Raw memory for kernels: words at addresses that Python owns, and the hash of a few words.

One compiled kernel serves every relation because it takes addresses, not arrays. Nothing here checks bounds: the
capacities in the tables of `layout` are checked before a kernel writes.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.runtime import rtsys
from numba.extending import intrinsic

# Functions that run only inside an entry point. They check for division by zero where it can happen.
kernel = njit(nogil=True, error_model="numpy")
# Functions that are called so often that the call itself would cost.
inlined = njit(nogil=True, error_model="numpy", inline="always")


# These versions of Numba can read a kernel from the disk with their runtime alone. `Dispatcher.compile` imports the
# whole compiler before it reads the cache, which takes a third of the time to a small program's first commit.
_NUMBA_THAT_LOADS_ALONE = ("0.68.",)


class EntryPoint:
    """A kernel that Python calls: compiled once for its only signature, cached on disk, loaded by its first call.

    Numba stamps a cached kernel with the file of the entry point alone; this class stamps it with the sources of all
    kernels that it may call, so that it is compiled again whenever one of them changes.
    """

    __slots__ = ("_compiled", "_function", "_signature")
    seconds_loading = 0.0  # of all entry points, in this process

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        self._function = function
        self._signature = signature
        self._compiled: Callable[..., Any] | None = None

    def load(self) -> Callable[..., Any]:
        """Returns the compiled kernel; the first call compiles it or reads it from the disk."""
        if self._compiled is None:
            began = perf_counter()
            dispatcher = njit(cache=True, nogil=True, error_model="numpy")(self._function)
            dispatcher._cache._cache_file._source_stamp = sources_digest(self._function.__module__)
            if not self._read(dispatcher):
                dispatcher.compile(self._signature)
            dispatcher.disable_compile()
            self._compiled = dispatcher
            EntryPoint.seconds_loading += perf_counter() - began
        return self._compiled

    def _read(self, dispatcher: Any) -> bool:
        """Reads the kernel from the disk; returns False if it is not there, with a message if standard error is a
        terminal."""
        kept = dispatcher._cache
        if kept._index_key(self._signature, dispatcher.targetctx.codegen()) not in kept._cache_file._load_index():
            _announce_compilation()
            return False
        if not numba.__version__.startswith(_NUMBA_THAT_LOADS_ALONE):
            return False
        rtsys.initialize(dispatcher.targetctx)
        found = kept._load_overload(self._signature, dispatcher.targetctx)
        if found is not None:
            dispatcher.add_overload(found)
        return found is not None

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.load())(*arguments)


@cache
def _announce_compilation() -> None:
    if sys.stderr.isatty():
        print("tidelog: compiling its kernels; this happens once and takes half a minute or more", file=sys.stderr)


def seconds_loading() -> float:
    """Returns the seconds that this process has spent so far on compiling kernels, or on reading them from the disk."""
    return EntryPoint.seconds_loading


ENTRY_POINTS: list[EntryPoint] = []


def entry_point(signature: str) -> Callable[[Callable[..., Any]], EntryPoint]:
    """Makes a function an entry point."""

    def make(function: Callable[..., Any]) -> EntryPoint:
        made = EntryPoint(function, signature)
        ENTRY_POINTS.append(made)
        return made

    return make


@cache
def sources_digest(module: str) -> str:
    """Returns a digest of the sources of a module and of all modules of the local engine that it imports, so that a
    change of one kernel compiles only the entry points that may call it."""
    digest = hashlib.sha256()
    for path in sorted(_sources(module)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(module: str) -> set[Path]:
    """Returns the files of a module and of what it imports from the local engine, directly or not."""
    found: set[Path] = set()
    left = [module]
    while left:
        path = _PACKAGE.joinpath(*left.pop().split(".")[1:]).with_suffix(".py")
        if path in found or not path.exists():
            continue
        found.add(path)
        for base, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
            left += [base, *(f"{base}.{name}" for name in re.findall(r"\w+", names))]
    return found


_PACKAGE = Path(__file__).parents[3]
_IMPORT = re.compile(r"^from (tidelog\.engine\.local[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)

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
