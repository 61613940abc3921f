"""Declares kernels: functions that are compiled to machine code, and those of them that Python calls.

Nothing here imports Numba. A process that finds the machine code of its entry points on the disk loads that code alone
(`load`); the compiler, which takes 90 MB and half a second to import, runs in other processes (`compile_kernels`) and
only for code that is not there. Until then a kernel is a plain function with a note of how it is to be compiled.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from time import perf_counter
from typing import Any


class _Loading:
    """The lock of the thread that loads an entry point. A forked child gets another: nobody would open this one."""

    def __init__(self) -> None:
        self.lock = RLock()


_loading = _Loading()
os.register_at_fork(after_in_child=_loading.__init__)  # type: ignore[misc]


class Kernel:
    """A function that runs only inside an entry point."""

    __slots__ = ("dispatcher", "is_inlined", "py_func")

    def __init__(self, function: Callable[..., Any], *, is_inlined: bool = False) -> None:
        self.py_func = function
        self.is_inlined = is_inlined
        self.dispatcher: Callable[..., Any] | None = None  # Numba's, once `numba_kernels` has made it

    def __call__(self, *arguments: Any) -> Any:
        """Runs the kernel alone, compiled by Numba in this process; a test may want to."""
        from tidelog.engine.local.machine_code.numba_kernels import make_dispatchers

        make_dispatchers()
        assert self.dispatcher is not None
        return self.dispatcher(*arguments)


class Intrinsic:
    """A few machine instructions that kernels use like a function; `intrinsics` has the instructions by this name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class EntryPoint:
    """A kernel that Python calls: it has one signature, and its first call loads its machine code.

    Other threads may run Python meanwhile, except while a kernel runs that `is_short`.
    """

    __slots__ = ("_loaded", "function", "is_short", "signature")
    seconds_loading = 0.0  # of all entry points, in this process

    def __init__(self, function: Callable[..., Any], signature: str, *, is_short: bool = False) -> None:
        self.function = function
        self.signature = signature
        self.is_short = is_short
        self._loaded: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """Returns the module and the name of the function, for example `tidelog.engine.local.kernels.waves:drive`."""
        return f"{self.function.__module__}:{self.function.__name__}"

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def load(self) -> Callable[..., Any]:
        """Returns the compiled kernel; the first call reads it from the disk, or waits until it is compiled."""
        if self._loaded is None:
            from tidelog.engine.local.machine_code.load import load_entry_point

            with _loading.lock:  # readers and the writer may need it at the same time
                if self._loaded is None:
                    began = perf_counter()
                    self._loaded = load_entry_point(self)
                    EntryPoint.seconds_loading += perf_counter() - began
        return self._loaded

    def __call__(self, *arguments: Any) -> Any:
        return (self._loaded or self.load())(*arguments)


def intrinsic(name: str) -> Any:
    """Declares an intrinsic."""
    return Intrinsic(name)


KERNELS: list[Kernel] = []
ENTRY_POINTS: list[EntryPoint] = []


def kernel(function: Callable[..., Any]) -> Any:
    """Makes a function a kernel."""
    made = Kernel(function)
    KERNELS.append(made)
    return made


def inlined(function: Callable[..., Any]) -> Any:
    """Makes a function a kernel that is called so often that the call itself would cost."""
    made = Kernel(function, is_inlined=True)
    KERNELS.append(made)
    return made


def entry_point(signature: str) -> Callable[[Callable[..., Any]], EntryPoint]:
    """Makes a function an entry point."""
    return _entry_point(signature, is_short=False)


def short_entry_point(signature: str) -> Callable[[Callable[..., Any]], EntryPoint]:
    """Makes a function an entry point that takes some microseconds, whatever its arguments.

    It keeps the interpreter: a thread that lets go of it may get it back after milliseconds only, beside others.
    """
    return _entry_point(signature, is_short=True)


def _entry_point(signature: str, *, is_short: bool) -> Callable[[Callable[..., Any]], EntryPoint]:
    def make(function: Callable[..., Any]) -> EntryPoint:
        made = EntryPoint(function, signature, is_short=is_short)
        ENTRY_POINTS.append(made)
        return made

    return make


def seconds_loading() -> float:
    """Returns the seconds that this process has spent so far on loading kernels, compilation included."""
    return EntryPoint.seconds_loading
