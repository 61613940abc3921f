"""The variables of a batch of rows while expressions are evaluated on its columns, and the rows that have left.

A branch, or a round of a loop, is evaluated in a frame of the rows that take it. What it assigns is written back to the
frame around it. A row that returns, or leaves its round or loop, is marked; the rest of a block is evaluated on the
other rows. In between, a row that has left has values that mean nothing, but are values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.columns.column import Column, FewRowsError, Places, merge, take
from tidelog.types import Type

Key = str | int
CONTINUE, BREAK, RETURN = 1, 2, 3
RESULT: Key = "return"
"""The variable of a function's result."""

FEWEST_ROWS_A_STEP = 8
"""Rounds of loops and calls of recursive functions that have fewer rows, on average, are slower than Python."""
_STEPS_BEFORE = 64


class AllLeftError(Exception):
    """Ends the evaluation of an expression that no row of the frame completes."""


class Work:
    """The rounds of loops and calls of recursive functions in one batch, and their rows.

    `pace` is called before each of them, and before each call of Python.
    """

    __slots__ = ("_rows", "_steps", "pace")

    def __init__(self, pace: Callable[[], None] = lambda: None) -> None:
        self._steps = self._rows = 0
        self.pace = pace

    def add(self, rows: int) -> None:
        """Counts a step. Raises FewRowsError when many steps had few rows."""
        self.pace()
        self._steps += 1
        self._rows += rows
        if self._steps > _STEPS_BEFORE and self._rows < self._steps * FEWEST_ROWS_A_STEP:
            raise FewRowsError


class Frame:
    """The variables of some rows. A frame of fewer rows takes the columns of its parent when they are first read."""

    __slots__ = ("_assigned", "_columns", "_own", "_parent", "_places", "count", "left", "values", "work")

    def __init__(
        self,
        count: int,
        values: Values,
        columns: Mapping[Key, Column],
        parent: Frame | None = None,
        places: Places | None = None,
        work: Work | None = None,
    ) -> None:
        self.count = count
        self.values = values
        self.left: npt.NDArray[np.int8] | None = None  # 0, CONTINUE, BREAK or RETURN, for each row; None: none has left
        self.work = work or Work()
        self._columns: dict[Key, Column] = dict(columns)
        self._own: set[Key] = set()
        self._assigned: dict[Key, Type] = {}
        self._parent = parent
        self._places = places

    def get(self, key: Key) -> Column:
        """Returns the column of a variable."""
        found = self._find(key)
        assert found is not None
        return found

    def _find(self, key: Key) -> Column | None:
        found = self._columns.get(key)
        if found is None and self._parent is not None:
            above = self._parent._find(key)
            if above is not None:
                found = self._columns[key] = take(above, self._places)  # type: ignore[arg-type]
        return found

    def bind(self, key: Key, column: Column) -> None:
        """Declares a variable."""
        self._columns[key] = column
        if self._parent is not None:
            self._own.add(key)

    def assign(self, key: Key, column: Column, type_: Type) -> None:
        """Sets a variable, also in the frames around this one."""
        self._columns[key] = column
        if self._parent is not None and key not in self._own:
            self._assigned[key] = type_

    def some(self, places: Places) -> Frame:
        """Returns the frame of the rows at some places."""
        inner = Frame(len(places), self.values, {}, self, places, self.work)
        if self.left is not None:
            inner.left = self.left[places]
        return inner

    def inside(self, places: Places, code: Callable[[Frame], Column]) -> Column | None:
        """Returns the value of an expression in the rows at some places; None if all of them leave."""
        inner = self.some(places)
        try:
            value = code(inner)
        except AllLeftError:
            value = None
        self.absorb(inner, places)
        return value

    def absorb(self, inner: Frame, places: Places) -> None:
        """Takes over what a frame of some rows has assigned, and which of its rows have left."""
        for key, type_ in inner._assigned.items():
            self.assign_at(key, places, inner._columns[key], type_)
        if inner.left is not None:
            self.mark(places, inner.left)

    def assign_at(self, key: Key, places: Places, column: Column, type_: Type) -> None:
        """Sets a variable in the rows at some places."""
        parts = [(places, column)]
        if len(places) < self.count and (before := self._find(key)) is not None:
            is_rest = np.ones(self.count, dtype=np.bool_)
            is_rest[places] = False
            rest = np.flatnonzero(is_rest)
            parts.append((rest, take(before, rest)))
        self.assign(key, merge(self.count, parts, type_, self.values), type_)

    def mark(self, places: Places, how: npt.NDArray[np.int8] | int) -> None:
        """Notes how rows at some places have left, or that they have not (0)."""
        if self.left is None:
            self.left = np.zeros(self.count, dtype=np.int8)
        self.left[places] = how

    @property
    def has_left(self) -> bool:
        """True if a row has left."""
        return self.left is not None and bool(self.left.any())

    def staying(self) -> Places:
        """Returns the rows that have not left."""
        return np.arange(self.count) if self.left is None else np.flatnonzero(self.left == 0)

    def go_on(self, code: Callable[[Frame], Column], type_: Type) -> Column:
        """Returns the value of an expression in the rows that have not left. Raises AllLeftError if there are none, in
        the end."""
        places = self.staying()
        value = self.inside(places, code) if len(places) else None
        if value is None:
            raise AllLeftError
        return merge(self.count, [(places, value)], type_, self.values)

    def chosen(self, parts: list[tuple[Places, Column | None]], type_: Type) -> Column:
        """Returns the values of branches in the rows that took them; None for a branch that all of its rows left."""
        kept = [(places, column) for places, column in parts if column is not None]
        if not kept:
            raise AllLeftError
        return merge(self.count, kept, type_, self.values)
