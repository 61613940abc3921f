"""Work that nests deeper than Python's stack allows by default: recursive functions, long chains of values.

A call from Python to Python takes no room on the machine's stack, so the limit can be far higher than Python's 1,000.
Calls that go through C code do take room (`sorted` with a key takes the most, about 3 KB), and so they have a limit of
their own, in `through_c`. Both limits keep within 8 MB of stack: what is too deep raises RecursionError, and nothing
crashes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tidelog.forks import hold_during_forks

DEEPEST = 20_000
DEEPEST_THROUGH_C = 500

P = ParamSpec("P")
R = TypeVar("R")


class _Depth(threading.local):
    """How a thread stands: whether it is inside `deeply`, and how many calls through C it is in."""

    deep = False
    through_c = 0


_depth = _Depth()
_lock = threading.Lock()
hold_during_forks(_lock)
_users = 0
_limit = 0


def is_deep() -> bool:
    """True inside `deeply`, where a RecursionError means that it is really too deep."""
    return _depth.deep


def deeply(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Returns the function's result, with room for `DEEPEST` calls. Raises RecursionError where that is not enough.

    Python has one limit for all threads: it is raised while any thread needs it.
    """
    global _users, _limit
    if _depth.deep:
        return function(*args, **kwargs)
    with _lock:
        if _users == 0:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit, DEEPEST))
        _users += 1
    _depth.deep = True
    try:
        return function(*args, **kwargs)
    finally:
        _depth.deep = False
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_limit)


def at_any_depth(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Returns the result of a function without side effects, which is run again on a deeper stack if the first run
    overflows."""
    try:
        return function(*args, **kwargs)
    except RecursionError:
        return deeply(function, *args, **kwargs)


def through_c(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Calls a function on behalf of C code, such as `sorted` with a key. Raises RecursionError where it is too deep."""
    if _depth.through_c >= DEEPEST_THROUGH_C:
        raise RecursionError("too many calls through C")
    _depth.through_c += 1
    try:
        return function(*arguments)
    finally:
        _depth.through_c -= 1
