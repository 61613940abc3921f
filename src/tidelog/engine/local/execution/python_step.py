"""Python expressions of rules on the local engine: rows of words → the rows that go on, with the results as words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.engine.call_distinct import Call, Results, call_distinct
from tidelog.engine.local.encoding.row_pool import RowPool
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.encoding.words_pool import WordsPool
from tidelog.engine.local.execution.columns.column import Column, TooManyError, as_column
from tidelog.engine.local.execution.columns.frame import Frame, Key, Work
from tidelog.engine.local.execution.columns.step import ColumnStep
from tidelog.functions.runtime_errors import ROW_ERRORS, name_row
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
    `row` are all variables that the buffer has, each with its column: errors name their values.
    """

    call: Call
    arguments: tuple[tuple[int, Type], ...]  # column of the buffer, type
    results: tuple[tuple[Type, int | None], ...]
    names: tuple[str, ...] = ()
    native: ColumnStep | None = None
    row: tuple[tuple[str, int, Type], ...] = ()


def evaluate(step: PythonStep, rows: Words, values: Values, pace: Callable[[], None]) -> Iterator[Words]:
    """Yields the rows that go on, with the new columns, some at a time. The last column of `rows` is the level.

    `pace` is called before each call of Python, which may be slow.
    """
    if step.native is not None and (len(rows) >= FEWEST_ROWS or (len(rows) and _has_structs(step, values))):
        try:
            found = _evaluate_columns(step, step.native, rows, values, pace)
        except TooManyError as error:
            for some in np.array_split(rows, error.parts):
                yield from evaluate(step, some, values, pace)
            return
        if found is not None:
            pace()
            yield found
            return
    if len(rows) < FEWEST_ROWS:
        yield from _evaluate_few(step, rows, values, pace)
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

    def failed(error: Exception, row: int) -> None:
        name_row(error, _row_values(step, rows, row, values))

    for results in call_distinct(step.call, codes, arguments, pace, MOST_RESULTS, failed):
        yield _with_results(step, rows, results, values)


def _evaluate_few(step: PythonStep, rows: Words, values: Values, pace: Callable[[], None]) -> Iterator[Words]:
    """Yields what `evaluate` does; a dictionary finds distinct arguments, because arrays take longer for a few rows."""
    words = [rows[:, column] for column, _ in step.arguments]
    decoded = [values.decode(each.copy(), type_) for each, (_, type_) in zip(words, step.arguments, strict=True)]
    keys = list(zip(*(each.tolist() for each in words))) if words else [()] * len(rows)
    known: dict[tuple[int, ...], Sequence[tuple[Any, ...]]] = {}
    places: list[int] = []
    alternatives: list[tuple[Any, ...]] = []
    for place, key in enumerate(keys):
        if len(alternatives) >= MOST_RESULTS:
            yield _with_alternatives(step, rows[places], alternatives, values)
            places, alternatives = [], []
        found = known.get(key)
        if found is None:
            pace()
            try:
                found = known[key] = step.call(*(each[place] for each in decoded))
            except ROW_ERRORS as error:
                name_row(error, _row_values(step, rows, place, values))
                raise
        places += [place] * len(found)
        alternatives += found
    if places:
        yield _with_alternatives(step, rows[places], alternatives, values)


def _row_values(step: PythonStep, rows: Words, row: int, values: Values) -> dict[str, Any]:
    """Returns the values of all variables that a row of the buffer has."""
    return {name: values.decode(rows[row, [column]], type_)[0] for name, column, type_ in step.row}


def _has_structs(step: PythonStep, values: Values) -> bool:
    """True if Python would make objects of structs: those may be nested deeply."""
    types = (type_ for type_, _ in (*step.results, *((type_, 0) for _, type_ in step.arguments)))
    pools = (values.pool(type_) for type_ in types if not is_word(type_))
    return any(isinstance(pool, RowPool) or (isinstance(pool, WordsPool) and pool.is_recursive) for pool in pools)


def _evaluate_columns(
    step: PythonStep, native: ColumnStep, rows: Words, values: Values, pace: Callable[[], None]
) -> Words | None:
    """Returns the rows that go on, evaluated by kernels; None if Python has to evaluate them."""
    columns: dict[Key, Column] = {
        name: as_column(np.ascontiguousarray(rows[:, place]), type_)
        for name, (place, type_) in zip(step.names, step.arguments, strict=True)
    }
    found = native.run(Frame(len(rows), values, columns, work=Work(pace)), [type_ for type_, _ in step.results])
    if found is None:
        return None
    places, results = found
    if places is not None:
        rows = rows[places]
    return _with_columns(step, rows, results)


def _with_results(step: PythonStep, rows: Words, results: Results, values: Values) -> Words:
    columns = (values.encode(results.column(i), type_)[results.places] for i, (type_, _) in enumerate(step.results))
    return _with_columns(step, rows[results.rows], columns)


def _with_alternatives(step: PythonStep, rows: Words, alternatives: Sequence[tuple[Any, ...]], values: Values) -> Words:
    """Returns each row with its alternative, if that equals what it must equal."""
    columns = (values.encode([each[i] for each in alternatives], type_) for i, (type_, _) in enumerate(step.results))
    return _with_columns(step, rows, columns)


def _with_columns(step: PythonStep, rows: Words, columns: Iterable[Words]) -> Words:
    """Returns the rows with the new columns before the last one, without the rows that differ from what they equal."""
    is_equal: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    new = []
    for (_, compared), words in zip(step.results, columns, strict=True):
        if compared is None:
            new.append(words[:, None])
        else:
            same = words == rows[:, compared]
            is_equal = same if is_equal is None else is_equal & same
    if new:
        rows = np.concatenate([rows[:, :-1], *new, rows[:, -1:]], axis=1)
    return np.ascontiguousarray(rows if is_equal is None else rows[is_equal])
