"""The extern function of `map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.extern import extern
from tidelog.values.maps import Map


@extern
def map_map_in_place(m: Map, f: Callable[[Any, Any], tuple[tuple[()], Any]]) -> tuple[tuple[()], Map]:
    return (), Map.of_sorted((key, f(key, value)[1]) for key, value in m)
