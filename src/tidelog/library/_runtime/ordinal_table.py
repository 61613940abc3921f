"""A transformer that numbers values: each has a number of its own, which it keeps as long as it is there.

New values take the numbers behind the largest one in use: first those of the program's text, in its order, then the
others by value. So numbers depend on the last commit and on nothing else. The local engine keeps the table up to date
itself (`engine/local/strata/ordinals.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class OrdinalTable:
    """A `ContinuedTransformer`. `make` makes a row of a value and its number, `first` are the values of the text."""

    make: Callable[[Any, Any], Any]
    first: Sequence[Any] = ()
    _places: dict[Any, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {value: place for place, value in enumerate(self.first)})

    def __call__(self, asked: Iterable[Any]) -> tuple[list[Any]]:
        return self.continued([()], [asked])

    def continued(
        self, before: Sequence[Iterable[tuple[Any, ...]]], given: Sequence[Iterable[Any]]
    ) -> tuple[list[Any]]:
        """Returns the rows of the table, from those of the last commit."""
        values = {value for (value,) in given[0]}
        numbers = dict(before[0])
        new = self.in_order(values - numbers.keys())
        largest = max(numbers.values(), default=-1)
        rows = [self.make(value, number) for value, number in numbers.items() if value in values]
        return (rows + [self.make(value, largest + 1 + place) for place, value in enumerate(new)],)

    def in_order(self, values: Iterable[Any]) -> list[Any]:
        """Returns new values in the order in which they take numbers."""
        return sorted(values, key=self.order)

    def order(self, value: Any) -> tuple[int, Any]:
        return self._places.get(value, len(self._places)), value
