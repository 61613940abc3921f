"""The item of a collection for which a function is smallest or largest.

Ties go to the first of the smallest and to the last of the largest, as in the reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidelog.library._runtime.option_result import NONE, Some
from tidelog.values.structs import Struct


def first_least(items: Iterable[Any], f: Callable[[Any], Any]) -> Struct:
    """The item, if there are any; the function is called once for each."""
    found = [*items]
    return Some(min(found, key=f)) if found else NONE


def last_most(items: Iterable[Any], f: Callable[[Any], Any]) -> Struct:
    """The item, if there are any; the function is called once for each, from the first to the last."""
    pairs = [(f(item), item) for item in items]
    return Some(max(reversed(pairs), key=_value)[1]) if pairs else NONE


def _value(pair: tuple[Any, Any]) -> Any:
    return pair[0]
