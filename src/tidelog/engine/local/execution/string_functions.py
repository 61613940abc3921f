"""Functions of the standard library on columns, in place of the Python functions of the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.text_column import LONGEST_TEXT, TextColumn
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.columns import Column, NeedsPythonError, StructColumn, as_text
from tidelog.engine.local.kernels import text_columns as k
from tidelog.library._runtime.registry import library_externs
from tidelog.types import BitType, BoolType, SignedType, StringType, Type

ColumnFunction = Callable[[Values, list[Column]], Column]


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


def text_of(column: Column, type_: Type, values: Values) -> TextColumn | None:
    """Returns the text of values of a built-in type; None for a type that Python has to write."""
    match type_:
        case StringType():
            return as_text(column, values)
        case BoolType():
            true, false = constant_text("true", len(column)), constant_text("false", len(column))
            addresses = np.where(column, true.addresses, false.addresses)
            return TextColumn(addresses, np.where(column, 4, 5), (*true.owners, *false.owners))
        case BitType(width) | SignedType(width) if width <= 64:
            return number_texts(np.ascontiguousarray(column), type_)
        case _:
            return None


def compare(left: TextColumn, right: TextColumn, *, equal: bool) -> Words:
    """Returns the signs of comparisons; or, for `equal`, whether the strings are equal."""
    found = np.empty(len(left), dtype=np.int64)
    kernel = k.equal_texts if equal else k.compare_texts
    kernel(left.addresses, left.lengths, right.addresses, right.lengths, found)
    return found


def _length(values: Values, arguments: list[Column]) -> Column:
    return as_text(arguments[0], values).lengths


def _substring(values: Values, arguments: list[Column]) -> Column:
    text = as_text(arguments[0], values)
    addresses, lengths = text.addresses.copy(), text.lengths.copy()
    start, end = (np.ascontiguousarray(each) for each in arguments[1:])
    if k.cut_texts(addresses, lengths, start, end):
        raise NeedsPythonError
    return TextColumn(addresses, lengths, text.owners)


def _contains(values: Values, arguments: list[Column]) -> Column:
    text, part = (as_text(each, values) for each in arguments)
    found = np.empty(len(text), dtype=np.int64)
    k.contain_texts(text.addresses, text.lengths, part.addresses, part.lengths, found)
    return found != 0


def _at_end(end: int) -> ColumnFunction:
    def function(values: Values, arguments: list[Column]) -> Column:
        text, part = (as_text(each, values) for each in arguments)
        found = np.empty(len(text), dtype=np.int64)
        k.match_ends(text.addresses, text.lengths, part.addresses, part.lengths, end, found)
        return found != 0

    return function


def _case(is_upper: int) -> ColumnFunction:
    def function(values: Values, arguments: list[Column]) -> Column:
        text = as_text(arguments[0], values)
        data = np.empty(max(int(text.lengths.sum()), 1), dtype=np.uint8)
        addresses = np.empty_like(text.addresses)
        if k.change_case(text.addresses, text.lengths, is_upper, data.ctypes.data, addresses):
            raise NeedsPythonError
        return TextColumn(addresses, text.lengths, (data,))

    return function


def _trim(values: Values, arguments: list[Column]) -> Column:
    text = as_text(arguments[0], values)
    addresses, lengths = text.addresses.copy(), text.lengths.copy()
    if k.trim_texts(addresses, lengths):
        raise NeedsPythonError
    return TextColumn(addresses, lengths, text.owners)


def _parse(is_unsigned: int) -> ColumnFunction:
    def function(values: Values, arguments: list[Column]) -> Column:
        text = as_text(arguments[0], values)
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


# A library function → the function of columns that does the same, or raises NeedsPythonError.
_COLUMN_FUNCTIONS: dict[str, ColumnFunction] = {
    "ddlog_std::string_len": _length,
    "ddlog_std::string_substr": _substring,
    "ddlog_std::string_contains": _contains,
    "ddlog_std::string_starts_with": _at_end(0),
    "ddlog_std::string_ends_with": _at_end(1),
    "ddlog_std::string_to_lowercase": _case(0),
    "ddlog_std::string_to_uppercase": _case(1),
    "ddlog_std::string_trim": _trim,
    "ddlog_std::parse_dec_u64": _parse(1),
    "ddlog_std::parse_dec_i64": _parse(0),
}
TO_STRING = "ddlog_std::__builtin_2string"
SPLIT = "ddlog_std::string_split"


def is_of_library(name: str, python: Callable[..., Any] | None) -> bool:
    """True if this is the library's own Python function of an extern function: a program may give another one."""
    return name.startswith("ddlog_std::") and library_externs().get(name) is python


def column_function(name: str, python: Callable[..., Any] | None) -> ColumnFunction | None:
    """Returns the function of columns that does the same as an extern function; None where there is none."""
    return _COLUMN_FUNCTIONS.get(name) if is_of_library(name, python) else None
