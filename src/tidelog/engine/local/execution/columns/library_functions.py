"""Extern functions on columns: those of the standard library that kernels know, and Python functions for all others.

A Python function is called once for each distinct tuple of arguments of a batch. Where a call fails, Python evaluates
the whole batch, so that errors have one source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tidelog.engine.local.execution.columns.batch import Batch, ColumnFunction
from tidelog.engine.local.execution.columns.column import Column, NeedsPythonError, as_column, as_words
from tidelog.engine.local.execution.columns.hashes import HASH_FUNCTIONS, can_hash
from tidelog.engine.local.execution.columns.order import has_order
from tidelog.engine.local.execution.columns.sequence_functions import ORDERED, SEQUENCE_FUNCTIONS
from tidelog.engine.local.execution.columns.string_functions import STRING_FUNCTIONS
from tidelog.engine.local.execution.columns.time_functions import TIME_FUNCTIONS
from tidelog.engine.local.execution.columns.words import CHECKED_OPERATORS, checked_arithmetic, wrapped
from tidelog.library._runtime.registry import library_externs
from tidelog.types import Type, is_word
from tidelog.values.default import default_value
from tidelog.values.definitions import Definitions

_MODULE, _CHECKED = "ddlog_std::", "checked::"
TO_STRING = "ddlog_std::__builtin_2string"


def is_of_library(name: str, python: Callable[..., Any] | None) -> bool:
    """True if this is the library's own Python function of an extern function: a program may give another one."""
    return name.startswith((_MODULE, _CHECKED)) and library_externs().get(name) is python


def column_function(
    name: str,
    python: Callable[..., Any] | None,
    bare: Sequence[Type],
    given: Sequence[Type],
    definitions: Definitions,
) -> ColumnFunction | None:
    """Returns the function of columns that does the same as an extern function; None where there is none for the types
    of its variables."""
    if not is_of_library(name, python):
        return None
    if name.startswith(_CHECKED):
        operator = CHECKED_OPERATORS.get(name.removeprefix(_CHECKED))
        return None if operator is None or not is_word(bare[0]) else partial(_checked, operator)
    local = name.removeprefix(_MODULE)
    if local == "default":
        return lambda batch, arguments: _default(batch)
    if local == "wrapping_pow32":
        return _power if is_word(bare[0]) else None
    if local in HASH_FUNCTIONS:
        return HASH_FUNCTIONS[local] if can_hash(given[0], definitions) else None
    if local in ORDERED and not has_order(bare[0], definitions):
        return None
    return STRING_FUNCTIONS.get(name) or TIME_FUNCTIONS.get(name) or SEQUENCE_FUNCTIONS.get(local)


def _checked(operator: str, batch: Batch, arguments: list[Column]) -> Column:
    return checked_arithmetic(operator, arguments[0], arguments[1], batch.types[0])


def _power(batch: Batch, arguments: list[Column]) -> Column:
    (type_,), (base, exponent) = batch.types, arguments
    found, square, rest = np.ones(batch.count, dtype=np.int64), base, exponent
    while rest.any():
        found = np.where(rest & 1, found * square, found)
        square, rest = square * square, rest >> 1
    return wrapped(found, type_)


def _default(batch: Batch) -> Column:
    (type_,) = batch.types
    try:
        value = default_value(type_, batch.values.definitions)
    except RecursionError:
        raise NeedsPythonError from None
    return as_column(np.repeat(batch.values.encode([value], type_), batch.count), type_)


def python_function(call: Callable[..., Any], types: Sequence[Type], results: Sequence[Type]) -> ColumnFunction:
    """Returns a Python function on columns: of arguments of some types, with one result, or several (of `mut`
    parameters)."""

    def run(batch: Batch, arguments: list[Column]) -> Column:
        values = batch.values
        words = [as_words(column, type_, values) for column, type_ in zip(arguments, types)]
        codes, distinct = np.zeros(batch.count, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
        if words:
            distinct, codes = np.unique(np.stack(words, axis=1), axis=0, return_inverse=True)
        decoded = [values.decode(distinct[:, i].copy(), type_) for i, type_ in enumerate(types)]
        found = []
        for each in zip(*decoded) if decoded else [()]:
            batch.pace()
            try:
                found.append(call(*each))
            except Exception as error:
                raise NeedsPythonError from error
        made = [found] if len(results) == 1 else list(zip(*found))
        columns = [
            as_column(values.encode(list(own), type_)[codes.reshape(-1)], type_) for own, type_ in zip(made, results)
        ]
        return columns[0] if len(columns) == 1 else tuple(columns)

    return run
