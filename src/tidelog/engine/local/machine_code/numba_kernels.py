"""Kernels as dispatchers of Numba, for the compiler and for machines whose code this package cannot load itself.

Numba finds what a function calls among the globals of its module. `make_dispatchers` therefore puts the dispatcher of
each declared kernel, and the instructions of each intrinsic, in the place of its declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from tidelog.engine.local.machine_code import intrinsics
from tidelog.engine.local.machine_code.declare import ENTRY_POINTS, KERNELS, EntryPoint, Intrinsic, Kernel
from tidelog.engine.local.machine_code.sources import sources_digest

# Division by zero is checked for where it can happen. Nothing but an entry point is called from outside, so the code
# that Numba would add for such calls is left out: it takes a third of the time to compile.
OPTIONS = {"nogil": True, "error_model": "numpy"}
INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def make_dispatchers(options: dict[str, Any] = OPTIONS) -> None:
    """Makes the dispatchers of all kernels that have been declared; those that are there stay."""
    for each in KERNELS:
        if each.dispatcher is None:
            inlining = {"inline": "always"} if each.is_inlined else {}
            each.dispatcher = njit(**options, **inlining)(each.py_func)
    functions = [each.py_func for each in KERNELS] + [each.function for each in ENTRY_POINTS]
    for names in {id(function.__globals__): function.__globals__ for function in functions}.values():
        for name, value in list(names.items()):
            if isinstance(value, Kernel):
                names[name] = value.dispatcher
            elif isinstance(value, Intrinsic):
                names[name] = getattr(intrinsics, value.name)


def numba_entry_point(entry_point: EntryPoint) -> Callable[..., Any]:
    """Returns an entry point that Numba has compiled for this machine, and keeps in its own cache if it finds a place.

    Numba stamps a cached function with its file alone; this one is stamped with the sources of all kernels that it may
    call, so that it is compiled again whenever one of them changes."""
    make_dispatchers()
    options = OPTIONS | {"nogil": not entry_point.is_short}
    try:
        dispatcher = njit(cache=True, **options)(entry_point.function)
        dispatcher._cache._cache_file._source_stamp = sources_digest(entry_point.function.__module__)
    except RuntimeError:  # no folder that Numba may write to
        dispatcher = njit(**options)(entry_point.function)
    dispatcher.compile(entry_point.signature)
    dispatcher.disable_compile()
    compiled: Callable[..., Any] = dispatcher
    return compiled
