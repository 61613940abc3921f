"""`hash32`, `hash64` and `hash128` on columns: the bytes of values as columns of text, hashed by a kernel.

The bytes are those of `library._runtime.hash_bytes`. Types keep their `Intern`s here: an interned value is the hash of
the value inside.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.number_pools import integers
from tidelog.engine.local.encoding.sequence_pool import MAP, is_sequence_type
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.columns.batch import Batch, ColumnFunction
from tidelog.engine.local.execution.columns.column import (
    Column,
    IntegerColumn,
    as_sequence,
    as_struct,
    as_text,
    merge,
    size,
    take,
)
from tidelog.engine.local.execution.columns.string_functions import concatenated, constant_bytes
from tidelog.engine.local.kernels import text_order as k
from tidelog.library._runtime.hash_bytes import SECOND_SEED, SEED
from tidelog.types import (
    STRING,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    NamedType,
    SignedType,
    StringType,
    TimestampType,
    TupleType,
    Type,
    is_word,
    native_width,
)
from tidelog.values.definitions import Definitions

_INTERN, _REF = "internment::Intern", "ddlog_std::Ref"
_END = np.array([0xFF], dtype=np.uint8)


def can_hash(type_: Type, definitions: Definitions) -> bool:
    """True if kernels make the bytes of a type: not those of floats, wide integers, functions, other extern types."""
    seen: set[Type] = set()
    pending = [type_]
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        match each:
            case BoolType() | StringType():
                pass
            case BitType(width) | SignedType(width) if width <= 64:
                pass
            case DateType() | TimestampType() | DurationType() | DecimalType() if is_word(each):
                pass
            case TupleType(items):
                pending.extend(items)
            case NamedType(name, arguments) if name in (_INTERN, _REF) or is_sequence_type(each):
                pending.extend(arguments)
            case NamedType(name) if name in definitions.types and definitions.extern(each) is None:
                if len(seen) > 100:
                    return False
                pending.extend(field for variant in definitions.variants(each) for _, field in variant.fields)
            case _:
                return False
    return True


def _bytes(column: Column, type_: Type, values: Values) -> TextColumn:
    match type_:
        case BoolType():
            return _fixed(column.astype(np.int64), 1)
        case BitType(width) | SignedType(width):
            return _fixed(column, (native_width(width) or 64) // 8)
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return _fixed(column, 8)
        case StringType():
            return concatenated([as_text(column, values), constant_bytes(_END, 1, size(column))])
        case NamedType(name, (inner,)) if name == _REF:
            return _bytes(column, inner, values)
        case NamedType(name, (inner,)) if name == _INTERN:
            return _fixed(_hashed(_bytes(column, inner, values), SEED), 8)
        case NamedType() if is_sequence_type(type_):
            return _sequence_bytes(column, type_, values)
        case _:
            return _struct_bytes(column, type_, values)


def _struct_bytes(column: Column, type_: Type, values: Values) -> TextColumn:
    struct = as_struct(column, bare_type(type_), values)
    if isinstance(type_, TupleType):
        variants = [type_.items]
    else:
        assert isinstance(type_, NamedType)
        variants = [tuple(field for _, field in each.fields) for each in values.definitions.variants(type_)]
    parts = []
    for number, types in enumerate(variants):
        rows, fields = np.flatnonzero(struct.tags == number), struct.fields[number]
        if not len(rows):
            continue
        texts = [_fixed(struct.tags[rows], 8)] if len(variants) > 1 else []
        texts += [_bytes(take(field, rows), own, values) for field, own in zip(fields or (), types)]
        parts.append((rows, concatenated(texts) if texts else constant_bytes(_END, 0, len(rows))))
    return merge(len(struct.tags), parts, STRING, values) if parts else constant_bytes(_END, 0, 0)


def _sequence_bytes(column: Column, type_: NamedType, values: Values) -> TextColumn:
    found = as_sequence(column, bare_type(type_), values)
    inner = TupleType(type_.arguments) if type_.name == MAP else type_.arguments[0]
    items = _bytes(take(found.items, found.places()), inner, values)
    data = items.gathered()
    sizes = np.bincount(found.rows(), items.lengths, len(found.lengths)).astype(np.int64)
    stretches = TextColumn(data.ctypes.data + np.cumsum(sizes) - sizes, sizes, (data,))
    return concatenated([_fixed(found.lengths, 8), stretches])


def _fixed(words: Words, width: int) -> TextColumn:
    """Returns the lowest bytes of words."""
    data = np.ascontiguousarray(np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)[:, :width])
    addresses = data.ctypes.data + width * np.arange(len(words), dtype=np.int64)
    return TextColumn(addresses, np.full(len(words), width, np.int64), (data,))


def _hashed(text: TextColumn, seed: int) -> Words:
    found = np.empty_like(text.lengths)
    k.hash_texts_64(text.addresses, text.lengths, seed - (1 << 64) if seed >> 63 else seed, found)
    return found


def _hash32(batch: Batch, arguments: list[Column]) -> Column:
    text = _bytes(arguments[0], batch.given[0], batch.values)
    found = np.empty_like(text.lengths)
    k.hash_texts_32(text.addresses, text.lengths, SEED & 0xFFFF_FFFF, found)
    return found


def _hash64(batch: Batch, arguments: list[Column]) -> Column:
    return _hashed(_bytes(arguments[0], batch.given[0], batch.values), SEED)


def _hash128(batch: Batch, arguments: list[Column]) -> Column:
    text = _bytes(arguments[0], batch.given[0], batch.values)
    high, low = (_hashed(text, seed).view(np.uint64).tolist() for seed in (SEED, SECOND_SEED))
    return IntegerColumn(integers([a << 64 | b for a, b in zip(high, low)]))


HASH_FUNCTIONS: dict[str, ColumnFunction] = {"hash32": _hash32, "hash64": _hash64, "hash128": _hash128}
