"""`min` and `max` through recursion in kernels: types, limits, failures, explanations, histories of whole graphs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.engine.local.run import Running
from tests.engine.local.strata.monotone.recount import mistakes_in_improving

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import Operation
from tidelog.engine.local.encoding import pool
from tidelog.engine.local.strata.monotone import all_rows
from tidelog.engine.local.strata.monotone.in_kernels import MonotoneInKernels
from tidelog.maintain.limits import Limits

LABELS = """
    input relation Edge(a: u32, b: u32)
    input relation Node(x: u32)
    relation Label(x: u32, l: u32)
    output relation Least(x: u32, l: u32)
    Label(x, x) :- Node(x).
    Label(y, l) :- Least(x, l), Edge(x, y).
    Label(x, l) :- Least(y, l), Edge(x, y).
    Least(x, m) :- Label(x, l), var m = l.group_by(x).min().
    output relation Size(l: u32, n: usize)
    Size(l, n) :- Least(x, l), var n = x.group_by(l).count_distinct().
"""
LONGEST = """
    input relation Edge(from: string, to: string, length: {0})
    input relation Source(n: string)
    output relation Best(n: string, d: {0})
    relation Way(n: string, d: {0})
    Way(n, 0) :- Source(n).
    Way(m, d + l) :- Best(n, d), Edge(n, m, l).
    Best(n, m) :- Way(n, d), var m = d.group_by(n).max().
"""
Pair = tuple[int, int]


def facts(edges: Iterable[Pair] = (), nodes: Iterable[int] = ()) -> dict[str, list[tuple[int, ...]]]:
    return {"Edge": [*edges], "Node": [(node,) for node in nodes]}


def is_in_kernels(run: Running) -> bool:
    return any(isinstance(each, MonotoneInKernels) for each in run.engine._runtime.strata)


def least_labels(nodes: Iterable[int], edges: Iterable[Pair]) -> dict[int, int]:
    parent = {node: node for pair in edges for node in pair} | {node: node for node in nodes}

    def root(node: int) -> int:
        while parent[node] != node:
            node = parent[node]
        return node

    for a, b in edges:
        one, other = sorted((root(a), root(b)))
        parent[other] = one
    given = {*nodes}
    found: dict[int, int] = {}
    for node in parent:
        labels = [each for each in given if root(each) == root(node)]
        if labels:
            found[node] = min(labels)
    return found


def expect_labels(run: Running, nodes: set[int], edges: set[Pair]) -> None:
    expected = least_labels(nodes, edges)
    assert run.rows("Least") == dict.fromkeys(expected.items(), 1)
    sizes = {label: sum(each == label for each in expected.values()) for label in expected.values()}
    assert run.rows("Size") == dict.fromkeys(sizes.items(), 1)
    assert mistakes_in_improving(run.engine) == []


@pytest.mark.parametrize("seed", range(4))
def test_components_that_grow_split_and_vanish(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_rows, "FEW_OFFERS", 3)
    rng = random.Random(seed)
    run = Running(LABELS)
    nodes, edges = set[int](), set[Pair]()
    for step in range(25):
        some = {(rng.randrange(40), rng.randrange(40)) for _ in range(rng.choice((1, 2, 30)))}
        if step % 6 == 5:
            # A whole component is deleted, or everything.
            label = rng.choice([*least_labels(nodes, edges).values(), 0])
            gone = {n for n, each in least_labels(nodes, edges).items() if each == label or step == 23}
            out = {edge for edge in edges if {*edge} & gone}
            run.commit(delete=facts(out, nodes & gone))
            nodes, edges = nodes - gone, edges - out
        elif step % 3 == 2:
            out = {*rng.sample(sorted(edges), min(len(edges), rng.choice((1, 3, 12))))}
            run.commit(delete=facts(out))
            edges -= out
        else:
            more = {rng.randrange(40) for _ in range(5)}
            run.commit(facts(some, more))
            nodes, edges = nodes | more, edges | some
        expect_labels(run, nodes, edges)
    assert is_in_kernels(run)


def test_threads_that_share_waves_give_the_same_rows() -> None:
    rng = random.Random(5)
    nodes, edges = {*range(60)}, {(rng.randrange(60), rng.randrange(60)) for _ in range(50)}
    run = Running(LABELS)
    run.engine._thread_pool.share_from = 4
    run.commit(facts(edges, nodes))
    expect_labels(run, nodes, edges)


def test_longest_ways_and_unsigned_words() -> None:
    high = (1 << 63) + 5
    run = Running(LONGEST.format("u64"))
    run.commit({"Source": [("a",)], "Edge": [("a", "b", 7), ("a", "b", high), ("b", "c", 1), ("a", "c", 3)]})
    assert run.rows("Best") == {("a", 0): 1, ("b", high): 1, ("c", high + 1): 1}
    assert run.commit(delete={"Edge": [("a", "b", high)]}) == {
        "Best": {("b", high): -1, ("b", 7): 1, ("c", high + 1): -1, ("c", 8): 1}
    }
    assert is_in_kernels(run)
    assert mistakes_in_improving(run.engine) == []


def test_signed_values_below_zero() -> None:
    run = Running(LONGEST.format("signed<64>").replace("max", "min").replace("Way(n, 0)", "Way(n, -5)"))
    run.commit({"Source": [("a",)], "Edge": [("a", "b", 2), ("b", "a", 0), ("b", "c", 9), ("a", "c", 12)]})
    assert run.rows("Best") == {("a", -5): 1, ("b", -3): 1, ("c", 6): 1}
    assert is_in_kernels(run)
    run.commit({"Edge": [("c", "d", -1)]})
    assert run.report.strata[-1].strategy == "rounds", "a negative length is left to the rounds"
    assert run.rows("Best")[("d", 5)] == 1


@pytest.mark.parametrize("type_", ["double", "float", "bigint", "u128"])
def test_costs_that_are_interned(type_: str) -> None:
    zero = "0.0" if type_ in ("double", "float") else "0"
    run = Running(LONGEST.format(type_).replace("Way(n, 0)", f"Way(n, {zero})").replace("max", "min"))
    number = float if zero == "0.0" else int
    edges = [("a", "b", number(2)), ("b", "a", number(0)), ("b", "c", number(9)), ("a", "c", number(12))]
    run.commit({"Source": [("a",)], "Edge": edges})
    assert run.rows("Best") == {("a", 0): 1, ("b", 2): 1, ("c", 11): 1}
    assert run.commit(delete={"Edge": [("a", "b", number(2))]}) == {"Best": {("b", 2): -1, ("c", 11): -1, ("c", 12): 1}}
    assert is_in_kernels(run)
    assert mistakes_in_improving(run.engine) == []
    if type_ == "u128":
        run.commit({"Edge": [("c", "d", (1 << 128) - 5)]})
        assert run.report.strata[-1].strategy == "rounds"
    elif zero == "0.0":
        run.commit({"Edge": [("c", "d", float("inf"))]})
        assert run.report.strata[-1].strategy == "rounds"


PATHS = """
    import group
    typedef Path = Nil | Cons{head: u32, tail: Ref<Path>}
    input relation Edge(from: u32, to: u32, length: u64)
    input relation Source(n: u32)
    relation Way(n: u32, d: u64, path: Ref<Path>)
    output relation Best(n: u32, d: u64, path: Ref<Path>)
    Way(n, 0, ref_new(Nil)) :- Source(n).
    Way(m, d + l, ref_new(Cons{n, p})) :- Best(n, d, p), Edge(n, m, l).
    Best(n, t.0, t.1) :- Way(n, d, p), var t = (d, p).group_by(n).arg_min(|t| t.0).
"""


def path_of(value: Any) -> tuple[int, ...]:
    return () if len(value) < 3 else (value[1], *path_of(value[2]))


@pytest.mark.parametrize("seed", range(3))
def test_whole_paths_follow_random_changes_and_reclaimed_values(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SMALLEST_SWEEP", 8)
    monkeypatch.setattr(all_rows, "FEW_OFFERS", 2)
    rng = random.Random(seed)
    run = Running(PATHS)
    run.commit({"Source": [(0,)]})
    edges = set[tuple[int, int, int]]()
    for _ in range(30):
        more = {(rng.randrange(8), rng.randrange(8), rng.randrange(1, 4)) for _ in range(rng.choice((1, 3, 9)))} - edges
        out = {edge for edge in edges if rng.random() < 0.25}
        run.commit({"Edge": [*more]}, {"Edge": [*out]})
        edges = (edges - out) | more
        expected: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
        while True:
            ways: dict[int, list[tuple[int, tuple[int, ...]]]] = {0: [(0, ())]}
            for n, m, length in edges:
                if n in expected:
                    ways.setdefault(m, []).append((expected[n][0] + length, (n, *expected[n][1])))
            if expected == (expected := {node: min(own) for node, own in ways.items()}):
                break
        assert {n: (d, path_of(p)) for n, d, p in run.rows("Best")} == expected
        assert mistakes_in_improving(run.engine) == []
    assert is_in_kernels(run)


@pytest.mark.parametrize(
    ("rule", "fails"),
    [
        ("Way(m, d + 2 * l) :- Best(n, d), Edge(n, m, l).", 32000),
        ("Way(m, d + l + w) :- Best(n, d), Edge(n, m, l), Fee(m, w), w + d < 9.", 65000),
        ("Way(m, e) :- Best(n, d), Edge(n, m, l), var e = d + (if (l > 9) l else 1).", 65000),
        ("Way(m, d + f) :- Best(n, d), Edge(n, m, l), Fee(m, g), var f = g + l.", 65000),
    ],
)
def test_computed_addends_are_checked(rule: str, fails: int) -> None:
    text = f"""
        input relation Edge(from: u32, to: u32, length: u16)
        input relation Fee(n: u32, fee: u16)
        input relation Source(n: u32)
        relation Way(n: u32, d: u16)
        output relation Best(n: u32, d: u16)
        Way(n, 0) :- Source(n).
        {rule}
        Best(n, m) :- Way(n, d), var m = d.group_by(n).min().
    """
    run, rounds = Running(text), Running(text.replace("group_by(n).min()", "group_by(n).to_vec().nth(0).unwrap_or(0)"))
    for each in (run, rounds):
        each.commit({"Source": [(1,)], "Fee": [(n, n) for n in range(6)], "Edge": [(1, 2, 3), (2, 3, 1), (3, 1, 1)]})
        each.commit({"Edge": [(1, 3, 2), (3, 4, 0)]}, {"Edge": [(2, 3, 1)]})
    assert is_in_kernels(run)
    assert not is_in_kernels(rounds)
    assert run.report.strata[-1].reason == "its values are monotone: incremental update; in kernels"
    assert run.rows("Best") == rounds.rows("Best")
    assert mistakes_in_improving(run.engine) == []
    for each in (run, rounds):
        each.commit({"Edge": [(3, 5, fails)]})
    assert run.report.strata[-1].strategy == "rounds"
    assert run.rows("Best") == rounds.rows("Best")
    for each in (run, rounds):
        each.commit(delete={"Edge": [(3, 5, fails), (1, 2, 3)]})
    assert run.rows("Best") == rounds.rows("Best")
    assert mistakes_in_improving(run.engine) == []


def test_members_that_differ_only_outside_the_group() -> None:
    # Both hops give the same length: the row stays until the last of them is deleted.
    run = Running("""
        input relation Hop(n: u32, by: string, m: u32, l: u32)
        input relation Source(n: u32)
        output relation Best(n: u32, d: u32)
        Best(n, 0) :- Source(n).
        Best(m, e) :- Best(n, d), Hop(n, by, m, l), var x = d + l, var e = x.group_by(m).min().
    """)
    run.commit({"Source": [(1,)], "Hop": [(1, "a", 2, 4), (1, "b", 2, 4), (1, "c", 2, 9), (2, "a", 3, 1)]})
    assert run.rows("Best") == {(1, 0): 1, (2, 4): 1, (3, 5): 1}
    assert run.commit(delete={"Hop": [(1, "a", 2, 4)]}) == {}
    assert run.commit(delete={"Hop": [(1, "b", 2, 4)]}) == {"Best": {(2, 4): -1, (2, 9): 1, (3, 5): -1, (3, 10): 1}}
    assert mistakes_in_improving(run.engine) == []


# The second head is in no recursion, and reads the same group.
OUTSIDE = """
    input relation Hop(n: u32, m: u32, l: u32)
    input relation Source(n: u32)
    relation Way(n: u32, d: u32)
    relation Best(n: u32, d: u32)
    output relation All(n: u32, least: u32, most: u32, ways: usize)
    Way(n, 0) :- Source(n).
    Way(m, d + l) :- Best(n, d), Hop(n, m, l).
    Best(n, g.min()), All(n, g.min(), g.max(), g.count_distinct()) :- Way(n, d), var g = d.group_by(n).
"""


def ways_to_all(sources: Iterable[int], hops: Iterable[tuple[int, int, int]]) -> dict[tuple[int, ...], int]:
    """The rows of `All`, by plain rounds."""
    ways: dict[int, set[int]] = {}
    while True:
        before = {node: min(lengths) for node, lengths in ways.items()}
        ways = {node: {0} for node in sources}
        for n, m, length in hops:
            if n in before:
                ways.setdefault(m, set()).add(before[n] + length)
        if before == {node: min(lengths) for node, lengths in ways.items()}:
            return {(n, min(own), max(own), len(own)): 1 for n, own in ways.items()}


@pytest.mark.parametrize("seed", range(4))
def test_groups_read_outside_follow_random_changes(seed: int) -> None:
    rng = random.Random(seed)
    run = Running(OUTSIDE)
    hops, sources = set[tuple[int, int, int]](), {0}
    run.commit({"Source": [(0,)]})
    for _ in range(15):
        more = {(rng.randrange(6), rng.randrange(6), rng.randrange(1, 5)) for _ in range(rng.choice((1, 4)))} - hops
        out = {hop for hop in hops if rng.random() < 0.2}
        source = rng.randrange(6)
        run.commit({"Hop": [*more]}, {"Hop": [*out]})
        run.commit({"Source": [(source,)]} if source not in sources else {}, {"Source": [(s,) for s in sources]})
        hops, sources = (hops - out) | more, {source} - sources
        assert run.rows("All") == ways_to_all(sources, hops)
        assert mistakes_in_improving(run.engine) == []
    assert is_in_kernels(run)


def test_groups_that_rules_outside_the_recursion_read() -> None:
    run = Running(OUTSIDE)
    run.commit({"Source": [(1,)], "Hop": [(1, 2, 4), (1, 2, 9), (2, 3, 1), (3, 2, 1), (1, 3, 20)]})
    assert run.rows("All") == {(1, 0, 0, 1): 1, (2, 4, 9, 3): 1, (3, 5, 20, 2): 1}
    assert run.commit(delete={"Hop": [(1, 2, 4)]}) == {
        "All": {(2, 4, 9, 3): -1, (2, 9, 11, 2): 1, (3, 5, 20, 2): -1, (3, 10, 20, 2): 1}
    }
    assert is_in_kernels(run)
    assert mistakes_in_improving(run.engine) == []
    assert run.commit({"Hop": [(3, 3, 1 << 31)]}) is not None
    assert run.report.strata[0].strategy == "rounds"
    assert (3, 10, 10 + (1 << 31), 3) in run.rows("All")
    run.commit(delete={"Hop": [(3, 3, 1 << 31)], "Source": [(1,)]})
    assert run.rows("All") == {}


def test_one_group_without_keys() -> None:
    run = Running("""
        input relation Given(v: u32)
        input relation Next(v: u32, w: u32)
        relation All(v: u32)
        output relation Least(v: u32)
        All(v) :- Given(v).
        All(w) :- Least(v), Next(x, w), v <= x.
        Least(m) :- All(v), var m = v.group_by(()).min().
    """)
    run.commit({"Given": [(7,), (9,)], "Next": [(8, 3)]})
    assert run.rows("Least") == {(3,): 1}
    assert run.commit(delete={"Given": [(7,), (9,)]}) == {"Least": {(3,): -1}}


def test_a_failed_epoch_leaves_all_numbers() -> None:
    run = Running(LABELS)
    nodes, edges = {*range(50)}, {(n, n + 1) for n in range(49)}
    run.commit(facts(edges, nodes))

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    for failing in (facts([(0, 1)]), facts([(24, 25)], [0])):
        with suppress(KeyboardInterrupt):
            run.engine.commit([Operation(name, -1, rows) for name, rows in failing.items()], fail)
        expect_labels(run, nodes, edges)
    run.commit(delete={"Edge": [(24, 25)]})
    expect_labels(run, nodes, edges - {(24, 25)})


def test_explanations_before_and_after_changes_and_after_reopening(tmp_path: Path) -> None:
    with tidelog.compile(LABELS).open(path=tmp_path / "db") as db:
        with db.transaction() as tx:
            tx.insert("Node", [(1,), (2,), (3,)])
            tx.insert("Edge", [(1, 2), (2, 3)])
        assert "Edge(2, 3)" in str(db.explain("Least", (3, 1)))
        with db.transaction() as tx:
            tx.delete("Edge", [(1, 2)])
        assert sorted(tx.changes["Least"].inserted) == [(2, 2), (3, 2)]
        assert "Node(2)" in str(db.explain("Least", (3, 2)))
        assert db.why_not("Least", (3, 1)) is not None
        assert {each.name for each in db.profile().relations} >= {"Label", "Label'", "Least"}
    with tidelog.open(tmp_path / "db") as db:
        assert "Node(2)" in str(db.explain("Least", (3, 2)))
        with db.transaction() as tx:
            tx.insert("Edge", [(3, 1)])
        assert sorted(tx.changes["Least"].inserted) == [(2, 1), (3, 1)]
        assert "Edge(3, 1)" in str(db.explain("Least", (2, 1)))


def test_rows_of_surpassed_values_do_not_count_as_rows() -> None:
    run = Running(LABELS, limits=Limits(max_rows=40))
    edges = {(n, n + 1) for n in range(12)}
    run.commit(facts(edges, range(13)))
    expect_labels(run, {*range(13)}, edges)
    with pytest.raises(EvaluationError, match=r"would have more than 40 rows.*while the rule"):
        run.commit(facts({(n, n + 1) for n in range(12, 30)}, range(31)))
    expect_labels(run, {*range(13)}, edges)


def test_stores_of_replaced_rules_are_used_again() -> None:
    with tidelog.compile(LABELS).open() as db:
        with db.transaction() as tx:
            tx.insert("Node", [(1,), (2,), (3,)])
            tx.insert("Edge", [(1, 2)])
        rule = "Label(y, l) :- Least(x, l), Node(y), y == x + 1."
        for place in range(6):
            with db.transaction() as tx:
                if place % 2:
                    tx.remove_rules(rule)
                else:
                    tx.add_rules(rule)
            assert (3, 3 if place % 2 else 1) in {*db.relation("Least").rows()}
            names = [each.name for each in db.profile().relations]
            assert names.count("Label'") == 1


@pytest.mark.parametrize("seed", range(3))
def test_rules_and_files_between_random_changes(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    back = "Label(x, l) :- Least(y, l), Edge(x, y)."
    nodes, edges, both = set[int](), set[Pair](), True
    db = tidelog.compile(LABELS).open(path=tmp_path / "db")
    for step in range(16):
        if step % 5 == 4:
            db.close()
            db = tidelog.open(tmp_path / "db")
        with db.transaction() as tx:
            if step % 4 == 3:
                if both:
                    tx.remove_rules(back)
                else:
                    tx.add_rules(back)
                both = not both
            out = {edge for edge in edges if rng.random() < rng.choice((0.05, 0.3))}
            some = {(rng.randrange(25), rng.randrange(25)) for _ in range(9)}
            more = {rng.randrange(25) for _ in range(3)}
            tx.delete("Edge", sorted(out))
            tx.insert("Edge", sorted(some))
            tx.insert("Node", [(node,) for node in sorted(more)])
        nodes, edges = nodes | more, (edges - out) | some
        expected = {node: node for node in nodes}
        for _ in range(30):
            for a, b in [*edges, *((b, a) for a, b in edges if both)]:
                if a in expected:
                    expected[b] = min(expected[a], expected.get(b, 99))
        assert dict(db.relation("Least").rows()) == expected
    db.close()
