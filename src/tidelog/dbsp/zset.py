"""Z-sets: rows with integer weights, the values that flow through a circuit (definition 4.1 of the paper).

A set is a Z-set whose weights are all 1; a change of a set has weights 1 and -1. Unlike sets they form a group: every
Z-set has a negative, and a sum with it that is empty. That is why a change can be pushed through a query by itself.

    >>> edges = ZSet({("a", "b"): 1, ("b", "c"): 1})
    >>> edges + ZSet({("a", "b"): -1, ("c", "d"): 2})
    ZSet({('b', 'c'): 1, ('c', 'd'): 2})

Rows are tuples of hashable values; underneath, a column is an array of words and a row is found by its mark (`marks`).
A row is there once, and never with weight 0. The empty Z-set has no width: it can be added to any other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tidelog.dbsp.row_hashes import Hashes, Words, consolidate, hash_rows, marks_of, run_of, spread
from tidelog.dbsp.symbols import rows_to_words, words_to_rows

Row = tuple[Hashable, ...]


class ZSet:
    """Rows with weights. It never changes; equal Z-sets compare equal.

    >>> ZSet({("a",): 2, ("b",): 0})
    ZSet({('a',): 2})
    """

    __slots__ = ("weights", "words")
    words: Words
    weights: Words

    def __init__(self, weights: Mapping[Row, int] | None = None) -> None:
        rows = list(weights or ())
        self._set(rows_to_words(rows), np.array([(weights or {})[row] for row in rows], dtype=np.int64))

    @classmethod
    def of(cls, *rows: Row) -> ZSet:
        """Returns the set of these rows; one that is given twice has weight 2.

        >>> ZSet.of(("a", "b"), ("b", "c"))
        ZSet({('a', 'b'): 1, ('b', 'c'): 1})
        """
        return cls.from_words(rows_to_words(rows), np.ones(len(rows), dtype=np.int64))

    @classmethod
    def from_words(cls, words: Words, weights: Words) -> ZSet:
        """Returns the Z-set of lines of words, in any order, however often; the weights of equal ones are added."""
        made = cls.__new__(cls)
        made._set(words, weights)
        return made

    def _set(self, words: Words, weights: Words) -> None:
        _, self.words, self.weights = consolidate(hash_rows(words), words, weights)

    # The group

    def __add__(self, other: ZSet) -> ZSet:
        if not other:
            return self
        if not self:
            return other
        if self.words.shape[1] != other.words.shape[1]:
            raise ValueError(f"rows of {self.words.shape[1]} and of {other.words.shape[1]} columns cannot be added")
        return ZSet.from_words(np.concatenate([self.words, other.words]), np.concatenate([self.weights, other.weights]))

    def __neg__(self) -> ZSet:
        return self * -1

    def __sub__(self, other: ZSet) -> ZSet:
        return self + -other

    def __mul__(self, factor: int) -> ZSet:
        return ZSet.from_words(self.words, self.weights * factor)

    __rmul__ = __mul__

    # Looking at it

    def __len__(self) -> int:
        return len(self.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZSet):
            return NotImplemented
        return len(self) == len(other) and not (self - other)

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __iter__(self) -> Iterator[Row]:
        return iter(words_to_rows(self.words))

    def __getitem__(self, row: Row) -> int:
        """Returns the weight of a row; 0 where it is not there."""
        return dict(self.items()).get(row, 0)

    def items(self) -> Iterator[tuple[Row, int]]:
        """Yields the rows, each with its weight."""
        return zip(words_to_rows(self.words), self.weights.tolist())

    def __repr__(self) -> str:
        found = sorted(self.items(), key=repr)
        return f"ZSet({{{', '.join(f'{row!r}: {weight}' for row, weight in found)}}})"

    # Linear operators

    def where(self, holds: Callable[..., bool]) -> ZSet:
        """Returns the rows for which a function of their columns is true.

        >>> ZSet.of((1, 2), (3, 2)).where(lambda x, y: x < y)
        ZSet({(1, 2): 1})
        """
        kept = np.array([holds(*row) for row in self], dtype=np.bool_)
        return ZSet.from_words(self.words[kept], self.weights[kept]) if len(self) else self

    def map(self, function: Callable[..., Row]) -> ZSet:
        """Returns the rows that a function makes of their columns, with their weights; equal ones are added up.

        >>> ZSet.of((1, 2), (3, 2)).map(lambda x, y: (y,))
        ZSet({(2,): 2})
        """
        return self.flat_map(lambda *row: (function(*row),))

    def flat_map(self, function: Callable[..., Iterable[Row]]) -> ZSet:
        """Returns all rows that a function makes of the columns of each.

        >>> ZSet({(2,): 5}).flat_map(lambda n: [(i,) for i in range(n)])
        ZSet({(0,): 5, (1,): 5})
        """
        made = [(found, weight) for row, weight in self.items() for found in function(*row)]
        rows = rows_to_words([row for row, _ in made])
        return ZSet.from_words(rows, np.array([weight for _, weight in made], dtype=np.int64))

    def project(self, *columns: int) -> ZSet:
        """Returns the rows with some of their columns, in this order.

        >>> ZSet.of(("a", "b"), ("a", "c")).project(0)
        ZSet({('a',): 2})
        """
        return ZSet.from_words(self.words[:, list(columns)], self.weights) if len(self) else self

    # Bilinear operators

    def join(self, other: ZSet, *on: tuple[int, int]) -> ZSet:
        """Pairs of rows, one behind the other, that agree in some columns (left, right); the weights are multiplied.

        >>> ZSet.of(("a", "b")).join(ZSet.of(("b", "c"), ("x", "y")), (1, 0))
        ZSet({('a', 'b', 'b', 'c'): 1})
        """
        if not self or not other:
            return ZSet()
        left, right = ([pair[side] for pair in on] for side in (0, 1))
        keys = hash_rows(other.words[:, right])
        order = np.argsort(marks := marks_of(keys, other.words), kind="stable")
        probe, place = spread(*run_of(marks[order], hash_rows(self.words[:, left])))
        place = order[place]
        return paired(self.words[probe], self.weights[probe], other.words[place], other.weights[place], on)

    # What is not linear

    def distinct(self) -> ZSet:
        """Returns the set of the rows with positive weights (the paper's *toset*).

        >>> ZSet({("a",): 3, ("b",): -1}).distinct()
        ZSet({('a',): 1})
        """
        kept = self.weights > 0
        return ZSet.from_words(self.words[kept], np.ones(int(kept.sum()), dtype=np.int64))

    def signs(self) -> ZSet:
        """Returns every weight as 1 or -1 (the paper's *todiff*).

        >>> ZSet({("a",): 3, ("b",): -2}).signs()
        ZSet({('a',): 1, ('b',): -1})
        """
        return ZSet.from_words(self.words, np.sign(self.weights))

    def is_set(self) -> bool:
        """True if all weights are 1."""
        return bool((self.weights == 1).all())


def paired(left: Words, left_weights: Words, right: Words, right_weights: Words, on: Iterable[tuple[int, int]]) -> ZSet:
    """Rows of words side by side, where they really agree."""
    agree = np.ones(len(left), dtype=np.bool_)
    for ours, theirs in on:
        agree &= left[:, ours] == right[:, theirs]
    rows = np.concatenate([left, right], axis=1)
    return ZSet.from_words(rows[agree], (left_weights * right_weights)[agree])


def key_hashes(zset: ZSet, columns: Iterable[int]) -> Hashes:
    """Returns the hashes of some columns."""
    chosen: Any = list(columns)
    return hash_rows(zset.words[:, chosen])
