"""Random Z-sets and streams of them, small enough that rows meet."""

from __future__ import annotations

from hypothesis import strategies as st

from tidelog.dbsp import NESTED, ZSETS, Stream, ZSet
from tidelog.dbsp.operators import Nested

MOMENTS = 4
ROUNDS = 3
VALUES = st.sampled_from(["a", "b", "c", 1])


def zsets(columns: int = 2) -> st.SearchStrategy[ZSet]:
    rows = st.tuples(*[VALUES] * columns)
    return st.dictionaries(rows, st.integers(-2, 3), max_size=6).map(ZSet)


def streams(columns: int = 2) -> st.SearchStrategy[Stream[ZSet]]:
    return st.lists(zsets(columns), max_size=MOMENTS).map(lambda values: Stream.of(values, ZSETS))


def nested(columns: int = 2) -> st.SearchStrategy[Nested]:
    inner = st.lists(zsets(columns), max_size=ROUNDS).map(lambda values: Stream.of(values, ZSETS))
    return st.lists(inner, max_size=ROUNDS).map(lambda values: Stream.of(values, NESTED))


def seen(stream: Stream[ZSet]) -> list[ZSet]:
    """As much of a stream as there is, and some more."""
    return stream.first(MOMENTS + 2)


def seen_nested(stream: Nested) -> list[list[ZSet]]:
    return [each.first(ROUNDS + 2) for each in stream.first(ROUNDS + 2)]
