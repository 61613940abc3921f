"""The extern functions of `set`."""

from __future__ import annotations

from tidelog.library._runtime.arg_min_max import arg_max, arg_min
from tidelog.library._runtime.extern import Externs

EXTERNS: Externs = {"set_arg_min": arg_min, "set_arg_max": arg_max}
