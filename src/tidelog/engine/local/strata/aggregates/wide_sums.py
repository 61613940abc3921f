"""Exact sums of integers of up to 64 bits: the halves of the words are added apart, and joined with the total before.

A relation has less than 2**31 rows, so the sum of so many halves of 32 bits fits into a word: `high * 2**32 + low` is a
number of 96 bits that no change can overflow. The total before is in the range of its type, because an epoch that would
leave that range fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.types import BitType, SignedType, Type, integer_range

_BITS = 32
_HALF = (1 << _BITS) - 1
_WHOLE = -1  # the mask of all bits


@dataclass(frozen=True, slots=True)
class Half:
    """A part of a word that is added: the word is shifted to the right, then masked."""

    shift: int
    mask: int


def halves_of(type_: Type) -> tuple[Half, ...]:
    """Returns what of the words of a type is added apart: numbers of up to 32 bits are added as they are."""
    assert isinstance(type_, BitType | SignedType)
    if type_.width <= _BITS:
        return (Half(0, _WHOLE),)
    return Half(0, _HALF), Half(_BITS, _HALF if isinstance(type_, BitType) else _WHOLE)


def add_halves(old: Words | None, sums: Words, type_: Type) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Returns totals of a type as words, and which of them do not fit into it: the old ones, if there are any, with the
    sums of the halves added, a column each."""
    assert isinstance(type_, BitType | SignedType)
    low, high = sums[:, 0] & _HALF, sums[:, 0] >> _BITS
    if sums.shape[1] > 1:
        high = high + sums[:, 1]
    if old is not None:
        low = low + (old & _HALF)
        high = high + ((old >> _BITS) & (_HALF if type_ == BitType(64) else _WHOLE)) + (low >> _BITS)
        low = low & _HALF
    words = (high << _BITS) | low
    least, most = integer_range(type_)
    fits = (high >= least >> _BITS) & (high <= most >> _BITS)
    if type_.width < 64:
        fits &= (words >= least) & (words <= most)
    return words, ~fits
