"""The extern functions of `vec`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.arg_min_max import arg_max, arg_min
from tidelog.library._runtime.extern import extern
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec


@extern
def vec_sort_by(v: Vec, f: Callable[[Any], Any]) -> tuple[tuple[()], Vec]:
    return (), Vec(sorted(v, key=f))


@extern
def vec_arg_min(v: Vec, f: Callable[[Any], Any]) -> Struct:
    return arg_min(v, f)


@extern
def vec_arg_max(v: Vec, f: Callable[[Any], Any]) -> Struct:
    return arg_max(v, f)
