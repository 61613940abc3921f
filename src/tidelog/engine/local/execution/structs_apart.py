"""Structs and tuples in columns: taken out of their pool, and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution import string_functions as strings
from tidelog.engine.local.execution.columns import Column, NeedsPythonError, StructColumn, as_text, take
from tidelog.types import Type
from tidelog.values.definitions import Definitions


def as_struct(column: Column, type_: Type, values: Values, definitions: Definitions) -> StructColumn:
    """Returns a column of structs or tuples taken apart."""
    if isinstance(column, StructColumn):
        return column
    raise NeedsPythonError


def equal_columns(left: Column, right: Column, values: Values) -> npt.NDArray[Any]:
    """Returns where the values of two columns of one type are equal."""
    found: npt.NDArray[Any]
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        found = left == right
        return found
    if isinstance(left, TextColumn) or isinstance(right, TextColumn):
        found = strings.compare(as_text(left, values), as_text(right, values), equal=True) != 0
        return found
    if not (isinstance(left, StructColumn) and isinstance(right, StructColumn)):
        raise NeedsPythonError
    found = left.tags == right.tags
    for number, (own, other) in enumerate(zip(left.fields, right.fields)):
        rows = np.flatnonzero(found & (left.tags == number))
        if own is None or other is None or not len(rows):
            continue
        for mine, yours in zip(own, other):
            found[rows] &= equal_columns(take(mine, rows), take(yours, rows), values)
    return found
