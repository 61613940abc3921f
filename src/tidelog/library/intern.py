"""The extern functions of `intern`: an interned text is the text itself.

Its number is its index in a table of the process. It may differ in the next run, so it should not be stored.
"""

from __future__ import annotations

from threading import Lock

from tidelog.forks import hold_during_forks
from tidelog.library._runtime.extern import Externs, extern
from tidelog.values.externs import itself

_numbers: dict[str, int] = {}
_lock = Lock()
hold_during_forks(_lock)


@extern
def string_intern(s: str) -> str:
    istring_ord(s)
    return s


@extern
def istring_ord(s: str) -> int:
    number = _numbers.get(s)
    if number is None:
        with _lock:
            number = _numbers.setdefault(s, len(_numbers))
    return number


EXTERNS: Externs = {"istring_str": itself}
