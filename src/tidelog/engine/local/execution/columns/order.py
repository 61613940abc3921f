"""The order of values on columns: ranks, which are words that are equal or ordered like the values.

Structs and tuples are ordered by their constructors, then field by field; collections item by item, the shorter one
first where all of its items are equal to the other's.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.encoding.row_pool import RowPool, constructors, is_row_type
from tidelog.engine.local.encoding.sequence_pool import is_sequence_type
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.columns.column import (
    Column,
    NeedsPythonError,
    SequenceColumn,
    as_floats,
    as_integers,
    as_sequence,
    as_struct,
    as_text,
    concatenated,
    item_type,
    size,
    take,
)
from tidelog.engine.local.execution.columns.floats import float_ranks
from tidelog.engine.local.execution.columns.integers import integer_ranks, is_wide_integer
from tidelog.engine.local.kernels import text_order as k
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    ScaledType,
    SignedType,
    StringType,
    TimestampType,
    Type,
    is_word,
)
from tidelog.values.definitions import Definitions

_ORDERED = BoolType | BitType | SignedType | BigIntType | FloatType | StringType | ScaledType
_SIGN = np.int64(-(2**63))


def has_order(type_: Type, definitions: Definitions) -> bool:
    """True if kernels know the order of a type: not that of functions and of other extern types."""
    seen: set[Type] = set()
    pending = [type_]
    while pending:
        each = pending.pop()
        if each in seen or len(seen) > 100:
            continue
        seen.add(each)
        if is_sequence_type(each):
            pending.append(item_type(each))
        elif is_row_type(each, definitions):
            pending.extend(field for own in constructors(each, definitions) for field in own.fields)
        elif not isinstance(each, _ORDERED):
            return False
    return True


def ranks(column: Column, type_: Type, values: Values) -> Words:
    """Returns words that are equal where values are, and ordered like them."""
    match type_:
        case BoolType():
            return np.asarray(column).astype(np.int64)
        case BitType(64):
            flipped: Words = column ^ _SIGN
            return flipped
        case BitType(width) | SignedType(width) if width <= 64:
            words: Words = column
            return words
        case DateType() | TimestampType() | DurationType() | DecimalType() if is_word(type_):
            scaled: Words = column
            return scaled
        case FloatType():
            return float_ranks(as_floats(column, type_, values))
        case StringType():
            return text_ranks(as_text(column, values))
    if is_wide_integer(type_):
        return integer_ranks(as_integers(column, type_, values))
    if isinstance(column, np.ndarray):
        # Ids that are equal are ranked once.
        distinct, codes = np.unique(column, return_inverse=True)
        return _nested_ranks(distinct, type_, values)[codes.reshape(-1)]
    return _nested_ranks(column, type_, values)


def _nested_ranks(column: Column, type_: Type, values: Values) -> Words:
    if is_sequence_type(type_):
        return _sequence_ranks(as_sequence(column, type_, values), type_, values)
    pool = values.pool(type_)
    if not isinstance(pool, RowPool):
        raise NeedsPythonError
    struct = as_struct(column, type_, values)
    found = struct.tags
    for number, constructor in enumerate(pool.constructors):
        fields, rows = struct.fields[number], np.flatnonzero(struct.tags == number)
        if fields is None or not len(rows):
            continue
        for field, own in zip(fields, constructor.fields):
            minor = np.zeros(len(found), dtype=np.int64)
            minor[rows] = ranks(take(field, rows), own, values)
            found = refined(found, minor)
    return found


def _sequence_ranks(column: SequenceColumn, type_: Type, values: Values) -> Words:
    items = refined(ranks(take(column.items, column.places()), item_type(type_), values))
    starts = np.cumsum(column.lengths) - column.lengths
    found = np.zeros(len(starts), dtype=np.int64)
    for place in range(int(column.lengths.max()) if len(starts) else 0):
        rows = np.flatnonzero(column.lengths > place)
        minor = np.full(len(found), -1, dtype=np.int64)
        minor[rows] = items[starts[rows] + place]
        found = refined(found, minor)
    return found


def text_ranks(text: TextColumn) -> Words:
    """Returns the ranks of strings."""
    order, found = np.empty_like(text.lengths), np.empty_like(text.lengths)
    k.order_texts(np.ascontiguousarray(text.addresses), np.ascontiguousarray(text.lengths), order, found)
    return found


def refined(major: Words, minor: Words | None = None) -> Words:
    """Returns the ranks, from 0 on without gaps, of pairs that are ordered by the major part first."""
    order = np.argsort(major, kind="stable") if minor is None else np.lexsort((minor, major))
    is_new = np.zeros(len(order), dtype=np.bool_)
    for words in (major,) if minor is None else (major, minor):
        is_new[1:] |= words[order[1:]] != words[order[:-1]]
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.cumsum(is_new)
    return found


def common_ranks(left: Column, right: Column, type_: Type, values: Values) -> tuple[Words, Words]:
    """Returns the ranks of the values of two columns among all of both."""
    found = ranks(concatenated([left, right], type_, values), type_, values)
    return found[: size(left)], found[size(left) :]
