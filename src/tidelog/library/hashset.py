"""The extern functions of `hashset`. A set is a `SizedSet`, whose items are sorted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from tidelog.library._runtime.arg_min_max import arg_max, arg_min
from tidelog.library._runtime.extern import extern
from tidelog.library._runtime.option_result import at
from tidelog.values.sets import SizedSet
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec

_Unit = tuple[()]


@extern
def hashset_empty() -> SizedSet:
    return SizedSet()


@extern
def hashset_singleton(value: Any) -> SizedSet:
    return SizedSet((value,))


@extern
def hashset_size(s: SizedSet) -> int:
    return len(s)


@extern
def hashset_contains(s: SizedSet, value: Any) -> bool:
    return value in s


@extern
def hashset_nth(s: SizedSet, n: int) -> Struct:
    return at(s, n)


@extern
def hashset_insert(s: SizedSet, value: Any) -> tuple[_Unit, SizedSet]:
    return (), s.add(value)


@extern
def hashset_remove(s: SizedSet, value: Any) -> tuple[_Unit, SizedSet]:
    return (), s.remove(value)


@extern
def hashset_to_vec(s: SizedSet) -> Vec:
    return Vec(s)


@extern
def hashset_from_vec(v: Vec) -> SizedSet:
    return SizedSet(v)


@extern
def hashset_union(left: SizedSet, right: SizedSet) -> SizedSet:
    return left.union(right)


@extern
def hashset_unions(sets: Vec) -> SizedSet:
    return SizedSet(chain.from_iterable(sets))


@extern
def hashset_intersection(left: SizedSet, right: SizedSet) -> SizedSet:
    return left.intersection(right)


@extern
def hashset_difference(left: SizedSet, right: SizedSet) -> SizedSet:
    return left.difference(right)


@extern
def hashset_arg_min(s: SizedSet, f: Callable[[Any], Any]) -> Struct:
    return arg_min(s, f)


@extern
def hashset_arg_max(s: SizedSet, f: Callable[[Any], Any]) -> Struct:
    return arg_max(s, f)
