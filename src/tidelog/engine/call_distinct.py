"""Python expressions over columns: one call per distinct argument tuple → the rows that go on, with the results.

    codes 0 1 0, and the calls return [a, b] and []      →      row 0 with a, row 0 with b, row 2 with a, row 2 with b

Each call returns the alternatives of its row: one tuple for each way in which the row goes on. Both engines use this;
they differ in how they number distinct arguments and in how they decode and encode values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.functions.runtime_errors import ROW_ERRORS, name_row
from tidelog.functions.scalar import ScalarFunction
from tidelog.rules.lower.unfold import Unfolding

Numbers = npt.NDArray[np.int64]
Call = Callable[..., Sequence[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Results:
    """Output row `i` is row `rows[i]` with the alternative `places[i]` of `alternatives`."""

    rows: Numbers
    places: Numbers
    alternatives: Sequence[tuple[Any, ...]]

    def column(self, number: int) -> list[Any]:
        """Returns one value of each alternative."""
        return [each[number] for each in self.alternatives]


def call_distinct(
    call: Call,
    codes: Numbers,
    arguments: Iterable[tuple[Any, ...]],
    pace: Callable[[], object],
    most: float,
    failed: Callable[[Exception, int], None],
) -> Iterator[Results]:
    """Calls `pace` and `call` once for each argument tuple; `codes` has the number of the tuple for each row.

    Yields the results when there are `most` alternatives, and at the end; one call may exceed that number. `failed` is
    told of an error that names its row, and of the first row with the arguments.
    """
    found: list[Sequence[tuple[Any, ...]]] = []
    first = count = 0
    for number, each in enumerate(arguments):
        if count >= most:
            rows = np.flatnonzero((codes >= first) & (codes < number))
            yield _expand(rows, codes[rows] - first, found)
            first, count, found = number, 0, []
        pace()
        try:
            found.append(call(*each))
        except ROW_ERRORS as error:
            failed(error, int(np.argmax(codes == number)))
            raise
        count += len(found[-1])
    rows = np.flatnonzero(codes >= first) if first else np.arange(len(codes))
    yield _expand(rows, codes[rows] - first if first else codes, found)


def call_on_lists(
    function: ScalarFunction | Unfolding,
    columns: Sequence[list[Any]],
    length: int,
    decode: Callable[[list[Any], int], list[Any]],
    row_values: Callable[[int], dict[str, Any]],
    *,
    binds: bool,
) -> Results:
    """Calls a function of a rule on columns of `length` encoded values; `decode` decodes values of a numbered column.
    An assignment (`binds`) has one alternative, a condition one or none. `row_values` returns the variables of a row,
    which an error names.
    """
    call: Call = function.call
    if not isinstance(function, Unfolding):
        value = function.call
        call = (lambda *each: [(value(*each),)]) if binds else (lambda *each: [()] if value(*each) else [])
    numbers: dict[tuple[Any, ...], int] = {}
    keys = zip(*columns, strict=True) if columns else [()] * length
    codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    decoded = [decode(list(column), i) for i, column in enumerate(zip(*numbers))]

    def failed(error: Exception, row: int) -> None:
        name_row(error, row_values(row))

    arguments = zip(*decoded) if decoded else numbers
    (results,) = call_distinct(call, codes, arguments, lambda: None, inf, failed)
    return results


def _expand(rows: Numbers, codes: Numbers, found: Sequence[Sequence[tuple[Any, ...]]]) -> Results:
    counts = np.array([len(each) for each in found], dtype=np.int64)
    repeats = counts[codes]
    # The place of a row's alternative among all: its argument's first one, and its number among the row's repeats.
    first = np.repeat((np.cumsum(counts) - counts)[codes], repeats)
    number = np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return Results(np.repeat(rows, repeats), first + number, [each for some in found for each in some])
