"""Images → functions that Python calls: the code is copied into memory of its own, which becomes executable and can no
longer be written; each name from outside gets its address."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tidelog.engine.local.machine_code import image_file, processor, workers
from tidelog.engine.local.machine_code.declare import EntryPoint
from tidelog.engine.local.machine_code.link import Image

_READ, _WRITE, _EXECUTE = 1, 2, 4
_FAST_CALL = 0x0080
_NDARRAY = "numpy_ndarray"


class _MethodDefinition(ctypes.Structure):
    """Python's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


def load_entry_point(entry_point: EntryPoint) -> Callable[..., Any]:
    """Returns the compiled entry point: from the disk, or compiled now if no folder has it."""
    if processor.levels():
        image = image_file.find_image(entry_point)
        if image is None:
            image = workers.compile_now(entry_point)
        if image is not None:
            try:
                return make_function(image, entry_point.function.__name__)
            except OSError:  # this system lets no process make code
                pass
    from tidelog.engine.local.machine_code.numba_kernels import numba_entry_point

    return workers.announced(lambda: numba_entry_point(entry_point))


def load_all() -> int:
    """Loads every entry point of the package, and compiles those that have no code; returns how many there are."""
    entry_points = workers.all_entry_points()
    for each in entry_points:
        each.load()
    return len(entry_points)


def make_function(image: Image, name: str) -> Callable[..., Any]:
    """Makes a built-in function from an image. Raises OSError if the system does not allow it."""
    content = bytearray(image.content)
    memory = mmap.mmap(-1, len(content), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=_READ | _WRITE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for symbol, place in image.externals.items():
        struct.pack_into("<Q", content, place, _address(symbol))
    for place, target in image.internals.items():
        struct.pack_into("<Q", content, place, start + target)
    memory[:] = bytes(content)
    _protect(start, image.text_size, _READ | _EXECUTE)
    if os.environ.get("TIDELOG_PERF_MAP"):  # `perf` names code that no file has by this list
        with open(f"/tmp/perf-{os.getpid()}.map", "a", encoding="ascii") as lines:
            lines.write(f"{start:x} {image.text_size:x} tidelog:{name}\n")
    definition = _MethodDefinition(name.encode(), start + image.start, _FAST_CALL, None)
    for kept in (memory, definition):  # functions may outlive all modules, and need both until the process ends
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    made: Callable[..., Any] = make(ctypes.addressof(definition), None, None)
    return made


def _protect(start: int, size: int, protection: int) -> None:
    function = _process().mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if function(start, size, protection) != 0:
        raise OSError(ctypes.get_errno(), "mprotect failed")


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _address(name: str) -> int:
    """Returns the address of a function or variable of Python or of the C library. Raises OSError if there is none."""
    if name == _NDARRAY:
        return id(np.ndarray)
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(_process(), name))
    except ValueError:
        pass
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL("libm.so.6"), name))
    except ValueError as error:
        raise OSError(str(error)) from None
