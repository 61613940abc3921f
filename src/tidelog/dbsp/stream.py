"""Streams: one value for each moment 0, 1, 2 …, and the operators that circuits are made of.

    >>> from tidelog.dbsp import INTEGERS, Stream, differentiate, integrate
    >>> s = Stream.of([3, 1, 4], INTEGERS)
    >>> integrate(s).first(4)
    [3, 4, 8, 8]
    >>> differentiate(integrate(s)).first(4)
    [3, 1, 4, 0]

A stream is a function of time that remembers what it has computed. Its values are of a group, and streams of a group
are a group themselves; so a stream of streams is nothing new: the outer moments are epochs, the inner ones rounds.

An operator takes streams to a stream and is causal: what it gives at a moment depends on the values until then. To lift
a function is to apply it at every moment; an operator, being a function of streams, is lifted in the same way.

Values of the past are kept, so that circuits can be written as equations; this is for reading, testing and trying out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tidelog.dbsp.zset import ZSet

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Group(Generic[A]):
    """An Abelian group: its zero, sums, negatives, and how to know the zero."""

    zero: A
    add: Callable[[A, A], A]
    negate: Callable[[A], A]
    is_zero: Callable[[A], bool]


INTEGERS: Group[int] = Group(0, lambda a, b: a + b, lambda a: -a, lambda a: a == 0)
ZSETS: Group[ZSet] = Group(ZSet(), lambda a, b: a + b, lambda a: -a, lambda a: not a)


@dataclass(frozen=True, slots=True)
class Stream(Generic[A]):
    """`at` gives the value of a moment; it may ask for earlier moments of this very stream.

    >>> Stream(lambda t: t * t, INTEGERS).first(4)
    [0, 1, 4, 9]
    """

    at: Callable[[int], A]
    group: Group[A]
    _known: list[A] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, values: Sequence[A], group: Group[A]) -> Stream[A]:
        """Returns the stream that begins with these values, and is zero after them."""
        return cls(lambda t: values[t] if t < len(values) else group.zero, group)

    def __getitem__(self, moment: int) -> A:
        # Upwards, so that a stream that is defined by its past never recurs deeply.
        while len(self._known) <= moment:
            self._known.append(self.at(len(self._known)))
        return self._known[moment]

    def first(self, count: int) -> list[A]:
        """Returns the values of the first moments."""
        return [self[t] for t in range(count)]

    def __add__(self, other: Stream[A]) -> Stream[A]:
        return lift(self.group.add, self.group)(self, other)

    def __neg__(self) -> Stream[A]:
        return lift(self.group.negate, self.group)(self)

    def __sub__(self, other: Stream[A]) -> Stream[A]:
        return self + -other


def streams_of(group: Group[A]) -> Group[Stream[A]]:
    """Returns the group of streams of a group. (Whether a stream is zero cannot be known; no operator here asks.)"""

    def unknown(stream: Stream[A]) -> bool:
        raise TypeError("whether an endless stream is zero cannot be known")

    return Group(Stream(lambda _: group.zero, group), lambda a, b: a + b, lambda a: -a, unknown)


NESTED: Group[Stream[ZSet]] = streams_of(ZSETS)
"""The group of streams of Z-sets: what the values of a nested stream are."""


def lift(function: Callable[..., B], group: Group[B]) -> Callable[..., Stream[B]]:
    """Returns the operator that applies a function at every moment (↑f); `group` is that of its results.

    >>> lift(ZSet.distinct, ZSETS)(Stream.of([ZSet({("a",): 2})], ZSETS))[0]
    ZSet({('a',): 1})
    """

    def operator(*streams: Stream[Any]) -> Stream[B]:
        return Stream(lambda t: function(*(stream[t] for stream in streams)), group)

    return operator


def delay(stream: Stream[A]) -> Stream[A]:
    """Returns the stream one moment later, after a zero (z⁻¹).

    >>> delay(Stream.of([3, 1, 4], INTEGERS)).first(4)
    [0, 3, 1, 4]
    """
    return Stream(lambda t: stream[t - 1] if t else stream.group.zero, stream.group)


def integrate(stream: Stream[A]) -> Stream[A]:
    """Returns the sums of all values so far (I)."""
    return feedback(lambda sums: delay(sums) + stream, stream.group)


def differentiate(stream: Stream[A]) -> Stream[A]:
    """Returns the stream of differences between each moment and the one before (D); the inverse of `integrate`."""
    return stream - delay(stream)


def feedback(circuit: Callable[[Stream[A]], Stream[A]], group: Group[A]) -> Stream[A]:
    """Returns the stream that a circuit gives when it is fed with that very stream, which it must delay first.

    >>> feedback(lambda s: delay(s) + Stream(lambda _: 1, INTEGERS), INTEGERS).first(4)
    [1, 2, 3, 4]
    """
    built: list[Stream[A]] = []
    stream: Stream[A] = Stream(lambda t: built[0][t], group)
    built.append(circuit(stream))
    return stream


def incremental(circuit: Callable[..., Stream[B]]) -> Callable[..., Stream[B]]:
    """Returns the circuit from changes to changes: D ∘ Q ∘ I. It is right for every Q, and as slow as Q.

    >>> squares = lift(lambda n: n * n, INTEGERS)
    >>> incremental(squares)(Stream.of([1, 2, 3], INTEGERS)).first(3)
    [1, 8, 27]
    """
    return lambda *changes: differentiate(circuit(*(integrate(each) for each in changes)))


def introduce(value: A, group: Group[A]) -> Stream[A]:
    """Returns the stream of one value, and zeros after it (δ₀)."""
    return Stream.of([value], group)


def eliminate(stream: Stream[A]) -> A:
    """Returns the sum of a stream until its first zero (∫); it never ends where there is none."""
    total = stream.group.zero
    moment = 0
    while not stream.group.is_zero(stream[moment]):
        total = stream.group.add(total, stream[moment])
        moment += 1
    return total
