"""`oracle_*` for the wider language on a thousand rows, where buffers grow: against a few lines of Python."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import tidelog
from tidelog.values import Vec

TEXT = """
typedef Node = Leaf{id: u32} | Inner{id: u32, level: u8}
function up(n: Node): Option<Node> {
    match (n) { Leaf{i} -> Some{Inner{i / 4, 1}}, Inner{_, 6} -> None, Inner{i, l} -> Some{Inner{i / 4, l + 1}} }
}
function weighed(g: Group<'K, u32>): u64 {
    var t: u64 = 0;
    for ((x, w) in g) { t = t + (x as u64) * (w as bit<64>) };
    t
}
input relation Doc(id: u32, tags: Vec<u32>)
output relation Tagged(tag: u32, id: u32)
output relation Count(tag: u32, n: u64, least: u32)
output relation Total(even: bool, sum: u64)
output relation Above(n: Node)
output relation Reach(a: Node, b: Node)
output multiset PerTag(tag: u32)
Tagged(t, id) :- Doc(id, tags), var t = FlatMap(tags).
Count(t, g.count_distinct(), g.min()) :- Tagged(t, id), var g = id.group_by(t).
relation Pair(even: bool, tag: u32)
Pair(id % 2 == 0, t) :- Doc(id, tags), var t = FlatMap(tags).
Total(e, s) :- Pair(e, t), var s = t.group_by(e).weighed().
PerTag(t) :- Doc(_, tags), var t = FlatMap(tags).
Above(n) :- Doc(id, _), Some{var n} = up(Leaf{id}).
Above(n) :- Above(m), Some{var n} = up(m).
Reach(Leaf{id}, n) :- Doc(id, _), Some{var n} = up(Leaf{id}).
Reach(a, n) :- Reach(a, b), Some{var n} = up(b).
"""
Docs = dict[int, tuple[int, ...]]
Answer = dict[str, dict[tuple[Any, ...], int]]


def answer(docs: Docs, types: Any) -> Answer:
    """All outputs, in plain Python."""
    per_tag: dict[int, list[int]] = defaultdict(list)
    totals: dict[bool, int] = defaultdict(int)
    weights: dict[tuple[Any, ...], int] = defaultdict(int)
    reach = set()
    for id_, tags in docs.items():
        for tag in tags:
            per_tag[tag].append(id_)
            totals[id_ % 2 == 0] += tag
            weights[tag,] += 1
        reach |= {(types.Leaf(id_), types.Inner(id_ // 4**level, level)) for level in range(1, 7)}
    return {
        "Tagged": {(tag, id_): 1 for tag, ids in per_tag.items() for id_ in ids},
        "Count": {(tag, len(set(ids)), min(ids)): 1 for tag, ids in per_tag.items()},
        "Total": dict.fromkeys(totals.items(), 1),
        "PerTag": dict(weights),
        "Above": {(end,): 1 for _, end in reach},
        "Reach": dict.fromkeys(reach, 1),
    }


def test_oracle_a_thousand_structured_rows() -> None:
    rng = random.Random(1)
    program = tidelog.compile(TEXT)
    docs: Docs = {}
    before = answer(docs, program.types)

    def some_tags() -> tuple[int, ...]:
        return tuple(rng.choices(range(150), k=rng.choice((0, 1, 2, 5))))

    with program.open() as database:
        for size in (1200, 1, 200, 1, 700, 30):
            left = {id_: docs.pop(id_) for id_ in rng.sample(sorted(docs), min(len(docs), size // 2 if docs else 0))}
            came = {id_: some_tags() for id_ in rng.sample(range(4000), size) if id_ not in docs and id_ not in left}
            docs |= came
            with database.transaction() as tx:
                tx.delete("Doc", [(id_, Vec(tags)) for id_, tags in left.items()])
                tx.insert("Doc", [(id_, Vec(tags)) for id_, tags in came.items()])
            after = answer(docs, program.types)
            for name, rows in after.items():
                old = before[name]
                differences = {row: rows.get(row, 0) - old.get(row, 0) for row in {*rows, *old}}
                assert dict(tx.changes[name]) == {row: weight for row, weight in differences.items() if weight}, name
                assert dict(database.relation(name).weights()) == rows
            before = after
