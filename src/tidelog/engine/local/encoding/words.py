"""Values ↔ words: stored columns (`rules.schema.stored`) and Python values become 64-bit words and back.

Integers up to 64 bits and Booleans are words themselves; dates, times and short decimals are integers of a unit. All
other values are interned: equal values have equal ids, in one pool per type. An id belongs to its value until
`reclaim_values` frees it; then another value gets it. Text, numbers, structs and collections are outside Python
(`string_pool`, `number_pools`, `row_pool`, `sequence_pool`); a struct or collection holds the ids of the values inside
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.number_pools import FloatPool, IntegerPool
from tidelog.engine.local.encoding.pool import ObjectPool, Pool, Value, Words
from tidelog.engine.local.encoding.row_pool import RowPool, is_row_type
from tidelog.engine.local.encoding.scaled_words import (
    DecimalPool,
    array_words,
    scaled_array,
    scaled_values,
    scaled_words,
)
from tidelog.engine.local.encoding.sequence_pool import SequencePool, is_recursive_type, is_sequence_type
from tidelog.engine.local.encoding.string_pool import StringPool
from tidelog.engine.local.encoding.words_pool import WordsPool
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import arrow_type, empty_rows
from tidelog.rules.schema.arrow_numbers import arrow_numbers
from tidelog.rules.schema.stored import stored_column, stored_schema, stored_values
from tidelog.scaled_values import from_units, to_units
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    NamedType,
    ScaledType,
    SignedType,
    StringType,
    TimestampType,
    TupleType,
    Type,
    integer_range,
    is_word,
)
from tidelog.values import NAN, Definitions

__all__ = ["Value", "Values", "Words", "bare_type", "is_its_word"]

_ROWS_AT_ONCE = 1 << 14


class Values:
    """All pools of an engine; converts values to words and back.

    `definitions` are the types of the program; without them there are no tables of relations that are not plain.
    """

    def __init__(self, definitions: Definitions | None = None) -> None:
        self._pools: dict[Type, Pool] = {}
        self._lock = RLock()
        self.pools: list[Pool] = []
        self.definitions = definitions or Definitions()

    def pool(self, type_: Type) -> Pool:
        """Returns the pool of an interned type; a `Ref` or an `Intern` shares that of the value inside, as it is that
        value."""
        pool = self._pools.get(type_)
        return self._new_pool(type_) if pool is None else pool

    def _new_pool(self, type_: Type) -> Pool:
        with self._lock:
            pool = self._pools.get(type_)
            if pool is None:
                bare = bare_type(type_)
                if bare == type_:
                    pool = self._made_pool(type_)
                    self.pools.append(pool)
                else:
                    pool = self.pool(bare)
                self._pools[type_] = pool
            return pool

    def _made_pool(self, type_: Type) -> Pool:
        match type_:
            case StringType():
                return StringPool()
            case FloatType():
                return FloatPool()
            case BitType() | SignedType() | BigIntType():
                return IntegerPool()
            case DecimalType():
                return DecimalPool(type_)
            case NamedType() if is_sequence_type(type_):
                return SequencePool(type_, self, is_recursive=is_recursive_type(type_, self.definitions))
            case _ if is_row_type(type_, self.definitions):
                return RowPool(type_, self, is_recursive=is_recursive_type(type_, self.definitions))
            case _:
                return ObjectPool()

    def fill(self, copies: Sequence[tuple[Pool, Any]]) -> None:
        """Fills empty pools from copies of their values (`Pool.copy_values`), whose ids they had."""
        for pool, values in copies:
            if isinstance(pool, WordsPool):
                pool.reserve(values)
        # Rows hold ids of other pools, which must be theirs before a row adds values.
        for pool, values in sorted(copies, key=lambda each: isinstance(each[0], WordsPool)):
            pool.fill(values)

    def interned(self, types: Iterable[Type]) -> dict[Type, Pool]:
        """Returns the pools of the interned ones of the types, by the type that shares the pool."""
        return {bare: self.pool(bare) for bare in map(bare_type, types) if not is_word(bare)}

    def word(self, value: Value, type_: Type) -> int:
        """Returns the word of a constant of a rule, which is never freed."""
        if not is_word(type_):
            return self.pool(type_).constant(value)
        return to_units(value, type_) if isinstance(type_, ScaledType) else _word(value)

    def temporary_word(self, value: Value, type_: Type) -> int:
        """Returns the word of a constant of a query, which is freed once no row uses it."""
        return self.encoder(type_)(value)

    def find(self, value: Value, type_: Type) -> int | None:
        """Returns the word of one value, or None for a value that is not interned (and so is in no row)."""
        if not is_word(type_):
            return self.pool(type_).find(value)
        return to_units(value, type_) if isinstance(type_, ScaledType) else _word(value)

    def decode(self, words: npt.NDArray[Any], type_: Type) -> list[Value]:
        """Returns the Python values of a column of words."""
        if not is_word(type_):
            return self.pool(type_).decode(words)
        if isinstance(type_, ScaledType):
            return scaled_values(words, type_)
        if isinstance(type_, FloatType):
            return [NAN if number != number else number for number in words.view(np.float64).tolist()]
        if isinstance(type_, BoolType):
            words = words != 0
        elif isinstance(type_, BitType):
            words = words.view(np.uint64)
        decoded: list[Value] = words.tolist()
        return decoded

    def decoder(self, type_: Type) -> Callable[[int], Value]:
        """Returns the function from a word to its Python value, for callers that convert value by value."""
        if not is_word(type_):
            return self.pool(type_).value
        match type_:
            case BoolType():
                return bool
            case BitType():
                return _unsigned
            case DateType() | TimestampType() | DurationType() | DecimalType():
                return lambda word: from_units(word, type_)
            case _:
                return int

    def encoder(self, type_: Type) -> Callable[[Value], int]:
        """Returns the function from a Python value that fits the type to its word."""
        if isinstance(type_, ScaledType) and is_word(type_):
            return lambda value: to_units(value, type_)
        return _word if is_word(type_) else self.pool(type_).intern

    def encode(self, values: list[Any], type_: Type) -> Words:
        """Returns the words of a column of Python values that fit the type."""
        if not is_word(type_):
            return self.pool(type_).intern_all(values)
        if isinstance(type_, FloatType):
            return np.array(values, dtype=np.float64).view(np.int64)
        if isinstance(type_, BitType):
            return np.array(values, dtype=np.uint64).view(np.int64)
        if isinstance(type_, ScaledType):
            return scaled_words(values, type_)
        return np.array(values, dtype=np.int64)

    def tuple_ids(self, parts: Words, types: Sequence[Type], type_: Type) -> Words | None:
        """Returns the words of tuples of a type, given the words of their items, a column for each of these types; None
        if values of the type are not such tuples."""
        if not isinstance(type_, TupleType) or [*map(bare_type, type_.items)] != [*map(bare_type, types)]:
            return None
        pool = self.pool(type_)
        if not isinstance(pool, RowPool):
            return None
        return pool.intern_rows(0, [parts[:, place] for place in range(len(types))], len(parts))

    def table_to_words(self, table: pa.Table, relation: Relation, words: Words | None = None) -> Words:
        """Returns one line per row, one word per column; the table has the relation's stored columns, maybe more.
        They are written to `words`, if these are given.

        Columns that share a pool are interned together, so that a value in several of them, or in many rows, becomes a
        Python object once; text becomes none.
        """
        if words is None:
            words = np.empty((table.num_rows, len(relation.columns)), dtype=np.int64)
        plain = [(i, each) for i, each in enumerate(relation.columns) if is_word(each.type)]
        if plain:
            # Some rows at a time, so that they are written while they are in the cache.
            start = 0
            for batch in table.select([column.name for _, column in plain]).to_batches(max_chunksize=_ROWS_AT_ONCE):
                for (i, column), array in zip(plain, batch.columns, strict=True):
                    words[start : start + len(batch), i] = array_words(array, column.type)
                start += len(batch)
        interned: dict[Type, list[int]] = {}
        for i, column in enumerate(relation.columns):
            if not is_word(column.type):
                interned.setdefault(bare_type(column.type), []).append(i)
        for type_, places in interned.items():
            columns = [table.column(relation.columns[i].name) for i in places]
            pool = self.pool(type_)
            if isinstance(pool, StringPool):
                for i, column in zip(places, columns, strict=True):
                    pool.intern_arrow(column, words[:, i])
                continue
            chunks = [chunk for column in columns for chunk in column.chunks]
            found = self._interned(pa.chunked_array(chunks, columns[0].type), type_)
            for i, part in zip(places, np.split(found, len(places)), strict=True):
                words[:, i] = part
        return words

    def rows_to_words(self, rows: Sequence[tuple[Value, ...]], relation: Relation) -> Words:
        """Returns one line per row of Python values that fit the relation's columns."""
        words = np.empty((len(rows), len(relation.columns)), dtype=np.int64)
        for i, column in enumerate(relation.columns):
            words[:, i] = self.encode([row[i] for row in rows], column.type)
        return words

    def words_to_rows(self, words: Words, relation: Relation) -> list[tuple[Value, ...]]:
        """Returns the rows as Python values."""
        if not relation.columns:
            return [()] * len(words)
        columns = (self.decode(words[:, i].copy(), column.type) for i, column in enumerate(relation.columns))
        return list(zip(*columns, strict=True))

    def words_to_table(self, words: Words, relation: Relation, *, may_keep: bool = False) -> pa.Table:
        """Returns the rows of a relation as a table with its `stored_schema`; `may_keep`: nobody will change the words,
        so the table may use their memory.
        """
        arrays = [
            self._words_to_column(words[:, i], column.type, may_keep=may_keep)
            for i, column in enumerate(relation.columns)
        ]
        if not arrays:
            return empty_rows(len(words))
        return pa.Table.from_arrays(arrays, schema=stored_schema(relation))

    def _interned(self, column: pa.ChunkedArray, type_: Type) -> Words:
        """Returns the ids of a column whose type is interned."""
        pool = self.pool(type_)
        if isinstance(pool, DecimalPool):
            return pool.intern_arrow(column)
        encoded = column.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):  # more text than one array can hold
            encoded = encoded.combine_chunks()
        # Text, decimal numbers and encodings are in canonical form, so different ones are different values.
        values = stored_values(encoded.dictionary, type_, self.definitions)
        ids = pool.intern_all(values, distinct=True)
        return ids[encoded.indices.to_numpy(zero_copy_only=False)] if len(ids) else np.empty(0, np.int64)

    def _words_to_column(self, words: Words, type_: Type, *, may_keep: bool) -> pa.Array | pa.ChunkedArray:
        match type_:
            case BoolType():
                return arrow_numbers(words != 0)
            case BitType(width) | SignedType(width) if width <= 64:
                is_copied = not (may_keep and words.flags.c_contiguous)
                return arrow_numbers(words.astype(arrow_type(type_).to_pandas_dtype(), copy=is_copied))
            case DateType() | TimestampType() | DurationType() | DecimalType() if is_word(type_):
                return scaled_array(words, type_)
        pool = self.pool(type_)
        if isinstance(pool, StringPool):
            return pool.export(words)
        distinct, codes = np.unique(words, return_inverse=True)
        dictionary = stored_column(self.decode(distinct, type_), type_, self.definitions)
        return pa.DictionaryArray.from_arrays(arrow_numbers(codes.astype(np.int32)), dictionary).cast(dictionary.type)


def is_its_word(type_: Type) -> bool:
    """True if the values of a type are their own words: numbers that fit in a signed word."""
    return isinstance(type_, SignedType | BitType) and is_word(type_) and integer_range(type_)[1] < 1 << 63


def _unsigned(word: int) -> int:
    return word & 0xFFFF_FFFF_FFFF_FFFF


def _word(value: bool | int | float) -> int:
    """Returns the word with the bits of a number of up to 64 bits."""
    if isinstance(value, float):
        return int(np.float64(value).view(np.int64))
    return int(value) - (1 << 64) if value >= 1 << 63 else int(value)
