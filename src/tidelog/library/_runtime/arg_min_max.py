"""The item of a collection for which a function is smallest or largest.

Ties go to the first of the smallest and to the last of the largest, as in the reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidelog.library._runtime.option_result import NONE, Some
from tidelog.values.structs import Struct


def arg_min(items: Iterable[Any], f: Callable[[Any], Any]) -> Struct:
    """Returns the first item with the smallest result, if there is one; calls the function once for each item."""
    found = [*items]
    return Some(min(found, key=f)) if found else NONE


def arg_max(items: Iterable[Any], f: Callable[[Any], Any]) -> Struct:
    """Returns the last item with the largest result, if there is one; calls the function once for each, in order."""
    pairs = [(f(item), item) for item in items]
    return Some(max(reversed(pairs), key=_value)[1]) if pairs else NONE


def _value(pair: tuple[Any, Any]) -> Any:
    return pair[0]
