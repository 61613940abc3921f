"""Programs with sums through recursion, and random facts for them."""

from __future__ import annotations

import random

BILL = """
    import group
    input relation Bought(p: u32, c: u64)
    input relation Uses(p: u32, q: u32, n: u64)
    output relation Cost(p: u32, c: u64)
    Cost(p, c) :- Bought(p, c).
    {0}Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (q, n * c).group_by(p).sum_of(|t| t.1).
"""

_INPUTS = """
    import group
    input relation Bought(p: u32, c: u64)
    input relation Uses(p: u32, q: u32, n: u64)
"""

PROGRAMS = {
    "bill": BILL.format(""),
    "facts beside rules": """
        import group
        input relation Bought(p: u32, c: u64)
        input relation Uses(p: u32, q: u32, n: u64)
        input relation Cost(p: u32, c: u64)
        output relation Deep(p: u32, n: usize)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (n * c).group_by(p).sum_of(|x| x).
        Deep(p, n) :- Cost(p, _), not Bought(p, 3), Uses(p, q, _), Deep(q, m),
                      var n = (q, m).group_by(p).count_distinct().
        Deep(p, 0) :- Bought(p, _).
    """,
    "two sums at once": _INPUTS
    + """
        output relation Cost(p: u32, c: u64)
        output relation Weight(p: u32, w: bigint)
        relation Both(p: u32, c: u64, w: bigint)
        Cost(p, c) :- Bought(p, c).
        Weight(p, 1) :- Bought(p, _).
        Both(p, c, w) :- Cost(p, c), Weight(p, w).
        Cost(p, s) :- Uses(p, q, n), Both(q, c, w), var s = (q, n * c + (w as s64 as u64)).group_by(p).sum_of(|t| t.1).
        Weight(p, s) :- Uses(p, q, n), Both(q, c, w), Both(q, _, v),
                        var s = (q, v + (c as bigint)).group_by(p).sum_of(|t| t.1).
    """,
    "keys of texts, shares of doubles": _INPUTS
    + """
        output relation Cost(p: string, c: double)
        Cost("${p}", c as double) :- Bought(p, c), c > 0.
        Cost("${p}", s) :- Uses(p, q, n), Cost("${q}", c), var s = (q, c * (n as double) / 4.0).group_by(p)
                                                                   .sum_of(|t| t.1).
    """,
    "a wildcard and a constant": _INPUTS
    + """
        relation Link(p: u32, q: u32)
        output relation Cost(kind: u8, p: u32, c: s16)
        Cost(0, p, c as u16 as s16) :- Bought(p, c).
        Link(p, q) :- Uses(p, q, n), Cost(_, q, _), n < 3.
        Cost(1, p, s) :- Link(p, q), Cost(0, q, c), var s = (q, c).group_by(p).sum_of(|t| t.1 * 3001).
        Cost(0, p, s) :- Link(p, q), Cost(1, q, c), var s = (q, c).group_by(p).sum_of(|t| t.1 - (t.0 as u16 as s16)).
    """,
    "a group without a key, and one that is a value": _INPUTS
    + """
        output relation Cost(p: u32, c: u64)
        output relation All(n: u64)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q, n), p < 20, Cost(q, c), var s = (q, n * c).group_by(p).sum_of(|t| t.1).
        All(n) :- Cost(p, c), p < 20, var n = (p, c).group_by(()).count(|t| t.1 > 4).
        Cost(20, n) :- All(n).
        Cost(21, s) :- Cost(20, n), var s = n.group_by(()).sum_of(|x| x + 1).
    """,
    "a group that stays a value": _INPUTS
    + """
        output relation Cost(p: u32, c: u64)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), var g = (q, n * c).group_by(p),
                      var s = g.sum_of(|t| t.1) + ((g, 1).0.count_distinct() as u64).
    """,
}


def random_row(chance: random.Random, relation: str, *, cycles: bool) -> tuple[int, ...]:
    p = chance.randrange(12)
    if relation == "Bought":
        return (p, chance.randrange(5))
    if cycles and chance.random() < 0.1:
        # A sum that goes around is a multiple of a power of two that grows, until it wraps to 0.
        return (p, chance.randrange(12), 1 << 20)
    return (p, chance.randrange(p) if p else 12, chance.randrange(1, 3))
