"""The extern functions of `intern`: an interned text is the text itself.

Its number is its place in a table of the process: in the next run it may be another, so it should not be stored.
"""

from __future__ import annotations

from threading import Lock

from tidelog.library._runtime.extern import extern

_numbers: dict[str, int] = {}
_lock = Lock()


@extern
def string_intern(s: str) -> str:
    istring_ord(s)
    return s


@extern
def istring_str(s: str) -> str:
    return s


@extern
def istring_ord(s: str) -> int:
    number = _numbers.get(s)
    if number is None:
        with _lock:
            number = _numbers.setdefault(s, len(_numbers))
    return number
