"""Sums through recursion from scratch, level by level: the same rows, totals and order as row by row."""

from __future__ import annotations

import random

import pytest
from tests.engine.local.run import Rows, Running
from tests.engine.local.strata.acyclic.programs import BILL, PROGRAMS, random_row

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.strata.acyclic import stratum
from tidelog.engine.local.strata.acyclic.key_rules import key_rules
from tidelog.engine.local.strata.acyclic.propagate import Propagation
from tidelog.engine.local.strata.acyclic.stratum import AcyclicStratum
from tidelog.rules.analysis.fixed_keys import has_fixed_keys


@pytest.fixture
def by_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "FEW_ROWS", 0)
    monkeypatch.setattr(stratum, "LEVEL_COST", 0)


def state_of(run: Running) -> AcyclicStratum:
    found = (each for each in run.engine._runtime.strata if isinstance(each, AcyclicStratum))
    return next(each for each in found if "Cost" in each.relations)


def reasons(run: Running) -> list[str]:
    return [each.reason for each in run.report.strata if "Cost" in each.relations]


@pytest.mark.parametrize("name", PROGRAMS)
def test_totals_are_those_of_rows_and_depths_ascend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(name)
    facts = {
        relation: sorted({random_row(chance, relation, cycles=False) for _ in range(40)})
        for relation in ("Bought", "Uses")
    }
    rows = Running(PROGRAMS[name])
    rows.commit(facts)
    monkeypatch.setattr(stratum, "FEW_ROWS", 0)
    monkeypatch.setattr(stratum, "LEVEL_COST", 0)
    levels = Running(PROGRAMS[name])
    levels.commit(facts)
    assert reasons(rows)[-1] == stratum.RECOMPUTED
    assert reasons(levels)[-1] == (stratum.RECOMPUTED if "stays" in name else stratum.BY_LEVELS)
    expected, found = state_of(rows)._state, state_of(levels)._state
    assert expected is not None
    assert found is not None
    for relation, table in expected.rows.items():
        other = found.rows[relation]
        assert len(other) == len(table)
        # Words of texts and large numbers differ from one engine to the other.
        assert sorted(map(table.total, table.all_rows())) == sorted(map(other.total, other.all_rows()))
    # Every row is deeper than those that it depends on: so no row is made deeper, and no cycle is found.
    for relation, table in found.rows.items():
        for row in table.all_rows():
            depth = table.depth(row)
            found._run_rules(relation, [(row, depth)], lambda head, made, at: require_deeper(found, head, made, at))


def require_deeper(state: Propagation, head: str, row: tuple[int, ...], depth: int) -> None:
    assert state.rows[head].depth(row) > depth


def test_many_levels_are_left_to_rows() -> None:
    chain: dict[str, Rows] = {"Bought": [(0, 1)], "Uses": [(i + 1, i, 1) for i in range(1500)]}
    run = Running(BILL.format(""))
    run.commit(chain)
    assert reasons(run) == [stratum.RECOMPUTED]
    assert run.rows("Cost") == {(i, 1): 1 for i in range(1501)}
    assert run.commit({"Uses": [(1501, 1500, 2)]}) == {"Cost": {(1501, 2): 1}}


def test_many_rows_in_few_levels_go_level_by_level() -> None:
    run = Running(BILL.format(""))
    uses = [(1000 * level + i, 1000 * (level - 1) + (i * 7) % 1000, 2) for level in range(1, 4) for i in range(1000)]
    run.commit({"Bought": [(i, 1) for i in range(1000)], "Uses": uses})
    assert reasons(run) == [stratum.BY_LEVELS]
    assert set(run.rows("Cost")) == {(1000 * level + i, 1 << level) for level in range(4) for i in range(1000)}
    (report,) = (each for each in run.report.strata if "Cost" in each.relations)
    assert report.rounds == 3
    changed = run.commit(delete={"Uses": [uses[0]]})
    assert changed == {"Cost": {(1000, 2): -1, (2000, 4): -1, (3000, 8): -1}}
    assert reasons(run) == [stratum.UPDATED]


def test_a_large_change_is_derived_from_scratch(by_levels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Running(BILL.format(""))
    uses = [(1000 * level + i, 1000 * (level - 1) + (i * 7) % 1000, 2) for level in range(1, 4) for i in range(1000)]
    run.commit({"Bought": [(i, 1) for i in range(1000)], "Uses": uses})
    monkeypatch.setattr(stratum, "INSTANCE_SECONDS", 1.0)
    run.commit({"Bought": [(i, 1) for i in range(4000, 4200)]}, {"Uses": uses[:200]})
    (reason,) = reasons(run)
    assert reason.startswith("an Update was expected to cost")
    assert reason.endswith(stratum.BY_LEVELS)
    rounds = Running(BILL.format(""), strategy="recompute")
    rounds.commit({"Bought": [(i, 1) for i in (*range(1000), *range(4000, 4200))], "Uses": uses[200:]})
    assert run.rows("Cost") == rounds.rows("Cost")
    # The state of the last Bootstrap is the one that the next Update needs.
    assert run.commit({"Uses": [uses[0]]}) == rounds.commit({"Uses": [uses[0]]})


def test_a_cycle_is_found_among_the_keys(by_levels: None) -> None:
    run = Running(BILL.format('#[cycle = "error"] '))
    with pytest.raises(EvaluationError, match=r"Cost\(., _\) → Cost\(., _\) → Cost\(., _\): these rows") as raised:
        run.commit({"Bought": [(1, 5)], "Uses": [(2, 1, 1), (2, 3, 1), (3, 2, 1), (4, 3, 1)]})
    assert raised.value.code == "E611"
    # Parts that nothing can be made of are on no cycle.
    run.commit({"Bought": [(1, 5)], "Uses": [(2, 1, 1), (7, 8, 1), (8, 7, 1)]})
    assert run.rows("Cost") == {(1, 5): 1, (2, 5): 1}
    with pytest.raises(EvaluationError, match="depend on themselves"):
        run.commit({"Bought": [(7, 1)]})
    assert run.commit(delete={"Uses": [(2, 1, 1)]}) == {"Cost": {(2, 5): -1}}


def test_a_division_by_zero_is_that_of_the_rounds(by_levels: None) -> None:
    text = """
        import group
        input relation Bought(p: u32, c: u64)
        input relation Uses(p: u32, q: u32, n: u64)
        output relation Cost(p: u32, c: u64)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (q, (12 / n) * c).group_by(p).sum_of(|t| t.1).
    """
    for run in (Running(text), Running(text, strategy="recompute")):
        run.commit({"Bought": [(1, 5)], "Uses": [(2, 1, 3), (4, 3, 0)]})
        with pytest.raises(EvaluationError, match="division by zero"):
            run.commit({"Bought": [(3, 1)]})
        assert run.rows("Cost") == {(1, 5): 1, (2, 20): 1}
        assert run.commit({"Uses": [(3, 2, 1)]}, {"Uses": [(4, 3, 0)]}) == {"Cost": {(3, 240): 1}}


def test_sums_wrap_in_their_type(by_levels: None) -> None:
    text = """
        import group
        input relation Bought(p: u32, c: s8)
        input relation Uses(p: u32, q: u32)
        output relation Cost(p: u32, c: s8)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q), Cost(q, c), var s = (q, c).group_by(p).sum_of(|t| t.1).
    """
    facts = {"Bought": [(1, 100), (2, 100)], "Uses": [(3, 1), (3, 2), (4, 3), (4, 1)]}
    run, rounds = Running(text), Running(text, strategy="recompute")
    assert run.commit(facts) == rounds.commit(facts)
    assert run.rows("Cost") == {(1, 100): 1, (2, 100): 1, (3, -56): 1, (4, 44): 1}


def test_dependencies_are_read_from_rows_where_these_say_them() -> None:
    program = tidelog.compile(
        BILL.format("")
        + """
        relation Link(p: u32, q: u32)
        Link(p, q) :- Uses(p, q, _), Cost(q, _), Cost(r, _), Uses(p, r, 1).
        Cost(p, s) :- Link(p, q), Cost(q, c), var s = c.group_by(p).sum_of(|x| x).
    """
    ).stages.rules
    (recursive,) = (each for each in program.strata if "Cost" in each.relations)
    assert has_fixed_keys(recursive, program.relations)
    found = key_rules(recursive, program.relations)
    assert found.keys["Cost"] == (0,)
    made = {(each.head.split("#")[0], each.body.split("#")[0], each.source) for each in found.dependencies}
    # `Link` does not say which r it has used, nor the members of the second group which q.
    assert {each[2] for each in made if "#instances" in each[2]} == {*found.widths} - {*found.keys}
    assert len({*found.widths} - {*found.keys}) == 2
    assert ("Cost", "Cost", next(rule.head.relation for rule in recursive.rules if rule.group is not None)) in made
