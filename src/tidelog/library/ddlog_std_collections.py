"""The extern functions of `ddlog_std` on vectors, maps, sets and groups.

A function with a `mut` parameter returns its result and the new collection.
"""

from __future__ import annotations

from itertools import chain, repeat
from operator import contains
from typing import Any

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import NONE, Some, at
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.sets import Set
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec

_Unit = tuple[()]


# Vectors


@extern
def vec_with_length(size: int, value: Any) -> Vec:
    return Vec(repeat(value, size))


@extern
def vec_push(v: Vec, value: Any) -> tuple[_Unit, Vec]:
    return (), v.push(value)


@extern
def vec_pop(v: Vec) -> tuple[Struct, Vec]:
    return (Some(v[len(v) - 1]), v.truncate(len(v) - 1)) if len(v) else (NONE, v)


@extern
def vec_append(v: Vec, other: Vec) -> tuple[_Unit, Vec]:
    return (), v.extend(other)


@extern
def vec_sort(v: Vec) -> tuple[_Unit, Vec]:
    return (), Vec(sorted(v))


@extern
def vec_reverse(v: Vec) -> tuple[_Unit, Vec]:
    return (), Vec(v.items[::-1])


@extern
def vec_resize(v: Vec, size: int, value: Any) -> tuple[_Unit, Vec]:
    return (), v.truncate(size) if size <= len(v) else v.extend(repeat(value, size - len(v)))


@extern
def vec_truncate(v: Vec, size: int) -> tuple[_Unit, Vec]:
    return (), v.truncate(size)


@extern
def vec_swap_nth(v: Vec, index: int, value: Any) -> tuple[bool, Vec, Any]:
    return (True, v.replace(index, value), v[index]) if index < len(v) else (False, v, value)


@extern
def vec_update_nth(v: Vec, index: int, value: Any) -> tuple[bool, Vec]:
    return (True, v.replace(index, value)) if index < len(v) else (False, v)


@extern
def vec_zip(left: Vec, right: Vec) -> Vec:
    return Vec(zip(left, right))


@extern
def vec_unzip(v: Vec) -> tuple[Vec, Vec]:
    return Vec(left for left, _ in v), Vec(right for _, right in v)


# Maps


@extern
def map_get(m: Map, key: Any) -> Struct:
    value = m.get(key, NONE)
    # An Option as a value may be NONE itself.
    return NONE if value is NONE and key not in m else Some(value)


@extern
def map_insert(m: Map, key: Any, value: Any) -> tuple[_Unit, Map]:
    return (), m.insert(key, value)


@extern
def map_remove(m: Map, key: Any) -> tuple[Struct, Map]:
    return map_get(m, key), m.remove(key)


@extern
def map_keys(m: Map) -> Vec:
    return Vec(m.keys)


@extern
def map_values(m: Map) -> Vec:
    return Vec(m.values)


@extern
def map_nth_key(m: Map, n: int) -> Struct:
    return at(m.keys, n)


@extern
def map_nth_value(m: Map, n: int) -> Struct:
    return at(m.values, n)


# Sets


@extern
def set_singleton(value: Any) -> Set:
    return Set((value,))


@extern
def set_insert(s: Set, value: Any) -> tuple[_Unit, Set]:
    return (), s.add(value)


@extern
def set_unions(sets: Vec) -> Set:
    return Set(chain.from_iterable(sets))


# Groups


@extern
def group_key(g: Group) -> Any:
    return g.key


@extern
def group_first(g: Group) -> Any:
    return g.items[0][0]


@extern
def group_nth(g: Group, n: int) -> Struct:
    return Some(g.items[n][0]) if n < len(g) else NONE


@extern
def group_min(g: Group) -> Any:
    return min(g.values)


@extern
def group_max(g: Group) -> Any:
    return max(g.values)


@extern
def group_to_vec(g: Group) -> Vec:
    return Vec(g.values)


@extern
def group_to_set(g: Group) -> Set:
    return Set(g.values)


@extern
def group_to_map(g: Group) -> Map:
    return Map(g.values)


@extern
def group_to_setmap(g: Group) -> Map:
    sets: dict[Any, list[Any]] = {}
    for key, value in g.values:
        sets.setdefault(key, []).append(value)
    return Map((key, Set(values)) for key, values in sets.items())


@extern
def group_set_unions(g: Group) -> Set:
    return Set(chain.from_iterable(g.values))


EXTERNS: Externs = {
    "vec_empty": Vec,
    "vec_len": len,
    "vec_nth": at,
    "vec_contains": contains,
    "vec_to_set": Set,
    "vec_to_map": Map,
    "map_empty": Map,
    "map_size": len,
    "map_contains_key": contains,
    "map_union": Map.union,
    "set_empty": Set,
    "set_size": len,
    "set_nth": at,
    "set_contains": contains,
    "set_to_vec": Vec,
    "set_union": Set.union,
    "set_intersection": Set.intersection,
    "set_difference": Set.difference,
    "group_count_distinct": len,
    "group_setref_unions": group_set_unions,
}
