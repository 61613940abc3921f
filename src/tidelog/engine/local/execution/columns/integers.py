"""Operators on columns of integers that are wider than a word: `bigint`, `u128`, `signed<100>`.

As long as all numbers of a column fit into a word, and so do the results, kernels compute; otherwise NumPy calls
Python's own integers, number by number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.number_pools import Numbers, integers
from tidelog.engine.local.encoding.text_column import TextColumn, column_of_texts
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.columns.column import NeedsPythonError
from tidelog.engine.local.execution.columns.words import arithmetic, wrapped
from tidelog.functions.vocabulary import quotient, remainder
from tidelog.types import S64, BigIntType, BitType, DecimalType, SignedType, Type, is_word, native_width, wrap
from tidelog.values.big_integers import MOST_BITS
from tidelog.values.text import integer_text

_LONGEST_SHIFT = 1 << 16
_SAFE = float(1 << 62)


def is_wide_integer(type_: Type) -> bool:
    """True for integers that do not fit into a word, and for decimals that are held as such."""
    if isinstance(type_, DecimalType):
        return not is_word(type_)
    return isinstance(type_, BigIntType) or (isinstance(type_, BitType | SignedType) and type_.width > 64)


def integers_of_words(words: Words, type_: Type) -> Numbers:
    """Returns the values of words of an integer type."""
    if type_ == BitType(64) and len(words) and int(words.min()) < 0:
        return words.view(np.uint64).astype(np.object_)
    return words


def words_of_integers(numbers: Numbers, type_: Type) -> Words:
    """Returns wide integers as words of an integer type, wrapped to its width."""
    if numbers.dtype == np.object_:
        numbers = np.array([wrap(number, S64) for number in numbers.tolist()], dtype=np.int64)
    return wrapped(numbers, type_)


def in_range(numbers: Numbers, type_: Type) -> Numbers:
    """Returns integers brought into the range of a wide type."""
    if isinstance(type_, BigIntType):
        return numbers
    assert isinstance(type_, BitType | SignedType)
    if numbers.dtype != np.object_ and not (isinstance(type_, BitType) and len(numbers) and int(numbers.min()) < 0):
        return numbers
    return integers([wrap(number, type_) for number in numbers.tolist()])


def integer_arithmetic(op: str, left: Numbers, right: Numbers, type_: Type) -> Numbers:
    """Returns `left op right`, where the right side of a shift is a column of words; raises NeedsPythonError for a
    division by zero."""
    if op in ("<<", ">>"):
        return in_range(_shifted(op, left, right, type_), type_)
    if op in ("/", "%") and not right.all():
        raise NeedsPythonError
    if op == "*" and isinstance(type_, BigIntType) and _bits(left) + _bits(right) > MOST_BITS:
        raise NeedsPythonError
    if left.dtype != np.object_ and right.dtype != np.object_:
        found = _in_words(op, left, right)
        if found is not None:
            return in_range(found, type_)
    return in_range(_in_python(op, left.astype(np.object_), right.astype(np.object_)), type_)


def _in_words(op: str, left: Words, right: Words) -> Words | None:
    """Returns the result of an operation on words; None if one may not fit into a word."""
    if op in ("&", "|", "^"):
        return arithmetic(op, left, right, S64)
    sizes = np.abs(left.astype(np.float64)), np.abs(right.astype(np.float64))
    largest = sizes[0] * sizes[1] if op == "*" else sizes[0] + sizes[1]
    if len(largest) and float(largest.max()) >= _SAFE:
        return None
    return arithmetic(op, left, right, S64)


def _in_python(op: str, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Numbers:
    match op:
        case "+":
            found = left + right
        case "-":
            found = left - right
        case "*":
            found = left * right
        case "&":
            found = left & right
        case "|":
            found = left | right
        case "^":
            found = left ^ right
        case "/":
            found = np.array([quotient(a, b) for a, b in zip(left, right)], dtype=np.object_)
        case _:
            found = np.array([remainder(a, b) for a, b in zip(left, right)], dtype=np.object_)
    return integers(found.tolist())


def _shifted(op: str, left: Numbers, amounts: Words, type_: Type) -> Numbers:
    if isinstance(type_, BitType | SignedType):
        native = native_width(type_.width)
        amounts = np.minimum(amounts, type_.width) if native is None else amounts & (native - 1)
    if len(amounts) and (
        int(amounts.max()) > _LONGEST_SHIFT or (op == "<<" and _bits(left) + _LONGEST_SHIFT > MOST_BITS)
    ):
        raise NeedsPythonError
    pairs = zip(left.tolist(), amounts.tolist())
    return integers([a << b for a, b in pairs] if op == "<<" else [a >> b for a, b in pairs])


def _bits(numbers: Numbers) -> int:
    """Returns the bits of the largest number."""
    return 64 if numbers.dtype != np.object_ else max((number.bit_length() for number in numbers.tolist()), default=0)


def negative(numbers: Numbers, type_: Type) -> Numbers:
    """Returns `-numbers`."""
    return integer_arithmetic("-", np.zeros(len(numbers), dtype=np.int64), numbers, type_)


def inverted(numbers: Numbers, type_: Type) -> Numbers:
    """Returns `~numbers`."""
    return in_range(~numbers, type_)


def integer_texts(numbers: Numbers) -> TextColumn:
    """Returns integers in decimal."""
    return column_of_texts([integer_text(number) for number in numbers.tolist()])


def integer_ranks(numbers: Numbers) -> Words:
    """Returns words that are ordered like the numbers."""
    if numbers.dtype != np.object_:
        return numbers
    _, ranks = np.unique(numbers, return_inverse=True)
    return ranks.reshape(-1).astype(np.int64)
