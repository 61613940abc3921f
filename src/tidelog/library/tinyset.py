"""The extern functions of `tinyset`. A set is a `SizedSet`, whose items are sorted."""

from __future__ import annotations

from itertools import chain
from operator import contains, not_

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import at
from tidelog.library.ddlog_std_collections import set_insert
from tidelog.library.hashset import hashset_singleton, hashset_unions
from tidelog.values.group import Group
from tidelog.values.sets import SizedSet


@extern
def group_to_set(g: Group) -> SizedSet:
    return SizedSet(g.values)


@extern
def group_set_unions(g: Group) -> SizedSet:
    return SizedSet(chain.from_iterable(g.values))


EXTERNS: Externs = {
    "empty": SizedSet,
    "singleton": hashset_singleton,
    "size": len,
    "is_empty": not_,
    "nth": at,
    "contains": contains,
    "insert": set_insert,
    "insert_imm": SizedSet.add,
    "union": SizedSet.union,
    "unions": hashset_unions,
    "intersection": SizedSet.intersection,
    "difference": SizedSet.difference,
    "group_setref_unions": group_set_unions,
}
