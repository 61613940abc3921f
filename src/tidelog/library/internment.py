"""The extern functions of `internment`: an interned value is the value itself."""

from __future__ import annotations

from typing import Any

from tidelog.library._runtime.extern import extern
from tidelog.values.vec import Vec


@extern
def intern(value: Any) -> Any:
    return value


@extern
def ival(value: Any) -> Any:
    return value


@extern
def istring_join(strings: Vec, separator: str) -> str:
    return separator.join(strings)
