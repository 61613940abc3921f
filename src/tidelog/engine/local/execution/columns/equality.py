"""Equality of columns: of words and ids by comparison, of text by its bytes, of structs field by field."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.row_pool import RowPool
from tidelog.engine.local.encoding.sequence_pool import is_sequence_type
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.columns import string_functions as strings
from tidelog.engine.local.execution.columns.column import (
    Column,
    IntegerColumn,
    NeedsPythonError,
    as_floats,
    as_integers,
    as_struct,
    as_text,
    as_words,
    take,
)
from tidelog.engine.local.execution.columns.floats import compare_floats
from tidelog.types import FloatType, StringType, Type


def equal_columns(left: Column, right: Column, type_: Type, values: Values) -> npt.NDArray[Any]:
    """Returns where the values of two columns of one type are equal."""
    found: npt.NDArray[Any]
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.dtype == right.dtype != np.float64:
        found = left == right
        return found
    if isinstance(type_, StringType):
        found = strings.compare(as_text(left, values), as_text(right, values), equal=True) != 0
        return found
    if isinstance(type_, FloatType):
        return compare_floats("==", as_floats(left, type_, values), as_floats(right, type_, values))
    if isinstance(left, IntegerColumn) or isinstance(right, IntegerColumn):
        found = as_integers(left, type_, values) == as_integers(right, type_, values)
        return found.astype(np.bool_)
    if is_sequence_type(type_):
        found = as_words(left, type_, values) == as_words(right, type_, values)
        return found
    pool = values.pool(type_)
    if not isinstance(pool, RowPool):
        raise NeedsPythonError
    mine, yours = as_struct(left, type_, values), as_struct(right, type_, values)
    found = mine.tags == yours.tags
    for number, constructor in enumerate(pool.constructors):
        rows = np.flatnonzero(found & (mine.tags == number))
        own, other = mine.fields[number], yours.fields[number]
        if own is None or other is None or not len(rows):
            continue
        for i, field in enumerate(constructor.fields):
            found[rows] &= equal_columns(take(own[i], rows), take(other[i], rows), field, values)
    return found
