"""The extern functions of `tinyset`. A set is a `SizedSet`, whose items are sorted."""

from __future__ import annotations

from itertools import chain

from tidelog.library._runtime.extern import extern
from tidelog.library._runtime.option_result import at
from tidelog.values.group import Group
from tidelog.values.sets import SizedSet
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec


@extern
def empty() -> SizedSet:
    return SizedSet()


@extern
def singleton(value: int) -> SizedSet:
    return SizedSet((value,))


@extern
def size(s: SizedSet) -> int:
    return len(s)


@extern
def is_empty(s: SizedSet) -> bool:
    return not len(s)


@extern
def contains(s: SizedSet, value: int) -> bool:
    return value in s


@extern
def nth(s: SizedSet, n: int) -> Struct:
    return at(s, n)


@extern
def insert(s: SizedSet, value: int) -> tuple[tuple[()], SizedSet]:
    return (), s.add(value)


@extern
def insert_imm(s: SizedSet, value: int) -> SizedSet:
    return s.add(value)


@extern
def union(left: SizedSet, right: SizedSet) -> SizedSet:
    return left.union(right)


@extern
def unions(sets: Vec) -> SizedSet:
    return SizedSet(chain.from_iterable(sets))


@extern
def intersection(left: SizedSet, right: SizedSet) -> SizedSet:
    return left.intersection(right)


@extern
def difference(left: SizedSet, right: SizedSet) -> SizedSet:
    return left.difference(right)


@extern
def group_to_set(g: Group) -> SizedSet:
    return SizedSet(g.values)


@extern
def group_set_unions(g: Group) -> SizedSet:
    return SizedSet(chain.from_iterable(g.values))


@extern
def group_setref_unions(g: Group) -> SizedSet:
    return SizedSet(chain.from_iterable(g.values))
