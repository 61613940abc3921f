"""The extern functions of `set`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.arg_min_max import arg_max, arg_min
from tidelog.library._runtime.extern import extern
from tidelog.values.sets import Set
from tidelog.values.structs import Struct


@extern
def set_arg_min(s: Set, f: Callable[[Any], Any]) -> Struct:
    return arg_min(s, f)


@extern
def set_arg_max(s: Set, f: Callable[[Any], Any]) -> Struct:
    return arg_max(s, f)
