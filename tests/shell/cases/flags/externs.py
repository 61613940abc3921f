"""The extern functions of the program beside this file."""

from __future__ import annotations


def twice(x: int) -> int:
    return 2 * x


EXTERNS = {"module::twice": twice}
