"""DBSP: incremental computation on streams, small enough to read; what the dynamic Datalog paper builds on.

    >>> from tidelog.dbsp import ZSETS, Stream, ZSet, join_changes
    >>> edges = Stream.of([ZSet.of(("a", "b")), ZSet.of(("b", "c")), ZSet({("a", "b"): -1})], ZSETS)
    >>> join_changes(edges, edges, (1, 0))[2]
    ZSet({('a', 'b', 'b', 'c'): -1})

The names below are the whole of it; `docs/dbsp.md` builds transitive closure with them.
"""

from __future__ import annotations

from tidelog.dbsp.operators import distinct_changes, join_changes, nested_distinct_changes, nested_join_changes
from tidelog.dbsp.stream import (
    INTEGERS,
    NESTED,
    ZSETS,
    Group,
    Stream,
    delay,
    differentiate,
    eliminate,
    feedback,
    incremental,
    integrate,
    introduce,
    lift,
    streams_of,
)
from tidelog.dbsp.trace import Trace
from tidelog.dbsp.zset import ZSet

__all__ = [
    "INTEGERS",
    "NESTED",
    "ZSETS",
    "Group",
    "Stream",
    "Trace",
    "ZSet",
    "delay",
    "differentiate",
    "distinct_changes",
    "eliminate",
    "feedback",
    "incremental",
    "integrate",
    "introduce",
    "join_changes",
    "lift",
    "nested_distinct_changes",
    "nested_join_changes",
    "streams_of",
]
