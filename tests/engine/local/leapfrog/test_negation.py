"""Negated literals in leapfrog joins: what they cover is passed over by counts, in every pass of every strategy."""

from __future__ import annotations

import random
from collections.abc import Iterable
from math import log2

import numpy as np
import pytest
from tests.engine.local.leapfrog.test_tries import Relation
from tests.engine.local.queries.test_leapfrog_step import asked

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.leapfrog import iterators, negation, page_counts
from tidelog.engine.local.storage.trie import Trie
from tidelog.engine.local.strategies.trace.stratum import TraceStratum
from tidelog.plan.negation import MANY
from tidelog.plan.plan_rules import plan_rules
from tidelog.plan.show import show_plan
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Leap

Row = tuple[int, ...]
PROGRAM = """
input relation Day(d: s64)
input relation Task(x: s64)
input relation Done(d: s64, x: s64)
input relation Bad(x: s64)
output relation Todo(d: s64, x: s64)
"""
RULE = "Todo(d, x) :- Day(d), Task(x), not Done(d, x), not Bad(x).\n"
LEAPING = f'#[join = "leapfrog"] {RULE}'


def todo(facts: dict[str, set[Row]]) -> set[Row]:
    pairs = {(d, x) for (d,) in facts["Day"] for (x,) in facts["Task"]}
    return {(d, x) for d, x in pairs if (d, x) not in facts["Done"] and (x,) not in facts["Bad"]}


def test_a_scan_tree_counts_the_rows_before_a_page_while_rows_come_and_go() -> None:
    rng = random.Random(1)
    relation = Relation((0, 1), [(0, 0)])
    rows = {(0, 0)}
    for _ in range(3000):
        row = (rng.randrange(40), rng.randrange(200))
        if row in rows and rng.random() < 0.4:
            relation.remove(row)
            rows.remove(row)
        elif row not in rows:
            relation.insert(row)
            rows.add(row)
    for row in [*rows][: len(rows) * 2 // 3]:
        relation.remove(row)
    lines, number = relation.catalog.A, relation.number
    directory = relation.store.arrangements[number].directory.array  # type: ignore[union-attr]
    counts = directory[: int(lines[number, k.PAGE_COUNT]), 1]
    assert len(counts) > 4
    assert [page_counts.rows_before(lines, number, place) for place in range(len(counts) + 1)] == [
        int(counts[:place].sum()) for place in range(len(counts) + 1)
    ]


@pytest.mark.parametrize("holes", [0, 1, 7, 300])
def test_a_run_ends_where_the_first_word_is_missing(holes: int) -> None:
    rng = random.Random(holes)
    words = set(range(-900, 2100)) - set(rng.sample(range(-900, 2100), holes))
    relation = Relation((0, 1), [(group, word) for group in (3, 4) for word in words])
    places: Words = np.zeros((2, k.ITERATOR_WORDS), dtype=np.int64)
    lines, trie = relation.catalog.A, relation.number
    for word in rng.sample(sorted(words), 60):
        iterators.open_root(lines, trie, places, 0)
        iterators.seek_lub(lines, trie, 0, places, 0, 3)
        iterators.open_below(lines, trie, 1, places, 0, 1)
        assert iterators.seek_lub(lines, trie, 1, places, 1, word)
        end = word
        while end + 1 in words:
            end += 1
        assert negation.end_of_run(lines, trie, 1, places, 1) == end


def opened(rule: str, facts: dict[str, set[Row]], **options: object) -> LocalEngine:
    engine = LocalEngine(tidelog.compile(PROGRAM + rule).stages.rules, **options)  # type: ignore[arg-type]
    engine.open()
    engine.commit([Operation(name, +1, sorted(rows)) for name, rows in facts.items()])
    return engine


def nearly_done(days: Iterable[int], tasks: int, holes: int, rng: random.Random) -> dict[str, set[Row]]:
    done: set[Row] = {(d, x) for d in days for x in range(tasks)}
    done -= set(rng.sample(sorted(done), holes))
    return {"Day": {(d,) for d in days}, "Task": {(x,) for x in range(tasks)}, "Done": done, "Bad": set()}


def random_change(facts: dict[str, set[Row]], tasks: int, most: int, rng: random.Random) -> list[Operation]:
    """Rows of all relations that come and go, in one transaction."""
    made = []
    for name, rows in facts.items():
        gone = set(rng.sample(sorted(rows), min(len(rows), rng.randrange(most))))
        come: set[Row] = set()
        for _ in range(rng.randrange(most)):
            x = rng.randrange(tasks + 5)
            come.add((rng.randrange(5), x) if name == "Done" else (rng.randrange(5),) if name == "Day" else (x,))
        gone -= come
        facts[name] = (rows - gone) | come
        made += [Operation(name, -1, sorted(gone)), Operation(name, +1, sorted(come))]
    return made


@pytest.mark.parametrize("rule", [RULE, LEAPING], ids=["planned", "asked"])
@pytest.mark.parametrize("strategy", ["elastic", "trace", "recompute", "counting", "elastic-paper"])
@pytest.mark.parametrize("most", [4, 150])
def test_rows_are_those_of_the_set_difference_after_every_epoch(rule: str, strategy: str, most: int) -> None:
    rng = random.Random(f"{rule}{strategy}{most}")
    tasks = 700
    facts = nearly_done(range(3), tasks, 12, rng)
    engine = opened(rule, facts, strategy=strategy)
    assert {row for row, _ in engine.rows("Todo")} == todo(facts)
    for step in range(14):
        engine.commit(random_change(facts, tasks, most, rng))
        assert {row for row, _ in engine.rows("Todo")} == todo(facts), step
    engine.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_negated_parts_stand_beside_others_and_below_constants(threads: int) -> None:
    rng = random.Random(7)
    text = """
        input relation E(x: s64, y: s64)
        input relation N(x: s64, y: s64, z: s64)
        output relation P(x: s64, y: s64, z: s64)
        #[join = "leapfrog"]
        P(x, y, z) :- E(x, y), E(y, z), E(x, z), not N(z, 5, x), not E(z, y), not N(y, x, z), z != 3.
    """
    edges = {(rng.randrange(40), rng.randrange(40)) for _ in range(700)}
    denied = {(rng.randrange(40), rng.choice((5, rng.randrange(40))), rng.randrange(40)) for _ in range(9000)}

    def expected() -> set[Row]:
        found = {(x, y, z) for x, y in edges for z in range(40) if (y, z) in edges and (x, z) in edges and z != 3}
        return {
            (x, y, z)
            for x, y, z in found
            if (z, 5, x) not in denied and (z, y) not in edges and (y, x, z) not in denied
        }

    engine = LocalEngine(tidelog.compile(text).stages.rules, threads=threads)
    engine._thread_pool.share_from = 1
    engine.open()
    engine.commit([Operation("E", +1, sorted(edges)), Operation("N", +1, sorted(denied))])
    assert {row for row, _ in engine.rows("P")} == expected()
    for step in range(8):
        gone, no_longer = set(rng.sample(sorted(edges), 4)), set(rng.sample(sorted(denied), 60))
        edges, denied = edges - gone, denied - no_longer
        engine.commit([Operation("E", -1, sorted(gone)), Operation("N", -1, sorted(no_longer))])
        assert {row for row, _ in engine.rows("P")} == expected(), step
    engine.close()


def test_a_difference_costs_what_is_left_not_what_is_covered() -> None:
    tasks, left = 50_000, 40
    rng = random.Random(9)
    db = tidelog.compile("input relation Task(x: s64)\ninput relation Done(x: s64)\n").open()
    holes = set(rng.sample(range(tasks), left))
    with db.transaction() as tx:
        tx.insert("Task", [(x,) for x in range(tasks)])
        tx.insert("Done", [(x,) for x in range(tasks) if x not in holes])
    rows = asked(db, '#[join = "leapfrog"] Task(x), not Done(x)')
    found = {x for (x,), _ in rows.heads(rows._query.rule)}
    assert found == holes
    assert rows.leapfrog.looked_at < left * log2(tasks)
    assert db.query("Task(x), not Done(x)").rows == sorted((x,) for x in holes)


def test_what_is_left_of_a_new_day_is_found_by_counts() -> None:
    tasks = 2 * int(MANY)
    rng = random.Random(13)
    facts = nearly_done(range(3), tasks, 9, rng)
    engine = opened(RULE, facts)
    assert any(
        isinstance(each, Trie) for each in engine._catalog.stores[engine._runtime.numbers["Done"]].arrangements.values()
    )
    for day in (7, 8):
        done = [(day, x) for x in range(tasks) if rng.random() > 0.001]
        facts["Done"].update(done)
        engine.commit([Operation("Done", +1, done)])
        facts["Day"].add((day,))
        engine.commit(
            [Operation("Day", +1, [(day,)]), Operation("Done", -1, done[40:42]), Operation("Bad", +1, [(3,)])]
        )
        facts["Done"] -= set(done[40:42])
        facts["Bad"].add((3,))
        assert {row for row, _ in engine.rows("Todo")} == todo(facts)
    engine.commit([Operation("Day", -1, [(8,)])])
    facts["Day"].remove((8,))
    assert {row for row, _ in engine.rows("Todo")} == todo(facts)
    engine.close()


def test_a_trace_notes_the_runs_that_are_covered_and_is_repaired_within_them() -> None:
    days, tasks, left = 6, 3000, 10
    rng = random.Random(11)
    facts = nearly_done(range(days), tasks, left, rng)
    # Beside the day, Bad has nothing to say about it: only an index knows which days its rows matter to.
    facts["Bad"] = {(x,) for x in range(0, tasks) if x % 500}
    engine = opened(LEAPING, facts, strategy="trace")
    (traced,) = (
        rule for stratum in engine._runtime.strata if isinstance(stratum, TraceStratum) for rule in stratum.traced
    )
    whole = traced.operations
    assert whole < 20 * days * tasks / 100
    records = sum(len(traced.indices.records(number)) for number in range(len(traced.indices.kinds)))
    assert records < days * tasks / 20
    for name, rows in (("Done", [(2, 1500)]), ("Bad", [(1501,)]), ("Bad", [(777,)])):
        facts[name] -= set(rows)
        before = traced.operations
        engine.commit([Operation(name, -1, rows)])
        assert {row for row, _ in engine.rows("Todo")} == todo(facts)
        assert traced.operations - before < 60 * days
    engine.close()


def test_the_planner_takes_it_for_many_values_that_are_nearly_all_covered() -> None:
    program = tidelog.compile(PROGRAM + RULE).stages.rules

    def complements(sizes: dict[str, int]) -> list[str]:
        shown = show_plan(program, FromSizes(lambda name: sizes.get(name, 10)))
        return [line.strip() for line in shown.splitlines() if "without" in line]

    many = 100 * int(MANY)
    found = complements({"Task": many, "Bad": many, "Day": 10})
    assert [line.split("   ")[0] for line in found] == ["Δ Day(d)", "Δ rule"]
    assert all("leap x over Task(x) without Bad(x)" in line for line in found)
    assert complements({"Task": many, "Bad": many // 2}) == []
    assert complements({"Task": 100, "Bad": 100}) == []
    variants = plan_rules(program.rules, FromSizes(lambda name: many))
    assert any(isinstance(step, Leap) and step.without for variant in variants for step in variant.steps)
