"""The extern functions of `vec`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.arg_min_max import arg_max, arg_min
from tidelog.library._runtime.extern import Externs, extern
from tidelog.values.vec import Vec


@extern
def vec_sort_by(v: Vec, f: Callable[[Any], Any]) -> tuple[tuple[()], Vec]:
    return (), Vec(sorted(v, key=f))


EXTERNS: Externs = {"vec_arg_min": arg_min, "vec_arg_max": arg_max}
