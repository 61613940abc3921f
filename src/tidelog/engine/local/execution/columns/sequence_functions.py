"""Functions of the standard library on columns of vectors, sets and maps, in place of the Python functions of the same
names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.sequence_pool import MAP, SET, VEC
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.columns.batch import Batch, ColumnFunction
from tidelog.engine.local.execution.columns.column import (
    Column,
    NeedsPythonError,
    Places,
    SequenceColumn,
    StructColumn,
    as_sequence,
    as_struct,
    empty_column,
    item_type,
    merge,
    require_few,
    sequences,
    take,
    unit_column,
)
from tidelog.engine.local.execution.columns.equality import equal_columns
from tidelog.engine.local.execution.columns.order import common_ranks, ranks, refined
from tidelog.types import BitType, NamedType, SignedType, TupleType, Type

_LONGEST_RANGE = 1 << 20
_MOST_MADE = 1 << 22
_SAFE = 1 << 62


def sequence_type(kind: str, batch: Batch) -> NamedType:
    """Returns the type of a collection of the kind, of the types of the batch."""
    return NamedType(kind, batch.types if kind == MAP else batch.types[:1])


def vector(columns: list[Column], type_: Type, count: int, values: Values) -> SequenceColumn:
    """Returns the vectors of the values of several columns, row by row."""
    width = len(columns)
    parts = [(width * np.arange(count) + place, column) for place, column in enumerate(columns)]
    return sequences(np.full(count, width, dtype=np.int64), merge(width * count, parts, type_, values))


def pair(keys: Column, column: Column, count: int) -> StructColumn:
    """Returns a column of pairs."""
    return StructColumn(np.zeros(count, dtype=np.int64), ((keys, column),))


def _parts(items: Column, type_: NamedType, values: Values) -> tuple[Column, Column]:
    """Returns the keys and values of items of a map."""
    found = as_struct(items, TupleType(type_.arguments), values).fields[0]
    if found is None:
        return empty_column(type_.arguments[0]), empty_column(type_.arguments[1])
    return found[0], found[1]


def _option(is_there: npt.NDArray[np.bool_], found: Column, batch: Batch, type_: Type) -> StructColumn:
    """Returns options: `found` has the values of those that are there."""
    some = np.flatnonzero(is_there)
    fields = (merge(batch.count, [(some, found)], type_, batch.values),) if len(some) else None
    return StructColumn(is_there.astype(np.int64), ((), fields))


def distinct(column: SequenceColumn, type_: NamedType, values: Values) -> SequenceColumn:
    """Returns sets, or maps, of items in any order; of two equal keys the later counts."""
    items, rows = take(column.items, column.places()), column.rows()
    if type_.name == MAP:
        keys = ranks(_parts(items, type_, values)[0], type_.arguments[0], values)
    else:
        keys = ranks(items, type_.arguments[0], values)
    order = np.lexsort((keys, rows))  # stable: of equal keys the later is behind
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = (rows[order[1:]] != rows[order[:-1]]) | (keys[order[1:]] != keys[order[:-1]])
    kept = order[is_last]
    return sequences(np.bincount(rows[kept], minlength=len(column.lengths)).astype(np.int64), take(items, kept))


def appended(left: SequenceColumn, right: SequenceColumn, type_: Type, values: Values) -> SequenceColumn:
    """Returns the items of collections, those of others behind them."""
    lengths = left.lengths + right.lengths
    starts = np.cumsum(lengths) - lengths
    parts = []
    for column, first in ((left, starts), (right, starts + left.lengths)):
        target = SequenceColumn(first, column.lengths, None).places()
        parts.append((target, take(column.items, column.places())))
    parts = [part for part in parts if len(part[0])]
    total = int(lengths.sum())
    items = merge(total, parts, item_type(type_), values) if parts else empty_column(item_type(type_))
    return SequenceColumn(starts, lengths, items)


def _single(column: Column, count: int) -> SequenceColumn:
    return SequenceColumn(np.arange(count), np.ones(count, dtype=np.int64), column)


def kept(column: SequenceColumn, chosen: npt.NDArray[np.bool_]) -> SequenceColumn:
    """Returns collections of some of their items; `chosen` has a truth value for each, in their order."""
    rows = column.rows()[chosen]
    lengths = np.bincount(rows, minlength=len(column.lengths)).astype(np.int64)
    return sequences(lengths, take(column.items, column.places()[chosen]))


# Functions of all kinds


def _empty(kind: str) -> ColumnFunction:
    def function(batch: Batch, arguments: list[Column]) -> Column:
        zeros = np.zeros(batch.count, dtype=np.int64)
        return SequenceColumn(zeros, zeros, empty_column(item_type(sequence_type(kind, batch))))

    return function


def _of(kind: str, function: Callable[[Batch, NamedType, SequenceColumn, list[Column]], Column]) -> ColumnFunction:
    """Returns a function whose first argument is a collection of the kind."""

    def taken(batch: Batch, arguments: list[Column]) -> Column:
        type_ = sequence_type(kind, batch)
        return function(batch, type_, as_sequence(arguments[0], type_, batch.values), arguments[1:])

    return taken


def _length(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    return column.lengths


def _nth(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    index = rest[0]
    is_there = (index >= 0) & (index < column.lengths)
    return _option(is_there, take(column.items, (column.starts + index)[is_there]), batch, item_type(type_))


def _matches(
    batch: Batch, type_: NamedType, column: SequenceColumn, key: Column
) -> tuple[Places, npt.NDArray[np.bool_]]:
    """Returns the rows of all items, and which of the items (keys, of a map) are equal to the key of their row."""
    items, rows = take(column.items, column.places()), column.rows()
    if type_.name == MAP:
        items = _parts(items, type_, batch.values)[0]
    return rows, equal_columns(items, take(key, rows), type_.arguments[0], batch.values)


def _contains(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    rows, is_equal = _matches(batch, type_, column, rest[0])
    found = np.zeros(batch.count, dtype=np.bool_)
    found[rows[is_equal]] = True
    return found


def _plus(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    """`push` and `insert`."""
    added = pair(rest[0], rest[1], batch.count) if type_.name == MAP else rest[0]
    found = appended(column, _single(added, batch.count), type_, batch.values)
    if type_.name != VEC:
        found = distinct(found, type_, batch.values)
    return unit_column(batch.count), found


# Vectors


def _append(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    other = as_sequence(rest[0], type_, batch.values)
    return unit_column(batch.count), appended(column, other, type_, batch.values)


def _pop(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    last, is_there = column.starts + column.lengths - 1, column.lengths > 0
    shorter = SequenceColumn(column.starts, np.maximum(column.lengths - 1, 0), column.items)
    return _option(is_there, take(column.items, last[is_there]), batch, item_type(type_)), shorter


def _truncate(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    wanted = np.where(rest[0] < 0, column.lengths, np.minimum(rest[0], column.lengths))
    return unit_column(batch.count), SequenceColumn(column.starts, wanted, column.items)


def _reverse(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    lengths = column.lengths
    mirror = 2 * np.repeat(column.starts, lengths) + np.repeat(lengths, lengths) - 1
    return unit_column(batch.count), sequences(lengths, take(column.items, mirror - column.places()))


def _sort(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    items = take(column.items, column.places())
    order = np.lexsort((ranks(items, type_.arguments[0], batch.values), column.rows()))
    return unit_column(batch.count), sequences(column.lengths, take(items, order))


def _update(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    index, value = rest
    is_there = (index >= 0) & (index < column.lengths)
    items = take(column.items, column.places())
    lengths, count = column.lengths, int(column.lengths.sum())
    rows = np.flatnonzero(is_there)
    places = (np.cumsum(lengths) - lengths)[rows] + index[rows]
    is_old = np.ones(count, dtype=np.bool_)
    is_old[places] = False
    old = np.flatnonzero(is_old)
    if len(rows):
        parts = [(old, take(items, old)), (places, take(value, rows))]
        items = merge(count, parts, type_.arguments[0], batch.values)
    return is_there, sequences(lengths, items)


def _with_length(batch: Batch, arguments: list[Column]) -> Column:
    lengths, value = arguments
    if len(lengths) and not 0 <= int(lengths.min()) <= int(lengths.max()) <= _LONGEST_RANGE:
        raise NeedsPythonError
    require_few(int(lengths.sum()), batch.count, _MOST_MADE)
    return sequences(lengths, take(value, np.repeat(np.arange(batch.count), lengths)))


def _zip(batch: Batch, arguments: list[Column]) -> Column:
    left, right = (
        as_sequence(column, NamedType(VEC, (type_,)), batch.values) for column, type_ in zip(arguments, batch.types)
    )
    lengths = np.minimum(left.lengths, right.lengths)
    cut = (SequenceColumn(each.starts, lengths, each.items) for each in (left, right))
    first, second = (take(each.items, each.places()) for each in cut)
    return sequences(lengths, pair(first, second, int(lengths.sum())))


def _unzip(batch: Batch, arguments: list[Column]) -> Column:
    pairs = NamedType(VEC, (TupleType(batch.types),))
    column = as_sequence(arguments[0], pairs, batch.values)
    first, second = _parts(column.items, NamedType(MAP, batch.types), batch.values)
    sides = (SequenceColumn(column.starts, column.lengths, each) for each in (first, second))
    return StructColumn(np.zeros(batch.count, dtype=np.int64), (tuple(sides),))


def _range(batch: Batch, arguments: list[Column]) -> Column:
    (type_,) = batch.types
    if not isinstance(type_, BitType | SignedType) or type_.width > 64:
        raise NeedsPythonError
    start, end, step = arguments
    if type_.width == 64 and any(len(each) and not -_SAFE < each.min() <= each.max() < _SAFE for each in arguments):
        raise NeedsPythonError
    if type_ == BitType(64) and any(len(each) and each.min() < 0 for each in arguments):
        raise NeedsPythonError
    safe = np.where(step == 0, 1, step)
    lengths = np.where(step == 0, 0, np.maximum(-((start - end) // safe), 0))
    if len(lengths) and int(lengths.max()) > _LONGEST_RANGE:
        raise NeedsPythonError
    require_few(int(lengths.sum()), batch.count, _MOST_MADE)
    found = sequences(lengths, np.empty(0, dtype=np.int64))
    number = found.places() - np.repeat(found.starts, lengths)
    return sequences(lengths, np.repeat(start, lengths) + number * np.repeat(step, lengths))


# Sets and maps


def _to_set(batch: Batch, arguments: list[Column]) -> Column:
    column = as_sequence(arguments[0], NamedType(VEC, batch.types), batch.values)
    return distinct(column, NamedType(SET, batch.types), batch.values)


def _to_map(batch: Batch, arguments: list[Column]) -> Column:
    column = as_sequence(arguments[0], NamedType(VEC, (TupleType(batch.types),)), batch.values)
    return distinct(column, NamedType(MAP, batch.types), batch.values)


def _same(kind: str) -> ColumnFunction:
    return lambda batch, arguments: as_sequence(arguments[0], sequence_type(kind, batch), batch.values)


def _singleton(batch: Batch, arguments: list[Column]) -> Column:
    return _single(arguments[0], batch.count)


def _union(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    other = as_sequence(rest[0], type_, batch.values)
    return distinct(appended(column, other, type_, batch.values), type_, batch.values)


def _unions(batch: Batch, arguments: list[Column]) -> Column:
    type_ = NamedType(SET, batch.types)
    outer = as_sequence(arguments[0], NamedType(VEC, (type_,)), batch.values)
    inner = as_sequence(take(outer.items, outer.places()), type_, batch.values)
    lengths = np.bincount(outer.rows(), inner.lengths, batch.count).astype(np.int64)
    return distinct(sequences(lengths, take(inner.items, inner.places())), type_, batch.values)


def _shared(is_wanted: bool) -> Callable[[Batch, NamedType, SequenceColumn, list[Column]], Column]:
    """`intersection`, or `difference`."""

    def function(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
        other = as_sequence(rest[0], type_, batch.values)
        own, its = (take(each.items, each.places()) for each in (column, other))
        mine, yours = common_ranks(own, its, type_.arguments[0], batch.values)
        both = refined(np.concatenate([column.rows(), other.rows()]), np.concatenate([mine, yours]))
        return kept(column, np.isin(both[: len(mine)], both[len(mine) :]) == is_wanted)

    return function


def _get(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    rows, is_equal = _matches(batch, type_, column, rest[0])
    is_there = np.zeros(batch.count, dtype=np.bool_)
    is_there[rows[is_equal]] = True
    found = _parts(take(column.items, column.places()[is_equal]), type_, batch.values)[1]
    return _option(is_there, found, batch, type_.arguments[1])


def _remove(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
    _, is_equal = _matches(batch, type_, column, rest[0])
    return _get(batch, type_, column, rest), kept(column, ~is_equal)


def _side(place: int) -> Callable[[Batch, NamedType, SequenceColumn, list[Column]], Column]:
    """`keys`, or `values`."""

    def function(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
        return SequenceColumn(column.starts, column.lengths, _parts(column.items, type_, batch.values)[place])

    return function


def _nth_side(place: int) -> Callable[[Batch, NamedType, SequenceColumn, list[Column]], Column]:
    def function(batch: Batch, type_: NamedType, column: SequenceColumn, rest: list[Column]) -> Column:
        side = _side(place)(batch, type_, column, [])
        return _nth(batch, NamedType(VEC, (type_.arguments[place],)), side, rest)

    return function


SEQUENCE_FUNCTIONS: dict[str, ColumnFunction] = {
    "vec_empty": _empty(VEC),
    "vec_len": _of(VEC, _length),
    "vec_nth": _of(VEC, _nth),
    "vec_contains": _of(VEC, _contains),
    "vec_push": _of(VEC, _plus),
    "vec_pop": _of(VEC, _pop),
    "vec_append": _of(VEC, _append),
    "vec_sort": _of(VEC, _sort),
    "vec_reverse": _of(VEC, _reverse),
    "vec_truncate": _of(VEC, _truncate),
    "vec_update_nth": _of(VEC, _update),
    "vec_with_length": _with_length,
    "vec_zip": _zip,
    "vec_unzip": _unzip,
    "vec_to_set": _to_set,
    "vec_to_map": _to_map,
    "range_vec": _range,
    "set_empty": _empty(SET),
    "set_singleton": _singleton,
    "set_size": _of(SET, _length),
    "set_contains": _of(SET, _contains),
    "set_nth": _of(SET, _nth),
    "set_insert": _of(SET, _plus),
    "set_to_vec": _same(SET),
    "set_union": _of(SET, _union),
    "set_unions": _unions,
    "set_intersection": _of(SET, _shared(True)),
    "set_difference": _of(SET, _shared(False)),
    "map_empty": _empty(MAP),
    "map_size": _of(MAP, _length),
    "map_get": _of(MAP, _get),
    "map_contains_key": _of(MAP, _contains),
    "map_insert": _of(MAP, _plus),
    "map_remove": _of(MAP, _remove),
    "map_union": _of(MAP, _union),
    "map_keys": _of(MAP, _side(0)),
    "map_values": _of(MAP, _side(1)),
    "map_nth_key": _of(MAP, _nth_side(0)),
    "map_nth_value": _of(MAP, _nth_side(1)),
}
ORDERED = frozenset(
    (
        *("vec_sort", "vec_to_set", "vec_to_map", "map_insert", "map_union"),
        *("set_insert", "set_union", "set_unions", "set_intersection", "set_difference"),
    )
)
"""The functions that need the order of their first type."""
