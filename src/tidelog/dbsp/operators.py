"""Operators on streams of changes that cost the change, not the whole: the incremental forms of `distinct` and `join`.

`incremental` would make them from the plain ones; these give the same streams (the tests hold them to it) from what the
algebra makes of D ∘ ↑f ∘ I. A join is bilinear, so that

    (a ⋈ b)^Δ  =  a ⋈ z⁻¹ I b  +  z⁻¹ I a ⋈ b  +  a ⋈ b

where the integrals are traces. In streams of streams both times have to be taken care of, which gives four terms.
`distinct` is not linear, but the presence of a row depends on its own weight alone, before and after.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidelog.dbsp.stream import NESTED, ZSETS, Stream, delay, differentiate, integrate, lift
from tidelog.dbsp.trace import Trace
from tidelog.dbsp.zset import ZSet, key_hashes, paired

Join = Callable[[ZSet, ZSet], ZSet]
Nested = Stream[Stream[ZSet]]


def join_changes(left: Stream[ZSet], right: Stream[ZSet], *on: tuple[int, int]) -> Stream[ZSet]:
    """Returns the changes of a join, from the changes of its two sides.

    >>> edges = Stream.of([ZSet.of(("a", "b")), ZSet.of(("b", "c"))], ZSETS)
    >>> join_changes(edges, edges, (1, 0)).first(2)
    [ZSet({}), ZSet({('a', 'b', 'b', 'c'): 1})]
    """
    ours, theirs = (tuple(pair[side] for pair in on) for side in (0, 1))
    before_left, before_right = _Traces(left, ours), _Traces(right, theirs)

    def at(t: int) -> ZSet:
        a, b = left[t], right[t]
        on_left = _probe(a, ours, before_right[t], on, is_left=True)
        on_right = _probe(b, theirs, before_left[t], on, is_left=False)
        return on_left + on_right + a.join(b, *on)

    return Stream(at, ZSETS)


def distinct_changes(stream: Stream[ZSet]) -> Stream[ZSet]:
    """Returns the changes of the set that a stream of changes adds up to.

    >>> distinct_changes(Stream.of([ZSet({("a",): 2}), ZSet({("a",): -1}), ZSet({("a",): -1})], ZSETS)).first(3)
    [ZSet({('a',): 1}), ZSet({}), ZSet({('a',): -1})]
    """
    before = _Traces(stream, None)

    def at(t: int) -> ZSet:
        change = stream[t]
        if not change:
            return change
        found = before[t].find(key_hashes(change, range(change.words.shape[1])))
        old = np.zeros(len(change), dtype=np.int64)
        if len(found.probe):
            same = (found.rows == change.words[found.probe]).all(axis=1)
            old[found.probe[same]] = found.weights[same]
        new = old + change.weights
        return ZSet.from_words(change.words, (new > 0).astype(np.int64) - (old > 0))

    return Stream(at, ZSETS)


def nested_join_changes(join: Join) -> Callable[[Nested, Nested], Nested]:
    """(↑(↑⋈)^Δ)^Δ: the changes, from epoch to epoch and from round to round, of a bilinear function of Z-sets.

    Every pair of changes meets once: in the later of their epochs and in the later of their rounds.
    """
    apply = lift(lift(join, ZSETS), NESTED)
    rounds, late = lift(integrate, NESTED), lift(delay, NESTED)

    def operator(left: Nested, right: Nested) -> Nested:
        epochs = integrate(right)
        earlier = delay(integrate(left))
        return (
            apply(left, rounds(epochs))
            + apply(late(rounds(left)), epochs)
            + apply(earlier, rounds(right))
            + apply(late(rounds(earlier)), right)
        )

    return operator


def nested_distinct_changes(stream: Nested) -> Nested:
    """(↑(↑distinct)^Δ)^Δ, as it is defined."""
    sums = lift(integrate, NESTED)(integrate(stream))
    return differentiate(lift(differentiate, NESTED)(lift(lift(ZSet.distinct, ZSETS), NESTED)(sums)))


class _Traces:
    """What a stream has added up to before each moment, arranged by some columns, or (`key` is None) by all."""

    def __init__(self, stream: Stream[ZSet], key: tuple[int, ...] | None) -> None:
        self._stream = stream
        self._key = key
        self._known = [Trace.empty(0)]

    def __getitem__(self, moment: int) -> Trace:
        while len(self._known) <= moment:
            self._known.append(self._added(self._known[-1], self._stream[len(self._known) - 1]))
        return self._known[moment]

    def _added(self, before: Trace, change: ZSet) -> Trace:
        if not change:
            return before
        width = change.words.shape[1]
        hashes = key_hashes(change, range(width) if self._key is None else self._key)
        return (before if before.batches else Trace.empty(width)).add(hashes, change.words, change.weights)


def _probe(change: ZSet, key: tuple[int, ...], trace: Trace, on: tuple[tuple[int, int], ...], *, is_left: bool) -> ZSet:
    """Returns the pairs of a change with what is in a trace."""
    if not change or not trace.batches:
        return ZSet()
    found = trace.find(key_hashes(change, key))
    rows, weights = change.words[found.probe], change.weights[found.probe]
    if is_left:
        return paired(rows, weights, found.rows, found.weights, on)
    return paired(found.rows, found.weights, rows, weights, on)
