"""Draft types: what is known of an expression's type while its rule is still being read.

A draft is a type, or an integer type that is not settled yet (a literal without a width takes it from its context), or
BROKEN: something is wrong there, has been reported, and agrees with everything, so that one mistake is one error.
"""

from __future__ import annotations

from enum import Enum, auto

from tidelog.check.types import S64, S128, U64, U128, IntegerType, Type, integer_range


class Open:
    """An integer type to be found. `low` and `high` bound the literals that will have it."""

    __slots__ = ("high", "low", "settled")

    def __init__(self, value: int) -> None:
        self.low = self.high = value
        self.settled: Draft | None = None


class _Broken(Enum):
    BROKEN = auto()


BROKEN = _Broken.BROKEN

Draft = Type | Open | _Broken


def current(draft: Draft) -> Draft:
    """What is known by now: never an Open that is settled."""
    while isinstance(draft, Open) and draft.settled is not None:
        draft = draft.settled
    return draft


def is_integer(draft: Draft) -> bool:
    """True for integers, and for what is broken."""
    return isinstance(current(draft), Open | IntegerType) or current(draft) is BROKEN


def unify(left: Draft, right: Draft) -> bool:
    """Makes the two one type; False when they cannot be."""
    left, right = current(left), current(right)
    if left is right or left is BROKEN or right is BROKEN:
        return True
    if isinstance(left, Open):
        if isinstance(right, Open):
            right.low, right.high = min(left.low, right.low), max(left.high, right.high)
        elif not isinstance(right, IntegerType):
            return False
        left.settled = right
        return True
    if isinstance(right, Open):
        return unify(right, left)
    return left == right


def settle(draft: Draft, family: tuple[IntegerType, ...] | None = None) -> Type | None:
    """The type; an open one is now fixed to the first of `family` that holds its literals, by default `u64`, `u128`,
    or with a negative literal `s64`, `s128`. None when the draft is broken or none of them is wide enough."""
    draft = current(draft)
    if isinstance(draft, Open):
        choices = family or ((S64, S128) if draft.low < 0 else (U64, U128))
        draft.settled = next((type_ for type_ in choices if holds(type_, draft.low, draft.high)), BROKEN)
        draft = draft.settled
    return None if isinstance(draft, _Broken) else draft


def holds(type_: IntegerType, low: int, high: int) -> bool:
    smallest, largest = integer_range(type_)
    return smallest <= low and high <= largest


def describe(draft: Draft) -> str:
    """The draft in words, for a message."""
    draft = current(draft)
    return "an integer" if isinstance(draft, Open | _Broken) else f"`{draft}`"
