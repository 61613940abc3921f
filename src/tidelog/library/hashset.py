"""The extern functions of `hashset`. A set is a `SizedSet`, whose items are sorted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from operator import contains
from typing import Any

from tidelog.library._runtime.arg_min_max import arg_max, arg_min
from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import at
from tidelog.library.ddlog_std_collections import set_insert
from tidelog.values.sets import SizedSet
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec


@extern
def hashset_singleton(value: Any) -> SizedSet:
    return SizedSet((value,))


@extern
def hashset_remove(s: SizedSet, value: Any) -> tuple[tuple[()], SizedSet]:
    return (), s.remove(value)


@extern
def hashset_unions(sets: Vec) -> SizedSet:
    return SizedSet(chain.from_iterable(sets))


@extern
def hashset_arg_min(s: SizedSet, f: Callable[[Any], Any]) -> Struct:
    return arg_min(s, f)


@extern
def hashset_arg_max(s: SizedSet, f: Callable[[Any], Any]) -> Struct:
    return arg_max(s, f)


EXTERNS: Externs = {
    "hashset_empty": SizedSet,
    "hashset_size": len,
    "hashset_nth": at,
    "hashset_contains": contains,
    "hashset_insert": set_insert,
    "hashset_to_vec": Vec,
    "hashset_from_vec": SizedSet,
    "hashset_union": SizedSet.union,
    "hashset_intersection": SizedSet.intersection,
    "hashset_difference": SizedSet.difference,
}
