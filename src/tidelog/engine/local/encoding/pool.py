"""Interned values of one type: value ↔ id. Equal values have equal ids.

`Pool` is what the rest of the engine sees. `ObjectPool` holds Python objects, for types whose values kernels do not
know. Outside Python are text (`encoding.string_pool`), numbers (`number_pools`), structs (`row_pool`) and collections
(`sequence_pool`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from threading import RLock
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Value = Any  # the Python form of a value of the language (`tidelog.values`)
Marks = npt.NDArray[np.bool_]

SMALLEST_SWEEP = 1024
_GIVEN_BACK: Final = object()


class Pool(Protocol):
    """The interned values of one type.

    An id belongs to its value until a sweep frees it. `limit` is the number of values at which a sweep is considered.
    """

    limit: int

    def __len__(self) -> int:
        """Returns the number of values."""
        ...

    @property
    def id_end(self) -> int:
        """The number that all ids are below, free ones included."""
        ...

    def intern(self, value: Value) -> int:
        """Returns the id of the value, a new one if needed."""
        ...

    def intern_all(self, values: Sequence[Value], *, distinct: bool = False) -> Words:
        """Returns the ids of the values; `distinct` promises that no two of them are equal."""
        ...

    def find(self, value: Value) -> int | None:
        """Returns the id of the value, or None if it is not interned."""
        ...

    def value(self, number: int) -> Value:
        """Returns the value of an id."""
        ...

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        """Returns the values of many ids."""
        ...

    def constant(self, value: Value) -> int:
        """Returns the id of a value that is never freed."""
        ...

    def marks(self) -> Marks:
        """Returns, for each id, whether it is in use; at the start of a sweep only constants are."""
        ...

    def prepare_sweep(self, marked: Marks) -> Callable[[], None]:
        """Returns the function that frees all ids that are not marked. The lowest are used again first, so that the
        last can be cut off. Nothing may be interned before it is called; until then readers notice nothing.
        """
        ...

    def copy_values(self) -> Any:
        """Returns the values by their ids, nothing (None) for a free id, for `fill` and for checkpoints."""
        ...

    def fill(self, values: Any) -> None:
        """Fills an empty pool from the result of `copy_values`, or from a list like it."""
        ...


class ObjectPool:
    """The interned values of a type as Python objects; an id is an index into a list."""

    __slots__ = ("_constants", "_free", "_ids", "_lock", "_values", "limit")

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._ids: dict[Value, int] = {}
        self.limit = SMALLEST_SWEEP
        self._free = array("q")
        self._constants: set[int] = set()
        self._lock = RLock()  # readers in other threads intern values, too

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def id_end(self) -> int:
        return len(self._values)

    def intern(self, value: Value) -> int:
        known = self._ids.get(value)
        return self._added(value) if known is None else known

    def _added(self, value: Value) -> int:
        with self._lock:
            known = self._ids.get(value)
            if known is None:
                if self._free:
                    known = self._free.pop()
                    self._values[known] = value
                else:
                    known = len(self._values)
                    self._values.append(value)
                self._ids[value] = known
            return known

    def intern_all(self, values: Sequence[Value], *, distinct: bool = False) -> Words:
        """Many new values cost a few passes at C speed, not a call each."""
        with self._lock:
            return self._all_added(values, distinct=distinct)

    def _all_added(self, values: Sequence[Value], *, distinct: bool) -> Words:
        words = np.fromiter(map(self._ids.get, values, repeat(-1)), np.int64, len(values))
        missing = np.flatnonzero(words < 0)
        if not len(missing):
            return words
        fresh = [values[place] for place in missing.tolist()]
        if self._free or not (distinct or len(set(fresh)) == len(fresh)):
            words[missing] = [self.intern(value) for value in fresh]
            return words
        start = len(self._values)
        self._values.extend(fresh)
        self._ids.update(zip(fresh, range(start, start + len(fresh)), strict=True))
        words[missing] = np.arange(start, start + len(fresh))
        return words

    def find(self, value: Value) -> int | None:
        return self._ids.get(value)

    def value(self, number: int) -> Value:
        return self._values[number]

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        values = self._values
        return [values[i] for i in ids.tolist()]

    def copy_values(self) -> list[Value]:
        if not self._free:
            return self._values.copy()
        return [None if value is _GIVEN_BACK else value for value in self._values]

    def fill(self, values: list[Value]) -> None:
        self._values = [_GIVEN_BACK if value is None else value for value in values]
        self._ids = {value: number for number, value in enumerate(values) if value is not None}
        self.limit = max(SMALLEST_SWEEP, 2 * len(self._ids))
        if len(self._ids) < len(values):
            self._free = array("q", [number for number, value in enumerate(values) if value is None][::-1])

    def constant(self, value: Value) -> int:
        known = self.intern(value)
        self._constants.add(known)
        return known

    def marks(self) -> Marks:
        marked = np.zeros(len(self._values), dtype=np.bool_)
        marked[list(self._constants)] = True
        return marked

    def prepare_sweep(self, marked: Marks) -> Callable[[], None]:
        return partial(self._sweep, marked)

    def _sweep(self, marked: Marks) -> None:
        values, ids = self._values, self._ids
        unused = np.flatnonzero(~marked)
        for number in unused.tolist():
            value = values[number]
            if value is not _GIVEN_BACK:
                del ids[value]
                values[number] = _GIVEN_BACK
        used = np.flatnonzero(marked)
        end = int(used[-1]) + 1 if len(used) else 0
        del values[end:]
        self._free = array("q", unused[unused < end][::-1].tolist())
