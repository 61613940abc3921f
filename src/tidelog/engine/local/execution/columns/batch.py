"""The rows that a library function is evaluated on at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.columns.column import Column
from tidelog.types import Type


@dataclass(frozen=True, slots=True)
class Batch:
    """The number of rows, the pools, and the types of the function's type variables: as the call has them (`given`),
    and without `Ref` and `Intern`. `pace` is called before each call of Python, which may be slow."""

    count: int
    values: Values
    types: tuple[Type, ...]
    given: tuple[Type, ...]
    pace: Callable[[], None]


ColumnFunction = Callable[[Batch, list[Column]], Column]
"""A library function on columns. One with `mut` parameters returns its result, and then the new value of each."""
