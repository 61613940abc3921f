"""Rules kept by their traces: the right rows, the right intervals, and a cost that is that of the trace's edits."""

from __future__ import annotations

import random
from math import log2

import pytest
from tests.engine.local.run import Running
from tests.engine.local.strategies.trace.traces import Rows, Traced, trace_of

# Iterator operations per edit of the trace and doubling of the rows, at most.
OPERATIONS_PER_EDIT = 8
KINDS = {
    "unary": (("A", "B"), 1, "x", "C(x) :- A(x), B(x)."),
    "binary": (("A", "B"), 2, "xy", "C(x, y) :- A(x, y), B(y, x)."),
    "ternary": (("A", "B", "D"), 2, "xyz", "C(x, y, z) :- A(x, y), B(y, z), D(x, z)."),
}


def text_of(relations: tuple[str, ...], columns: int, names: str, rule: str) -> str:
    fields = ", ".join(f"c{i}: s64" for i in range(columns))
    head = ", ".join(f"c{i}: s64" for i in range(len(names)))
    inputs = "\n".join(f"input relation {name}({fields})" for name in relations)
    return f"{inputs}\noutput relation C({head})\n{rule}\n"


def random_rows(rng: random.Random, columns: int, values: int, count: int) -> Rows:
    return {tuple(rng.randrange(values) for _ in range(columns)) for _ in range(count)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_intervals_of_an_evaluation_are_those_of_a_naive_trace(kind: str) -> None:
    relations, columns, names, _ = KINDS[kind]
    rng = random.Random(kind)
    for _ in range(6):
        facts = {name: random_rows(rng, columns, 12, 40) for name in relations}
        found = Traced(text_of(*KINDS[kind]), names, facts, keep_all=True)
        steps, rows = trace_of(found.rule, names, facts)
        assert found.rows() == rows
        for position, atom in enumerate(found.rule.positives):
            for level in range(len(names)):
                here = [each for each in steps if (each.position, len(each.node)) == (position, level)]
                assert found.intervals(atom.relation, level) == {(each.first, each.last) for each in here}


@pytest.mark.parametrize("keep_all", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_maintenance_costs_the_edits_of_the_trace(kind: str, keep_all: bool) -> None:
    relations, columns, names, _ = KINDS[kind]
    rng = random.Random(7)
    for turn in range(8):
        values, count = (200, 120) if columns == 1 else (20, 150)
        facts = {name: random_rows(rng, columns, values, count) for name in relations}
        found = Traced(text_of(*KINDS[kind]), names, facts, keep_all=keep_all)
        total = edits = 0
        for epoch in range(5):
            changes = 1 if turn % 2 else 4
            deleted = {name: set(rng.sample(sorted(found.facts[name]), changes)) for name in relations}
            inserted = {name: random_rows(rng, columns, values, changes) - deleted[name] for name in relations}
            before, _ = trace_of(found.rule, names, found.facts)
            operations = found.change(inserted, deleted)
            after, rows = trace_of(found.rule, names, found.facts)
            assert found.rows() == rows
            distance = len(before ^ after)
            changed = 0 if keep_all else sum(map(len, (*deleted.values(), *inserted.values())))
            size = log2(sum(map(len, found.facts.values())) + 2)
            if epoch == 0:
                # Right after an evaluation the indices hold the trace and nothing else.
                assert operations <= OPERATIONS_PER_EDIT * (distance + changed + 1) * size
            total, edits = total + operations, edits + distance + changed + 1
        assert total <= OPERATIONS_PER_EDIT * edits * size


def test_a_change_that_no_step_looked_at_costs_nothing() -> None:
    facts = {"A": {(0,), (2,), (4,), (5,), (6,)}, "B": {(1,), (2,), (6,), (7,)}}
    found = Traced(text_of(*KINDS["unary"]), "x", facts, keep_all=True)
    assert found.change({"B": {(3,)}}, {"A": {(5,)}}) == 0
    assert found.rows() == {(2,), (6,)}


def test_an_epoch_that_fails_is_followed_by_a_trace_of_its_own() -> None:
    facts = {"A": {(1,), (2,)}, "B": {(2,), (3,)}}
    found = Traced(text_of(*KINDS["unary"]), "x", facts, keep_all=False)
    found.stratum.roll_back()
    found.change({"A": {(3,)}}, {})
    assert found.engine.rows("C") == [((2,), 1), ((3,), 1)]
    assert found.stratum.can_update()


def test_where_a_trace_does_not_apply_the_report_says_why() -> None:
    text = "input relation E(x: u32, y: u32)\noutput relation P(x: u32, y: u32)\noutput relation Q(x: u32)\n"
    text += "P(x, y) :- E(x, y). P(x, z) :- P(x, y), E(y, z). Q(x) :- P(x, x)."
    running = Running(text, strategy="trace")
    running.commit({"E": [(1, 2), (2, 3)]})
    running.commit({"E": [(3, 1)]})
    running.commit({"E": [(4, 1)]})
    ways = {stratum.relations: (stratum.strategy, stratum.reason) for stratum in running.report.strata}
    assert ways["Q",][0] == "trace"
    strategy, reason = ways["P",]
    assert strategy == "update"
    assert "`trace` is for rules without recursion" in reason


def test_a_rule_may_ask_for_its_trace_by_itself() -> None:
    text = "input relation E(x: u32, y: u32)\noutput relation P(x: u32)\noutput relation Q(x: u32)\n"
    text += 'P(x) :- E(x, y), E(y, x). #[maintain = "trace"] Q(x) :- E(x, y), E(y, x).'
    running = Running(text)
    running.commit({"E": [(1, 2), (2, 3)]})
    running.commit({"E": [(2, 1)]})
    assert {each.relations: each.strategy for each in running.report.strata} == {("P",): "update", ("Q",): "trace"}
    assert running.rows("P") == running.rows("Q") == {(1,): 1, (2,): 1}
