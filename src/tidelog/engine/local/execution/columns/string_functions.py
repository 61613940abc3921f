"""Functions of the standard library on columns of text, in place of the Python functions of the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.text_column import LONGEST_TEXT, TextColumn
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.columns.batch import Batch, ColumnFunction
from tidelog.engine.local.execution.columns.column import (
    Column,
    NeedsPythonError,
    SequenceColumn,
    StructColumn,
    as_floats,
    as_integers,
    as_sequence,
    as_text,
    merge,
    sequences,
    take,
)
from tidelog.engine.local.execution.columns.floats import float_texts
from tidelog.engine.local.execution.columns.integers import integer_texts, is_wide_integer
from tidelog.engine.local.execution.columns.scaled import scaled_texts
from tidelog.engine.local.kernels import text_columns as k
from tidelog.engine.local.kernels import text_order
from tidelog.types import (
    STRING,
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
    Type,
)

VEC_OF_TEXT = NamedType("ddlog_std::Vec", (STRING,))


def concatenated(parts: list[TextColumn]) -> TextColumn:
    """Returns the strings of several columns, one behind the other."""
    lengths = parts[0].lengths.copy()
    for part in parts[1:]:
        lengths += part.lengths
    if len(lengths) and int(lengths.max()) > LONGEST_TEXT:
        raise NeedsPythonError
    ends = np.cumsum(lengths)
    data = np.empty(max(int(ends[-1]) if len(ends) else 0, 1), dtype=np.uint8)
    starts = ends - lengths + data.ctypes.data
    cursors = starts.copy()
    for part in parts:
        k.append_texts(part.addresses, part.lengths, cursors)
    return TextColumn(starts, lengths, (data,))


def number_texts(words: Words, type_: Type) -> TextColumn:
    """Returns numbers in decimal."""
    data = np.empty(max(len(words), 1) * k.NUMBER_BYTES, dtype=np.uint8)
    addresses, lengths = np.empty_like(words), np.empty_like(words)
    k.write_numbers(words, int(isinstance(type_, BitType)), data.ctypes.data, addresses, lengths)
    return TextColumn(addresses, lengths, (data,))


def constant_text(text: str, count: int) -> TextColumn:
    """Returns one string as a column."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass") or b"\0", np.uint8)
    return constant_bytes(data, len(text.encode("utf-8", "surrogatepass")), count)


def constant_bytes(data: Any, length: int, count: int) -> TextColumn:
    """Returns the same bytes as a column."""
    return TextColumn(np.full(count, data.ctypes.data, np.int64), np.full(count, length, np.int64), (data,))


def text_of(column: Column, type_: Type, values: Values) -> TextColumn:
    """Returns the text of values of a built-in type."""
    match type_:
        case StringType():
            return as_text(column, values)
        case BoolType():
            true, false = constant_text("true", len(column)), constant_text("false", len(column))
            addresses = np.where(column, true.addresses, false.addresses)
            return TextColumn(addresses, np.where(column, 4, 5), (*true.owners, *false.owners))
        case BitType(width) | SignedType(width) if width <= 64:
            return number_texts(np.ascontiguousarray(column), type_)
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return scaled_texts(column, type_, values)
        case FloatType():
            return float_texts(as_floats(column, type_, values), type_)
        case _:
            return integer_texts(as_integers(column, type_, values))


def has_text(type_: Type) -> bool:
    """True if kernels write the text of a type."""
    known = StringType | BoolType | BitType | SignedType | FloatType | ScaledType
    return isinstance(type_, known) or is_wide_integer(type_)


def compare(left: TextColumn, right: TextColumn, *, equal: bool) -> Words:
    """Returns the signs of comparisons; or, for `equal`, whether the strings are equal."""
    found = np.empty(len(left), dtype=np.int64)
    kernel = k.equal_texts if equal else k.compare_texts
    kernel(left.addresses, left.lengths, right.addresses, right.lengths, found)
    return found


def _length(batch: Batch, arguments: list[Column]) -> Column:
    return as_text(arguments[0], batch.values).lengths


def _substring(batch: Batch, arguments: list[Column]) -> Column:
    text = as_text(arguments[0], batch.values)
    addresses, lengths = text.addresses.copy(), text.lengths.copy()
    start, end = (np.ascontiguousarray(each) for each in arguments[1:])
    if k.cut_texts(addresses, lengths, start, end):
        raise NeedsPythonError
    return TextColumn(addresses, lengths, text.owners)


def _contains(batch: Batch, arguments: list[Column]) -> Column:
    text, part = (as_text(each, batch.values) for each in arguments)
    found = np.empty(len(text), dtype=np.int64)
    k.contain_texts(text.addresses, text.lengths, part.addresses, part.lengths, found)
    return found != 0


def _at_end(end: int) -> ColumnFunction:
    def function(batch: Batch, arguments: list[Column]) -> Column:
        text, part = (as_text(each, batch.values) for each in arguments)
        found = np.empty(len(text), dtype=np.int64)
        k.match_ends(text.addresses, text.lengths, part.addresses, part.lengths, end, found)
        return found != 0

    return function


def _case(is_upper: int) -> ColumnFunction:
    def function(batch: Batch, arguments: list[Column]) -> Column:
        text = as_text(arguments[0], batch.values)
        data = np.empty(max(int(text.lengths.sum()), 1), dtype=np.uint8)
        addresses = np.empty_like(text.addresses)
        if k.change_case(text.addresses, text.lengths, is_upper, data.ctypes.data, addresses):
            raise NeedsPythonError
        return TextColumn(addresses, text.lengths, (data,))

    return function


def _trim(batch: Batch, arguments: list[Column]) -> Column:
    text = as_text(arguments[0], batch.values)
    addresses, lengths = text.addresses.copy(), text.lengths.copy()
    if k.trim_texts(addresses, lengths):
        raise NeedsPythonError
    return TextColumn(addresses, lengths, text.owners)


def _parse(is_unsigned: int) -> ColumnFunction:
    def function(batch: Batch, arguments: list[Column]) -> Column:
        text = as_text(arguments[0], batch.values)
        words, is_number = np.empty_like(text.lengths), np.empty_like(text.lengths)
        k.parse_numbers(text.addresses, text.lengths, is_unsigned, words, is_number)
        return StructColumn(is_number, ((), (words,)))  # None, Some{x}

    return function


def split(text: TextColumn, separator: TextColumn) -> tuple[Words, TextColumn]:
    """Returns the number of parts of each string, and the parts of all."""
    counts = np.empty_like(text.lengths)
    where = (text.addresses, text.lengths, separator.addresses, separator.lengths)
    if k.count_parts(*where, counts):
        raise NeedsPythonError
    total = int(counts.sum())
    addresses, lengths = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    k.split_texts(*where, addresses, lengths)
    return counts, TextColumn(addresses, lengths, text.owners)


def _split(batch: Batch, arguments: list[Column]) -> Column:
    counts, parts = split(*(as_text(each, batch.values) for each in arguments))
    return sequences(counts, parts)


def _join(batch: Batch, arguments: list[Column]) -> Column:
    return joined(as_sequence(arguments[0], VEC_OF_TEXT, batch.values), as_text(arguments[1], batch.values), batch)


def joined(column: SequenceColumn, separators: TextColumn, batch: Batch) -> TextColumn:
    """Returns the strings of vectors, with separators between them."""
    items, rows = as_text(take(column.items, column.places()), batch.values), column.rows()
    # All strings and separators in one line, in which each result is a stretch; nothing stands before a first string.
    before = separators.take(rows)
    is_first = np.zeros(len(rows), dtype=np.bool_)
    is_first[(np.cumsum(column.lengths) - column.lengths)[column.lengths > 0]] = True
    before = TextColumn(before.addresses, np.where(is_first, 0, before.lengths), before.owners)
    count = len(rows)
    line = merge(2 * count, [(2 * np.arange(count), before), (2 * np.arange(count) + 1, items)], STRING, batch.values)
    sizes = np.bincount(rows, line.lengths[0::2] + line.lengths[1::2], batch.count).astype(np.int64)
    return _stretches(line.gathered(), sizes)


def _stretches(data: npt.NDArray[np.uint8], sizes: Words) -> TextColumn:
    if len(sizes) and int(sizes.max()) > LONGEST_TEXT:
        raise NeedsPythonError
    return TextColumn(data.ctypes.data + np.cumsum(sizes) - sizes, sizes, (data,))


def _replace(batch: Batch, arguments: list[Column]) -> Column:
    text, old, new = (as_text(each, batch.values) for each in arguments)
    counts, parts = split(text, old)
    return joined(sequences(counts, parts), new, batch)


def _reverse(batch: Batch, arguments: list[Column]) -> Column:
    text = as_text(arguments[0], batch.values)
    data = np.empty(max(int(text.lengths.sum()), 1), dtype=np.uint8)
    addresses = np.empty_like(text.addresses)
    where = np.ascontiguousarray(text.addresses), np.ascontiguousarray(text.lengths)
    if text_order.reverse_texts(*where, data.ctypes.data, addresses):
        raise NeedsPythonError
    return TextColumn(addresses, text.lengths, (data,))


def _to_bytes(batch: Batch, arguments: list[Column]) -> Column:
    text = as_text(arguments[0], batch.values)
    return sequences(text.lengths, text.gathered().astype(np.int64))


def _hex(batch: Batch, arguments: list[Column]) -> Column:
    (type_,) = batch.types
    if not (isinstance(type_, BitType) and type_.width <= 64):
        raise NeedsPythonError
    words = arguments[0].view(np.uint64)
    digits = np.maximum((np.frexp(words.astype(np.longdouble))[1] + 3) // 4, 1).astype(np.int64)
    places = np.arange(int(digits.sum())) - np.repeat(np.cumsum(digits) - digits, digits)
    shifts = (4 * (np.repeat(digits, digits) - 1 - places)).astype(np.uint64)
    found = (np.repeat(words, digits) >> shifts & np.uint64(15)).astype(np.uint8)
    return _stretches(np.where(found < 10, found + 48, found + 87).astype(np.uint8), digits)


# A library function → the function of columns that does the same, or raises NeedsPythonError.
STRING_FUNCTIONS: dict[str, ColumnFunction] = {
    "ddlog_std::string_len": _length,
    "ddlog_std::string_substr": _substring,
    "ddlog_std::string_contains": _contains,
    "ddlog_std::string_starts_with": _at_end(0),
    "ddlog_std::string_ends_with": _at_end(1),
    "ddlog_std::string_to_lowercase": _case(0),
    "ddlog_std::string_to_uppercase": _case(1),
    "ddlog_std::string_trim": _trim,
    "ddlog_std::string_split": _split,
    "ddlog_std::string_join": _join,
    "ddlog_std::string_replace": _replace,
    "ddlog_std::string_reverse": _reverse,
    "ddlog_std::string_to_bytes": _to_bytes,
    "ddlog_std::hex": _hex,
    "ddlog_std::parse_dec_u64": _parse(1),
    "ddlog_std::parse_dec_i64": _parse(0),
}
