"""Where a rule's expression needs Python: buffers of words → the values → buffers of words.

A step is called once per distinct argument, whatever the number of lines, and its results come back as words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.types import Type

# So many ways are handed on at a time, and so many more as one call gives.
MOST_WAYS = 1 << 16


@dataclass(frozen=True, slots=True)
class PythonStep:
    """What Python does with a buffer: `call` on each line's arguments gives the ways in which the line goes on.

    A way is a tuple with a value for each of `results`: its type, and the column that it must equal, or None for a new
    column at the end. A filter has no results, and one way or none.
    """

    call: Callable[..., Sequence[tuple[Any, ...]]]
    arguments: tuple[tuple[int, Type], ...]  # column of the buffer, type
    results: tuple[tuple[Type, int | None], ...]


def evaluate(step: PythonStep, rows: Words, values: Values, pace: Callable[[], None]) -> Iterator[Words]:
    """Rows of the buffer (their last column is the level) → the rows that go on, with the new columns, some at a time.

    `pace` is called before each call of Python, which may be slow.
    """
    if not step.arguments:
        pace()
        yield _going_on(step, rows, np.zeros(len(rows), dtype=np.int64), [step.call()], values)
        return
    columns = np.stack([rows[:, column] for column, _ in step.arguments], axis=1)
    distinct, codes = np.unique(columns, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    decoded = [values.decode(distinct[:, i].copy(), type_) for i, (_, type_) in enumerate(step.arguments)]
    ways: list[Sequence[tuple[Any, ...]]] = []
    first = found = 0
    for number, arguments in enumerate(zip(*decoded, strict=True)):
        if found >= MOST_WAYS:
            some = (codes >= first) & (codes < number)
            yield _going_on(step, rows[some], codes[some] - first, ways, values)
            first, found, ways = number, 0, []
        pace()
        ways.append(step.call(*arguments))
        found += len(ways[-1])
    if first:
        rows, codes = rows[codes >= first], codes[codes >= first] - first
    yield _going_on(step, rows, codes, ways, values)


def _going_on(
    step: PythonStep, rows: Words, codes: Words, ways: Sequence[Sequence[tuple[Any, ...]]], values: Values
) -> Words:
    """The rows that go on, where the one of each code has these ways."""
    counts = np.array([len(each) for each in ways], dtype=np.int64)
    repeats = counts[codes]
    rows = np.repeat(rows, repeats, axis=0)
    # Where each row's way is in the list of all ways: its argument's first one, and its place among its repeats.
    first = np.repeat((np.cumsum(counts) - counts)[codes], repeats)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    going_on = np.ones(len(rows), dtype=np.bool_)
    new = []
    for i, (type_, compare) in enumerate(step.results):
        words = values.encode([way[i] for each in ways for way in each], type_)[first + place]
        if compare is None:
            new.append(words[:, None])
        else:
            going_on &= words == rows[:, compare]
    return np.ascontiguousarray(np.concatenate([rows[:, :-1], *new, rows[:, -1:]], axis=1)[going_on])
