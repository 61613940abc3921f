"""Python expressions of rules on the local engine: rows of words → the rows that go on, with the results as words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.engine.call_distinct import Call, Results, call_distinct
from tidelog.engine.local.encoding.row_pool import RowPool
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.column_step import ColumnStep
from tidelog.engine.local.execution.columns import Column, Frame, Key, as_column
from tidelog.types import Type, is_word

FEWEST_ROWS = 16
"""The number of rows from which kernels are faster than calls of Python."""
MOST_RESULTS = 1 << 16
"""The number of alternatives after which their rows are yielded."""


@dataclass(frozen=True, slots=True)
class PythonStep:
    """A Python expression: `call` returns the alternatives of a row, given the values of `arguments`.

    An alternative has a value for each of `results`: its type, and the column that it must equal, or None for a new
    column at the end. A condition has no results, and one alternative or none.

    `names` are the variables that the arguments belong to. `native` does the same by kernels, if it is possible.
    """

    call: Call
    arguments: tuple[tuple[int, Type], ...]  # column of the buffer, type
    results: tuple[tuple[Type, int | None], ...]
    names: tuple[str, ...] = ()
    native: ColumnStep | None = None


def evaluate(step: PythonStep, rows: Words, values: Values, pace: Callable[[], None]) -> Iterator[Words]:
    """Yields the rows that go on, with the new columns, some at a time. The last column of `rows` is the level.

    `pace` is called before each call of Python, which may be slow.
    """
    if step.native is not None and (len(rows) >= FEWEST_ROWS or (len(rows) and _has_structs(step, values))):
        found = _evaluate_columns(step, step.native, rows, values)
        if found is not None:
            pace()
            yield found
            return
    codes, arguments = np.zeros(len(rows), dtype=np.int64), iter([()])
    if step.arguments:
        places = [column for column, _ in step.arguments]
        # Words of one column are compared several times faster than rows of words.
        columns, axis = (rows[:, places[0]], None) if len(places) == 1 else (rows[:, places], 0)
        distinct, codes = np.unique(columns, axis=axis, return_inverse=True)
        distinct = distinct.reshape(-1, len(places))
        decoded = (values.decode(distinct[:, i].copy(), type_) for i, (_, type_) in enumerate(step.arguments))
        codes, arguments = codes.reshape(-1), zip(*decoded, strict=True)
    for results in call_distinct(step.call, codes, arguments, pace, MOST_RESULTS):
        yield _with_results(step, rows, results, values)


def _has_structs(step: PythonStep, values: Values) -> bool:
    """True if Python would make objects of rows: those may be nested deeply."""
    types = (type_ for type_, _ in (*step.results, *((type_, 0) for _, type_ in step.arguments)))
    return any(not is_word(type_) and isinstance(values.pool(type_), RowPool) for type_ in types)


def _evaluate_columns(step: PythonStep, native: ColumnStep, rows: Words, values: Values) -> Words | None:
    """Returns the rows that go on, evaluated by kernels; None if Python has to evaluate them."""
    columns: dict[Key, Column] = {
        name: as_column(np.ascontiguousarray(rows[:, place]), type_)
        for name, (place, type_) in zip(step.names, step.arguments, strict=True)
    }
    found = native.run(Frame(len(rows), values, columns), [type_ for type_, _ in step.results])
    if found is None:
        return None
    places, results = found
    if places is not None:
        rows = rows[places]
    is_equal: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    new = []
    for (_, compared), words in zip(step.results, results, strict=True):
        if compared is None:
            new.append(words[:, None])
        else:
            same = words == rows[:, compared]
            is_equal = same if is_equal is None else is_equal & same
    if new:
        rows = np.concatenate([rows[:, :-1], *new, rows[:, -1:]], axis=1)
    return np.ascontiguousarray(rows if is_equal is None else rows[is_equal])


def _with_results(step: PythonStep, rows: Words, results: Results, values: Values) -> Words:
    rows = rows[results.rows]
    is_equal = np.ones(len(rows), dtype=np.bool_)
    new = []
    for i, (type_, compared) in enumerate(step.results):
        words = values.encode(results.column(i), type_)[results.places]
        if compared is None:
            new.append(words[:, None])
        else:
            is_equal &= words == rows[:, compared]
    return np.ascontiguousarray(np.concatenate([rows[:, :-1], *new, rows[:, -1:]], axis=1)[is_equal])
