"""Values ↔ words: any hashable value gets a number, for as long as the process lives.

Equal values have equal numbers; so 1, 1.0 and True are one value, as they are in Python.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tidelog.dbsp.row_hashes import Words

_values: list[Hashable] = []
_words: dict[Hashable, int] = {}


def word_of(value: Hashable) -> int:
    """Returns the number of a value, a new one if need be."""
    word = _words.get(value)
    if word is None:
        word = _words[value] = len(_values)
        _values.append(value)
    return word


def rows_to_words(rows: Sequence[tuple[Hashable, ...]]) -> Words:
    """Returns one line per row, one word per column. Raises ValueError where rows have different lengths."""
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise ValueError("the rows of a Z-set have one length")
    return np.array([word_of(value) for row in rows for value in row], dtype=np.int64).reshape(len(rows), width)


def words_to_rows(words: Words) -> list[tuple[Hashable, ...]]:
    """Returns the rows as values."""
    return [tuple(_values[word] for word in row) for row in words.tolist()]
